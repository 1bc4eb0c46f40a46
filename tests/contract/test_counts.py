"""The port CountStore over memory, Redis and a cluster of three."""

import asyncio
from dataclasses import replace

import pytest

from breaker.ports import CountStore
from breaker.window import Counts, FastRow, MinuteRow
from store.memory import MemoryCounts
from store.redis_windows import RedisCounts
from tests.support.clock import ManualClock

M = 1_700_000_040 // 60
B = 1_700_000_040 // 5

LINKS = {"redis": "link", "cluster": "cluster_link"}


@pytest.fixture(params=["memory", "redis", "cluster"])
def counts(request: pytest.FixtureRequest, clock: ManualClock) -> CountStore:
    if request.param == "memory":
        return MemoryCounts(clock)
    return RedisCounts(request.getfixturevalue(LINKS[request.param]), clock)


def row(minute: int = M, scope: str = "", model: str = "a", **numbers: int) -> MinuteRow:
    return MinuteRow(model=model, scope=scope, minute=minute, counts=Counts(**numbers))


async def test_writers_add_up_and_a_repeated_flush_changes_nothing(counts: CountStore) -> None:
    for _ in range(3):
        await counts.flush("boot1", [row(judged=10, stuck=2)], [])
    await counts.flush("boot2", [row(judged=5, phrase_loop=1)], [])
    (merged,) = await counts.minutes("a", M, M)
    assert merged == row(judged=15, stuck=2, phrase_loop=1)


async def test_rows_say_which_detectors_counted_them(counts: CountStore) -> None:
    for boot, version in (("boot1", ("3",)), ("boot2", ("2",)), ("boot3", ("3",)), ("older release", ())):
        await counts.flush(boot, [replace(row(judged=1), detectors=version)], [])
    (merged,) = await counts.minutes("a", M, M)
    assert merged == replace(row(judged=4), detectors=("2", "3"))


async def test_buckets_say_which_detectors_counted_them(counts: CountStore) -> None:
    for boot, version in (("boot1", ("3",)), ("boot2", ("2",)), ("older release", ())):
        await counts.flush(boot, [], [FastRow(model="a", bucket=B, attempts=2, detectors=version)])
    (merged,) = await counts.fast("a", B, B)
    assert (merged.attempts, merged.detectors) == (6, ("2", "3"))


async def test_a_later_flush_replaces_the_writers_own_counts(counts: CountStore) -> None:
    await counts.flush("boot1", [row(judged=1)], [])
    await counts.flush("boot1", [row(judged=4)], [])
    assert [r.counts.judged for r in await counts.minutes("a", M, M)] == [4]


async def test_minutes_come_oldest_first_per_scope_and_without_empty_ones(counts: CountStore) -> None:
    rows = [row(M, judged=3), row(M - 2, judged=1), row(M - 2, "scene:chat", judged=1), row(M - 1)]
    await counts.flush("boot1", rows, [])
    got = await counts.minutes("a", M - 5, M)
    assert [(r.minute, r.scope, r.counts.judged) for r in got] == [(M - 2, "", 1), (M - 2, "scene:chat", 1), (M, "", 3)]
    assert await counts.minutes("a", M - 1, M - 1) == []
    assert await counts.minutes("other", M - 5, M) == []


async def test_fingerprints_add_up(counts: CountStore) -> None:
    for boot, seen in (("boot1", {"f1": 2, "f2": 1}), ("boot2", {"f1": 3})):
        await counts.flush(
            boot, [MinuteRow(model="a", scope="", minute=M, counts=Counts(judged=9), fingerprints=seen)], []
        )
    (merged,) = await counts.minutes("a", M, M)
    assert merged.fingerprints == {"f1": 5, "f2": 1}


async def test_no_future_minute_and_none_older_than_kept(counts: CountStore) -> None:
    await counts.flush("boot1", [row(M + 1, judged=1), row(M - 131, judged=1), row(M - 130, judged=1)], [])
    assert [r.minute for r in await counts.minutes("a", M - 140, M + 2)] == [M - 130]


async def test_fast_buckets_unite_sessions_over_writers(counts: CountStore) -> None:
    def bucket(at: int, *sessions: str) -> FastRow:
        return FastRow(
            model="a", bucket=at, attempts=4, hard=1, streams=3, stuck=len(sessions), stuck_sessions=sessions,
            loops={"f": len(sessions)}, loop_sessions={"f": sessions},
        )  # fmt: skip

    await counts.flush("boot1", [], [bucket(B, "s1", "s2"), bucket(B - 20, "s9")])
    await counts.flush("boot2", [], [bucket(B, "s2", "s3")])
    old, new = await counts.fast("a", B - 30, B)
    assert (old.bucket, new.bucket) == (B - 20, B)
    assert (new.attempts, new.hard, new.streams, new.stuck) == (8, 2, 6, 4)
    assert new.stuck_sessions == ("s1", "s2", "s3")
    assert new.loops == {"f": 4}
    assert new.loop_sessions == {"f": ("s1", "s2", "s3")}


async def test_session_sets_stay_capped(counts: CountStore) -> None:
    for boot in range(3):
        sessions = tuple(f"{boot}-{i:03}" for i in range(64))
        await counts.flush(f"boot{boot}", [], [FastRow(model="a", bucket=B, stuck=64, stuck_sessions=sessions)])
    (merged,) = await counts.fast("a", B, B)
    assert merged.stuck == 192
    assert len(merged.stuck_sessions) == 64


async def test_many_tasks_of_four_replicas_sum_exactly(counts: CountStore) -> None:
    """Scenario 7: 16 tasks x 1000 adds, 4 replicas, fresh minute: sum exactly 16000."""

    async def replica(name: str) -> None:
        for upto in range(500, 4001, 500):
            await counts.flush(name, [row(judged=upto)], [])

    await asyncio.gather(*(replica(f"boot{n}") for n in range(4)))
    assert [r.counts.judged for r in await counts.minutes("a", M, M)] == [16_000]


async def test_many_models_read_at_once_are_what_each_is_by_itself(counts: CountStore) -> None:
    """More models than one pipeline holds; on the cluster they lie in many slots."""
    models = [f"m{n}" for n in range(45)]
    for boot in ("boot1", "boot2"):
        minutes = [
            row(M - back, scope, model, judged=n + back)
            for n, model in enumerate(models)
            for back in (0, 3, n)
            for scope in ("", "scene:chat")
        ]
        buckets = [
            FastRow(model=model, bucket=B - back, attempts=2, stuck=1, stuck_sessions=(boot,), loops={"f": n + 1})
            for n, model in enumerate(models)
            for back in (0, n)
        ]
        await counts.flush(boot, minutes, buckets)
    asked = [*models, "nobody wrote about it"]
    minutes_of, fast_of = await counts.minutes_of(asked, M - 20, M), await counts.fast_of(asked, B - 30, B - 1)
    assert list(minutes_of) == list(fast_of) == asked
    for model in asked:
        assert list(minutes_of[model]) == list(await counts.minutes(model, M - 20, M))
        assert list(fast_of[model]) == list(await counts.fast(model, B - 30, B - 1))
    assert len(minutes_of["m5"]) == 6
    assert fast_of["m5"][0].stuck_sessions == ("boot1", "boot2")
    whole = await counts.minutes_of(asked, M - 20, M, scope="")
    assert whole == {m: [r for r in rows if r.scope == ""] for m, rows in minutes_of.items()}
    assert await counts.minutes_of([], M - 20, M) == {}
