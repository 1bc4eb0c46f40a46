"""Two models, one reply: the overlap goes, nothing else does."""

import json

import pytest

from router.splice import Seam, overlap
from router.sse import Thread

THREAD = Thread(id="one", created=1, model="first")


def told(sent: str, parts: list[str]) -> str:
    seam, out = Seam(THREAD, sent), []
    for part in parts:
        data = json.dumps({"id": "two", "choices": [{"index": 0, "delta": {"content": part}}]}).encode()
        if (made := seam.feed(data, part)) is not None:
            chunk = json.loads(made[0])
            assert chunk["id"] == "one"
            assert chunk["choices"][0]["delta"]["content"] == made[1]
            out.append(made[1])
    if (rest := seam.finish()) is not None:
        out.append(rest[1])
    return "".join(out)


@pytest.mark.parametrize(
    ("sent", "new", "repeated"),
    [
        ("leaves at nine ", "at nine and arrives", 8),
        ("leaves at nine ", " and arrives", 0),
        ("the cat", "cattle", 0),
        ("今天天气不错，我们", "我们去公园", 0),
        ("今天天气不错，我们去公园", "我们去公园吧", 5),
        ("", "anything", 0),
    ],
)
def test_the_overlap_is_the_longest_agreement_worth_the_name(sent: str, new: str, repeated: int) -> None:
    assert overlap(sent, new) == repeated


@pytest.mark.parametrize("step", [1, 2, 3, 7, 50])
def test_the_seam_is_the_same_however_the_continuation_is_cut(step: int) -> None:
    new = "at nine and arrives at ten, at the latest."
    parts = [new[i : i + step] for i in range(0, len(new), step)]
    assert told("The train leaves at nine ", parts) == "and arrives at ten, at the latest."


def test_a_continuation_that_only_repeats_adds_nothing() -> None:
    assert told("The train leaves at nine", ["leaves ", "at nine"]) == ""


def test_a_short_continuation_without_overlap_comes_out_whole() -> None:
    assert told("The train", ["!"]) == "!"
