"""Events come out whole, however the bytes were cut."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upstream.errors import Garbled
from upstream.sse import SseSplitter

RAW = (
    b"\xef\xbb\xbf: keep-alive\n\n"
    + 'data: {"a":"你好"}\r\n\r\n'.encode()
    + b"event: x\nid: 1\ndata:two\ndata: lines\n\n\n\n: ping\n\n"
    + "data: 末\n\n".encode()
    + b"data: [DONE]"
)
EVENTS = ['{"a":"你好"}'.encode(), b"two\nlines", "末".encode(), b"[DONE]"]


def split(parts: list[bytes]) -> list[bytes]:
    splitter = SseSplitter()
    return [event for part in parts for event in splitter.feed(part)] + splitter.finish()


def test_one_read_and_byte_by_byte_give_the_same_events() -> None:
    assert split([RAW]) == EVENTS
    assert split([RAW[at : at + 1] for at in range(len(RAW))]) == EVENTS


@given(st.lists(st.integers(0, len(RAW)), max_size=12))
def test_any_cut_gives_the_same_events(cuts: list[int]) -> None:
    ends = [0, *sorted(cuts), len(RAW)]
    assert split([RAW[a:b] for a, b in itertools.pairwise(ends)]) == EVENTS


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
def test_every_line_ending_is_one(ending: bytes) -> None:
    raw = ending.join([b"data: a", b"", b"data: b", b"", b""])
    assert split([raw[at : at + 1] for at in range(len(raw))]) == [b"a", b"b"]


def test_comments_alone_are_no_event() -> None:
    assert split([b": keep-alive\n\n"] * 5) == []


def test_an_event_without_end_is_refused_before_it_fills_memory() -> None:
    splitter = SseSplitter(max_event_bytes=1000)
    with pytest.raises(Garbled):
        for _ in range(100):
            splitter.feed(b"x" * 100)


@pytest.mark.parametrize("sent", [b"data: a\n\n", b"data: {}\n\n"])
def test_a_read_that_is_one_event_is_known_without_looking_further(sent: bytes) -> None:
    splitter = SseSplitter()
    assert splitter.feed(b"data: begun\n\n") == [b"begun"]
    assert splitter.single(sent) == sent[6:-2]
    assert splitter.feed(b"data: next\n\n") == [b"next"]


@pytest.mark.parametrize(
    "sent",
    [b"data: a", b"data: a\n", b"data: a\ndata: b\n\n", b"data: a\n\ndata: b\n\n", b"data:a\n\n", b": a\n\n", b"data: a\r\n\n", b""],
)  # fmt: skip
def test_any_other_read_is_not_taken(sent: bytes) -> None:
    splitter = SseSplitter()
    splitter.feed(b"data: begun\n\n")
    assert splitter.single(sent) is None
    splitter.feed(b"data: ha")
    assert splitter.single(b"data: a\n\n") is None, "the rest of another event waits"


def test_the_first_read_may_begin_with_a_byte_order_mark_and_is_never_single() -> None:
    assert SseSplitter().single(b"data: a\n\n") is None
