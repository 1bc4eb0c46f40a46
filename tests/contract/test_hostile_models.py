"""Models that answer anything at all: bytes cut, swapped, doubled and made up. The router always answers in its own shape.

Each case is drawn from its number, so a failing one is played again by its id.
"""

import asyncio
import itertools
import json
from random import Random
from typing import Any

import pytest

from tests.support.raw_upstream import Bytes, chunk, message, raw_world, stream, whole
from tests.support.router_world import World
from upstream.call import Timeouts

FINE = "The tram stops beside the old mill, and a path leads up to the ridge. 山上有一座小屋。"
HASTE = Timeouts(connect_s=0.5, first_text_s=0.25, idle_s=0.25, total_s=3.0)
EACH = 16
JUNK = (
    b"\x00", b"\xff\xfe", b"\r\n\r\n", b"data: ", b"data: [DONE]\n\n", b"event: error\n", b": ping\n\n", b"{", b"]" * 50,
    b'{"choices": null}', b'{"choices": [null]}', b'{"choices": [{"delta": 7}]}', b'{"choices": [{"delta": {"content": [1]}}]}',
    b'data: {"error": 5}\n\n', b'data: {"choices":[{"index":9999999999999999999999,"delta":{}}]}\n\n', b"\xed\xa0\x80",
    b'data: {"usage": {"prompt_tokens": -1e999}, "choices": []}\n\n', b'data: {"choices":[{"delta":{"tool_calls":[{}]}}]}\n\n',
    b'data: {"choices":[{"delta":{"tool_calls":[{"index":-5,"function":null}]}}]}\n\n', b"a" * 300_000, b"[" * 5_000,
    b'data: {"choices":[{"delta":{"content":"\\ud800"}}]}\n\n', b"data: NaN\n\n", b"data: 1\n\n", b"data: []\n\n",
    b'data: {"choices":[{"delta":{"content":"x"},"finish_reason":{}}]}\n\n', b"id: 1\nretry: 0\n\n", b"\xef\xbb\xbf",
)  # fmt: skip


def spoiled(rng: Random, parts: list[bytes]) -> list[bytes]:
    """The bytes of an answer after one to three mishaps, and cut into writes at any place."""
    data = b"".join(parts)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(6):
            case 0:
                data = data[:at]
            case 1:
                data = data[:at] + rng.choice(JUNK) + data[at:]
            case 2:
                data = data[:at] + data[min(len(data), at + rng.randint(1, 40)) :]
            case 3:
                data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
            case 4:
                data = data[:at] + data[max(0, at - 60) :]
            case 5:
                data = rng.choice(JUNK) + data
    cuts = sorted({0, len(data), *(rng.randrange(len(data) + 1) for _ in range(rng.randrange(4)))})
    return [data[a:b] for a, b in itertools.pairwise(cuts)] or [b" "]


def answer(rng: Random, streamed: bool) -> Bytes:
    then = rng.choice(("end", "end", "reset", "stall"))
    if streamed:
        fine = stream(*(FINE[i : i + 7] for i in range(0, len(FINE), 7)))
        parts = [*fine.parts[:-2], chunk({"reasoning_content": "hm"}), *fine.parts[-2:]]
        return Bytes(parts=spoiled(rng, parts), then=then, status=rng.choice((200, 200, 200, 500, 404, 299)))
    kept = whole(message(FINE))
    return Bytes(
        parts=spoiled(rng, list(kept.parts)),
        then=then,
        kind=rng.choice(("application/json", "text/event-stream", "text/html", "")),
        status=rng.choice((200, 200, 200, 204, 500, 302)),
    )


async def _asked(seed: int, streamed: bool) -> None:
    rng = Random(seed)
    bad = answer(rng, streamed)
    async with raw_world({"a": bad, "b": stream(FINE) if streamed else whole(message(FINE))}, timeouts=HASTE) as (
        world,
        _,
    ):
        response = await asyncio.wait_for(world.ask(stream=streamed), 60)
        note = f"seed {seed}: {response.status_code} {response.text[:300]!r}"
        assert "internal_error" not in response.text, note
        assert not any(row.code == "internal_error" for row in world.log.calls), note
        assert len(world.log.calls) == 1, note
        _shape(world, response.status_code, response.text, streamed, note)


def _shape(world: World, status: int, text: str, streamed: bool, note: str) -> None:
    if not streamed or status != 200:
        body: dict[str, Any] = json.loads(text)
        assert ("choices" in body) == (status == 200), note
        assert status == 200 or body["error"]["message"], note
        return
    lines = [line for line in text.split("\n") if line.startswith("data: ")]
    told = [json.loads(line[6:]) for line in lines if line != "data: [DONE]"]
    assert told, note
    assert (lines[-1] == "data: [DONE]") != ("error" in told[-1]), note
    assert lines.count("data: [DONE]") <= 1, note


@pytest.mark.parametrize("batch", range(6))
@pytest.mark.parametrize("streamed", [True, False], ids=["stream", "whole"])
async def test_whatever_a_model_sends_the_client_gets_a_well_formed_answer(batch: int, streamed: bool) -> None:
    seeds = range(batch * EACH, (batch + 1) * EACH)
    for group in zip(*[iter(seeds)] * 8, strict=True):
        await asyncio.gather(*(_asked(seed, streamed) for seed in group))
