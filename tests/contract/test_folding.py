"""Minutes of processes that are gone become one row; sums stay the same; a process wrongly taken for dead doubles nothing."""

from dataclasses import replace

import pytest

from breaker.ports import StoreUnavailable
from breaker.window import Counts, MinuteRow
from store.redis_folding import DEAD_S, FOLDED_FROM_S, RedisFolding
from store.redis_link import RedisLink, connect
from store.redis_windows import RedisCounts
from tests.support.clock import ManualClock

T0 = 1_700_000_040.0
M0 = int(T0 // 60)


@pytest.fixture(params=["redis", "cluster"])
def any_link(request: pytest.FixtureRequest) -> RedisLink:
    name = {"redis": "link", "cluster": "cluster_link"}[request.param]
    link: RedisLink = request.getfixturevalue(name)
    return link


def row(minute: int, n: int, scope: str = "", prints: dict[str, int] | None = None) -> MinuteRow:
    return MinuteRow(
        model="a", scope=scope, minute=minute, counts=Counts(judged=n, stuck=n // 2), fingerprints=prints or {}
    )


async def written(counts: RedisCounts, clock: ManualClock, boots: int, minutes: int) -> None:
    """Each process writes one minute after the other, in two scopes."""
    for minute in range(minutes):
        for boot in range(boots):
            rows = [row(M0 + minute, boot + 1, prints={"f": boot + 1}), row(M0 + minute, boot + 1, "scene:chat")]
            await counts.flush(f"boot{boot}", rows, [])
        clock.tick(60.0)


async def fields(link: RedisLink, minute: int) -> list[str]:
    kept = await link.ask(lambda client: client.hkeys(f"rep:{{a}}:{minute}"))
    return sorted(name.decode() for name in kept)


async def test_the_dead_are_folded_and_the_sums_stay(any_link: RedisLink, clock: ManualClock) -> None:
    counts, folding = RedisCounts(any_link, clock), RedisFolding(any_link, clock, lambda: ["a"])
    await written(counts, clock, boots=3, minutes=5)
    before = await counts.minutes("a", M0, M0 + 5)
    clock.tick(DEAD_S + 600.0)
    await counts.flush("boot2", [row(int(clock.now_s() // 60), 1)], [])  # this one lives
    await folding.fold()
    assert len(await fields(any_link, M0)) == 6, "Redis has answered only now: the living write first"
    clock.tick(120.0)
    await folding.fold()
    await folding.fold()
    assert await counts.minutes("a", M0, M0 + 5) == before
    assert await fields(any_link, M0) == ["boot2|", "boot2|scene:chat", "folded|", "folded|scene:chat"]
    assert folding.folded == 5 * 2 * 2
    writers = await any_link.ask(lambda client: client.hkeys("writers:{a}"))
    assert writers == [b"boot2"]


async def test_more_dead_are_added_to_what_was_folded(any_link: RedisLink, clock: ManualClock) -> None:
    counts, folding = RedisCounts(any_link, clock), RedisFolding(any_link, clock, lambda: ["a"])
    await folding.fold()
    await counts.flush("boot1", [replace(row(M0, 4, prints={"f": 2}), detectors=("3",))], [])
    clock.tick(600.0)
    newer = replace(row(M0, 6, prints={"f": 1, "g": 1}), detectors=("2",))
    await counts.flush("boot2", [newer], [])
    for _ in range(50):
        clock.tick(60.0)
        await folding.fold()
    assert await fields(any_link, M0) == ["folded|"]
    (merged,) = await counts.minutes("a", M0, M0)
    assert merged == replace(row(M0, 10, prints={"f": 3, "g": 1}), detectors=("2", "3"))


async def test_one_taken_for_dead_that_comes_back_doubles_nothing_and_counts_on(
    any_link: RedisLink, clock: ManualClock
) -> None:
    counts, folding = RedisCounts(any_link, clock), RedisFolding(any_link, clock, lambda: ["a"])
    await folding.fold()
    await counts.flush("boot1", [row(M0, 4)], [])
    clock.tick(DEAD_S + 600.0)
    await folding.fold()
    now = int(clock.now_s() // 60)
    await counts.flush("boot1", [row(M0, 9), row(now, 5)], [])
    assert counts.refused == 1
    assert [r.counts.judged for r in await counts.minutes("a", M0, now)] == [4, 5]


async def test_a_back_fill_of_the_living_is_kept(any_link: RedisLink, clock: ManualClock) -> None:
    counts = RedisCounts(any_link, clock)
    clock.tick(FOLDED_FROM_S + 3_000.0)
    for _ in range(2):
        await counts.flush("boot1", [row(M0, 9), row(M0 + 1, 3, "scene:chat")], [])
    assert [r.counts.judged for r in await counts.minutes("a", M0, M0 + 1)] == [9, 3]
    assert counts.refused == 0


async def test_after_an_outage_nobody_is_declared_dead_before_the_living_wrote(clock: ManualClock) -> None:
    folding = RedisFolding(RedisLink(connect("redis://127.0.0.1:1/0"), clock), clock, lambda: ["a"])
    with pytest.raises(StoreUnavailable):
        await folding.fold()
    assert folding._well_since is None
