"""Buckets that are remembered are those a whole read would bring."""

from breaker.recent import RecentBuckets
from breaker.window import FastRow
from store.memory import MemoryCounts
from tests.support.clock import ManualClock

B = 1_700_000_040 // 5


def bucket(at: int, attempts: int = 1) -> FastRow:
    return FastRow(model="m", bucket=at, attempts=attempts)


async def test_tick_by_tick_the_rows_are_those_of_the_store() -> None:
    clock = ManualClock(1_700_000_040.0)
    store = MemoryCounts(clock)
    recent = RecentBuckets(store)
    for at in range(B, B + 100):
        for attempts in (1, 2):
            await store.flush("boot", [], [bucket(at, attempts)])
            rows = await recent.rows_of(["m", "idle"], at - 60, at, fresh=at - 6, whole=False)
            assert list(rows["m"]) == list(await store.fast("m", at - 60, at))
            assert list(rows["idle"]) == []
        clock.tick(5)


async def test_after_a_gap_all_are_read_again() -> None:
    store = MemoryCounts(ManualClock(1_700_000_040.0 + 200))
    recent = RecentBuckets(store)
    await recent.rows_of(["m"], B - 60, B, fresh=B - 6, whole=False)
    await store.flush("boot", [], [bucket(B + 1), bucket(B + 39)])
    rows = await recent.rows_of(["m"], B - 20, B + 40, fresh=B + 34, whole=False)
    assert [row.bucket for row in rows["m"]] == [B + 1, B + 39]


async def test_what_comes_very_late_is_seen_with_the_next_whole_read() -> None:
    store = MemoryCounts(ManualClock(1_700_000_040.0 + 100))
    recent = RecentBuckets(store)
    await recent.rows_of(["m"], B - 40, B + 20, fresh=B + 14, whole=False)
    await store.flush("boot", [], [bucket(B)])
    assert (await recent.rows_of(["m"], B - 40, B + 20, fresh=B + 14, whole=False))["m"] == []
    assert (await recent.rows_of(["m"], B - 40, B + 20, fresh=B + 14, whole=True))["m"] == [bucket(B)]
