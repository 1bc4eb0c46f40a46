"""Streams as vendors, proxies and broken links write them, byte by byte as scripted: the client reads the same words."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import httpx
import pytest
import pytest_asyncio

from tests.support.service import Running, running, settings_file

pytestmark = pytest.mark.asyncio(loop_scope="module")

SYLLABLES = [
    "ka",
    "lo",
    "mer",
    "ti",
    "ven",
    "dra",
    "sol",
    "pi",
    "qua",
    "ren",
    "fos",
    "tul",
    "bi",
    "cor",
    "ner",
    "ash",
    "il",
    "mon",
    "dre",
    "vi",
    "列车",
    "晚点",
    "är",
    "ñu",
    "😀",
]
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"


def words(count: int, seed: int = 7) -> list[str]:
    rng = Random(seed)
    return [" " + "".join(rng.choices(SYLLABLES, k=3)) for _ in range(count)]


def body(delta: dict[str, Any] | None, finish: str | None = None, **more: Any) -> str:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    whole = {"id": "s", "object": "chat.completion.chunk", "created": 1, "model": "said", "choices": choices, **more}
    return json.dumps(whole, ensure_ascii=False)


def event(delta: dict[str, Any] | None, finish: str | None = None, **more: Any) -> bytes:
    return f"data: {body(delta, finish, **more)}\n\n".encode()


def said(texts: list[str]) -> list[bytes]:
    return [event({"role": "assistant", "content": ""}), *(event({"content": text}) for text in texts)]


END = [event({}, "stop"), b"data: [DONE]\n\n"]
TEXTS = words(40)
STORY = [*said(TEXTS), *END]


def chunked(parts: list[bytes]) -> list[bytes]:
    return [HEAD + b"transfer-encoding: chunked\r\n\r\n", *(b"%x\r\n%b\r\n" % (len(p), p) for p in parts), b"0\r\n\r\n"]


def to_the_end(parts: list[bytes]) -> list[bytes]:
    return [HEAD + b"connection: close\r\n\r\n", *parts]


ONE = b"".join(STORY)
LARGE = "".join(words(90_000))
MANY = words(30_000)
ODD: dict[str, tuple[list[bytes], list[str]]] = {
    "an event a write": (chunked(STORY), TEXTS),
    "without a length": (to_the_end(STORY), TEXTS),
    "byte by byte": (chunked([bytes([b]) for b in b"".join([*said(TEXTS[:6]), *END])]), TEXTS[:6]),
    "cut in the middle of characters": (chunked([ONE[at : at + 37] for at in range(0, len(ONE), 37)]), TEXTS),
    "compressed": (
        [HEAD + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(gzip.compress(ONE)), gzip.compress(ONE)],
        TEXTS,
    ),
    "lines that end in CRLF": (chunked([part.replace(b"\n", b"\r\n") for part in STORY]), TEXTS),
    "no blank after data": (chunked([part.replace(b"data: ", b"data:", 1) for part in STORY]), TEXTS),
    "data of several lines": (
        chunked([part.replace(b', "choices"', b',\ndata: "choices"', 1) for part in STORY]),
        TEXTS,
    ),
    "other fields and comments": (
        chunked([b"\xef\xbb\xbf: hello\n\n", *(b"event: message\nid: 7\nretry: 9\n" + part + b": tick\n\n" for part in STORY)]),
        TEXTS,
    ),
    "without [DONE]": (chunked(STORY[:-1]), TEXTS),
    "the role again and again": (
        chunked([*(event({"role": "assistant", "content": text}) for text in TEXTS), *END]),
        TEXTS,
    ),
    "usage in every event": (
        chunked([*(event({"content": t}, usage={"prompt_tokens": 1, "completion_tokens": 2}) for t in TEXTS), *END]),
        TEXTS,
    ),
    "noise in every event": (
        chunked([*(event({"content": t}, obfuscation="x" * (at % 9)) for at, t in enumerate(TEXTS)), *END]),
        TEXTS,
    ),
    "escapes in every event": (
        chunked([json.dumps(json.loads(p[6:])).join(["data: ", "\n\n"]).encode() if b"{" in p else p for p in STORY]),
        TEXTS,
    ),
    "another model's name in the middle": (
        chunked([*said(TEXTS[:20]), *(event({"content": t}, model="other") for t in TEXTS[20:]), *END]),
        TEXTS,
    ),
    "early hints": ([b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n", *chunked(STORY)], TEXTS),
    "an event of a megabyte": (chunked([*said([LARGE]), *END]), [LARGE]),
    "thirty thousand events": (chunked([b"".join(said(MANY)), *END]), MANY),
}  # fmt: skip


class Odd:
    """Answers each request with the bytes of the case that its words name."""

    def __init__(self) -> None:
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> str:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(
                    int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")
                )
                asked = json.loads(await reader.readexactly(length))
                case = asked["messages"][-1]["content"]
                for part in _broken() if case == "reset" else ODD[case][0]:
                    writer.write(part)
                    await writer.drain()
                if case == "reset":
                    writer.transport.abort()
                    return
                if b"connection: close" in ODD[case][0][0]:
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        writer.close()


def _broken() -> list[bytes]:
    """A chunk that says 4096 bytes and holds a few."""
    return [*chunked(said(TEXTS))[:-1], b"1000\r\ndata: {"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Running]:
    async with Odd() as base_url, running(settings_file(tmp_path_factory.mktemp("odd"), base_url), "router") as up:
        yield up


async def streamed(service: Running, case: str) -> list[Any]:
    asked = {"model": "lone", "stream": True, "messages": [{"role": "user", "content": case}]}
    async with httpx.AsyncClient(timeout=120) as client:
        answer = await client.post(f"{service.url}/v1/chat/completions", json=asked)
    assert answer.status_code == 200, answer.text
    blocks = [[line for line in block.split("\n") if line.startswith("data: ")] for block in answer.text.split("\n\n")]
    told = ["\n".join(line[6:] for line in lines) for lines in blocks if lines]
    return [one if one == "[DONE]" else json.loads(one) for one in told]


@pytest.mark.parametrize("case", ODD)
async def test_the_words_arrive_whole_and_in_order_and_the_end_is_an_end(service: Running, case: str) -> None:
    events = await streamed(service, case)
    chunks = [one for one in events if one != "[DONE]"]
    text = "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks if c["choices"])
    assert text == "".join(ODD[case][1])
    assert events[-1] == "[DONE]" and events.count("[DONE]") == 1
    ends = [c["choices"][0]["finish_reason"] for c in chunks if c["choices"]]
    assert [end for end in ends if end] == ["stop"]
    assert chunks[-1]["pointsman"]["verdict"] == "clean"


async def test_a_reset_in_the_middle_of_a_chunk_is_told_as_an_error_after_the_words_that_came(service: Running) -> None:
    events = await streamed(service, "reset")
    text = "".join(
        c["choices"][0]["delta"].get("content") or "" for c in events if isinstance(c, dict) and c.get("choices")
    )
    assert "".join(TEXTS).startswith(text.rstrip()) and text
    assert "error" in events[-1] and "[DONE]" not in events
