"""Chunks that a reader takes off the wire before they are parsed: wherever reads end, no byte is lost or read twice."""

import asyncio
import itertools
from typing import Any

import pytest

from upstream.connection import Answer, Connection

HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
BODIES = [b"data: one\n\n", b"x\r\n", b"\r\n", b"5\r\nhello\r\n", b"data: two\n\n"]
"""Some look like frames."""


class Wire(asyncio.Transport):
    def write(self, data: Any) -> None:
        pass

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return False

    def resume_reading(self) -> None:
        pass


def chunk(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(body), body)


class Read:
    """Reads an answer, and takes whole chunks before they are parsed."""

    def __init__(self, *, taking: bool = True) -> None:
        self.body, self.straight, self.free = b"", 0, 0
        self._taking = taking
        self._connection = Connection(self._freed, lambda _: None)
        self._connection.connection_made(Wire())
        self.answer: Answer = self._connection.ask(b"")
        self._connection.data_received(HEAD)
        self.answer.tap(self._take, self._whole)

    def _freed(self, _: Connection) -> None:
        self.free += 1

    def _take(self, data: bytes) -> None:
        raise AssertionError("nobody waits")

    def _whole(self, data: bytes) -> bytes | None:
        size, _, rest = data.partition(b"\r\n")
        if not self._taking or len(rest) < 3 or rest[-2:] != b"\r\n" or size != b"%x" % (len(rest) - 2):
            return data
        self.straight += 1
        self.body += rest[:-2]
        return None

    def feed(self, data: bytes) -> None:
        if data:
            self._connection.data_received(data)
        self.body += b"".join(self.answer.parts_came)
        self.answer.parts_came.clear()


@pytest.mark.parametrize("taking", [True, False])
async def test_wherever_reads_end_the_body_is_the_same(taking: bool) -> None:
    wire = b"".join(map(chunk, BODIES)) + b"0\r\n\r\n"
    straight = 0
    for first, second in itertools.combinations(range(len(wire) + 1), 2):
        read = Read(taking=taking)
        for part in (wire[:first], wire[first:second], wire[second:]):
            read.feed(part)
        assert read.body == b"".join(BODIES), (first, second)
        assert read.answer.ended and read.free == 1
        straight += read.straight
    assert bool(straight) is taking


async def test_a_chunk_is_taken_only_where_one_begins() -> None:
    read = Read()
    read.feed(chunk(b"one"))
    assert read.straight == 0  # the head may have been followed by anything
    read.feed(chunk(b"two"))
    assert read.straight == 1
    inside = chunk(chunk(b"a chunk in a chunk"))
    at = inside.index(b"\r\n") + 2
    read.feed(inside[:at])
    read.feed(inside[at:-2])
    read.feed(inside[-2:])
    assert read.straight == 1 and read.body == b"onetwo" + chunk(b"a chunk in a chunk")


async def test_bytes_that_a_taker_hands_back_reach_whoever_reads() -> None:
    read = Read()
    read.feed(chunk(b"one"))
    read.answer.straight = lambda data: b"instead"
    read.feed(chunk(b"two"))
    assert read.body == b"oneinstead"
