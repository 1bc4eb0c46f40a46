"""When counts are written, and written again."""

from collections.abc import Sequence, Set

import pytest

from breaker.counting import LocalCounters
from breaker.flushing import BEAT_S, ROWS_AT_ONCE, Flusher
from breaker.outcome import Outcome
from breaker.ports import StoreUnavailable
from breaker.window import FastRow, MinuteRow
from tests.support.counters import note_one

T0 = 1_700_000_040.0


class Recording:
    """Remembers how many minute rows each flush brought; may be down, may have forgotten the writer."""

    def __init__(self) -> None:
        self.got: list[int] = []
        self.down = False
        self.forgot = False

    async def flush(self, boot_id: str, minutes: Sequence[MinuteRow], fast: Sequence[FastRow]) -> Set[str]:
        if self.down:
            raise StoreUnavailable("down")
        self.got.append(len(minutes))
        new, self.forgot = self.forgot or len(self.got) == 1, False
        return {"m"} if new else set()

    async def minutes(self, model: str, first: int, last: int) -> Sequence[MinuteRow]:
        return []

    async def fast(self, model: str, first: int, last: int) -> Sequence[FastRow]:
        return []


def sides() -> tuple[Recording, LocalCounters, Flusher]:
    store, counters = Recording(), LocalCounters("boot")
    return store, counters, Flusher(store, counters)


async def test_what_did_not_change_is_not_written_again() -> None:
    store, counters, flusher = sides()
    note_one(counters, Outcome.GOOD, T0)
    for second in range(10):
        await flusher.flush(T0 + second)
    assert store.got == [3]


async def test_a_closed_minute_is_written_once_more_and_an_idle_writer_shows_that_it_lives() -> None:
    store, counters, flusher = sides()
    note_one(counters, Outcome.GOOD, T0)
    written = {}
    for second in range(0, 90 + 2 * int(BEAT_S), 10):
        before = len(store.got)
        await flusher.flush(T0 + second)
        if len(store.got) > before:
            written[second] = store.got[-1]
    # At once; one row a minute later; settled half a minute after the minute closed; then one row a minute after that.
    assert written == {0: 3, 60: 1, 90: 3, 150: 1}


async def test_after_a_failed_flush_everything_kept_is_written_again() -> None:
    store, counters, flusher = sides()
    note_one(counters, Outcome.GOOD, T0)
    await flusher.flush(T0)
    store.down = True
    note_one(counters, Outcome.GOOD, T0 + 60)
    with pytest.raises(StoreUnavailable):
        await flusher.flush(T0 + 60)
    store.down = False
    await flusher.flush(T0 + 61)
    await flusher.flush(T0 + 62)
    assert store.got == [3, 3, 6]
    assert flusher.resyncs == 1


async def test_a_store_that_has_forgotten_the_writer_gets_everything_again() -> None:
    store, counters, flusher = sides()
    note_one(counters, Outcome.GOOD, T0)
    await flusher.flush(T0)
    store.forgot = True
    note_one(counters, Outcome.GOOD, T0 + 60)
    await flusher.flush(T0 + 60)
    await flusher.flush(T0 + 61)
    assert store.got == [3, 3, 6]


async def test_a_large_rewrite_goes_out_in_parts_the_newest_first() -> None:
    store, counters, flusher = sides()
    for minute in range(ROWS_AT_ONCE // 3 - 600, ROWS_AT_ONCE // 3 - 480):
        for scene in range(20):
            counters.note(
                model="m", scene=f"s{scene}", endpoint=0, outcome=Outcome.GOOD, fault=None, verdict=None, stream=False,
                session="", tokens_in=0, tokens_out=0, elapsed_s=0.0, suppressed_chars=0, hard_stop=False,
                now_s=T0 + 60 * minute,
            )  # fmt: skip
    now_s = T0 + 60 * (ROWS_AT_ONCE // 3 - 480)
    while counters.dirty()[0]:
        await flusher.flush(now_s)
    assert store.got[0] == ROWS_AT_ONCE
    assert sum(store.got) >= 120 * 22
