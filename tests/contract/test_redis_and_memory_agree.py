"""Redis and memory keep the same: one drawn story played on both, every answer compared."""

import asyncio
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from breaker.evidence import Evidence, EvidenceKind
from breaker.levels import Level
from breaker.snapshot import Snapshot
from breaker.window import Counts, FastRow, MinuteRow
from store.memory import MemoryCounts, MemoryEvidence, MemoryLease, MemoryProbes, MemoryStates
from store.redis_link import RedisLink, connect
from store.redis_states import RedisEvidence, RedisLease, RedisProbes, RedisStates
from store.redis_windows import RedisCounts
from tests.support.clock import ManualClock
from tests.support.valkey import Valkey

T0 = 1_700_000_040.0
M0, B0 = int(T0 // 60), int(T0 // 5)

boots = st.sampled_from(["boot1", "boot2", "boot3"])
models = st.sampled_from(["a", "b"])
small = st.integers(0, 9)
marks = st.dictionaries(st.sampled_from(["f1", "f2"]), small, max_size=2)
sessions = st.lists(st.sampled_from(["s1", "s2", "s3"]), unique=True, max_size=3).map(
    lambda drawn: tuple(sorted(drawn))
)
minute_rows = st.builds(
    lambda model, scope, at, n, k, prints: MinuteRow(
        model=model, scope=scope, minute=M0 + at, counts=Counts(judged=n, stuck=k), fingerprints=prints
    ),
    models, st.sampled_from(["", "scene:chat"]), st.integers(-135, 3), small, small, marks,
)  # fmt: skip
fast_rows = st.builds(
    lambda model, at, n, who, loops: FastRow(
        model=model, bucket=B0 + at, attempts=n, stuck=len(who), stuck_sessions=who, loops=loops,
        loop_sessions=dict.fromkeys(loops, who),
    ),
    models, st.integers(-70, 3), small, sessions, marks,
)  # fmt: skip
steps = st.lists(
    st.one_of(
        st.tuples(st.just("flush"), boots, st.lists(minute_rows, max_size=4), st.lists(fast_rows, max_size=3)),
        st.tuples(st.just("set"), models, st.integers(0, 4), st.integers(0, 3), st.integers(0, 2)),
        st.tuples(st.just("lease"), models, st.integers(1, 3), st.integers(1, 8)),
        st.tuples(st.just("settle"), models, st.integers(1, 3), st.booleans()),
        st.tuples(st.just("give back"), models, st.integers(1, 3), st.integers(1, 3)),
        st.tuples(st.just("hold"), boots),
        st.tuples(st.just("release"), boots),
        st.tuples(st.just("find"), models, st.sampled_from(["e1", "e2"]), st.integers(1, 200)),
        st.tuples(st.just("wait"), st.sampled_from([1, 5, 30, 61, 3_600])),
    ),
    max_size=25,
)


class Side:
    """All ports of the breaker over one kind of store."""

    def __init__(self, counts: Any, states: Any, probes: Any, lease: Any, evidence: Any) -> None:
        self.counts, self.states, self.probes, self.lease, self.evidence = counts, states, probes, lease, evidence

    async def do(self, step: tuple[Any, ...], now_s: float) -> Any:
        match step:
            case ("flush", boot, minutes, fast):
                return set(await self.counts.flush(boot, minutes, fast))
            case ("set", model, expected, epoch, fence):
                document = Snapshot(model=model, epoch=epoch, level=Level.WARN, since=now_s, fence=fence)
                return await self.states.compare_and_set(document, expected)
            case ("lease", model, epoch, want):
                return await self.probes.lease(model, epoch, want, 10, 60.0)
            case ("settle", model, epoch, clean):
                return await self.probes.settle(model, epoch, clean)
            case ("give back", model, epoch, count):
                return await self.probes.give_back(model, epoch, count)
            case ("hold", owner):
                return await self.lease.hold("x", owner, 5.0)
            case ("release", owner):
                return await self.lease.release("x", owner)
            case ("find", model, name, valid_s):
                found = Evidence(
                    id=name, kind=EvidenceKind.HOURLY, model=model, found_at=now_s, valid_until=now_s + valid_s
                )
                return await self.evidence.add(found)
        return None

    async def all(self, now_s: float) -> list[Any]:
        """Everything that a rule may read: as far back as rows are kept."""
        minute, bucket = int(now_s // 60), int(now_s // 5)
        return [
            [
                await self.counts.minutes(model, minute - 129, minute + 3),
                await self.counts.fast(model, bucket - 59, bucket + 3),
                [await self.probes.tally(model, epoch) for epoch in range(1, 4)],
                await self.evidence.evidence(model),
            ]
            for model in ("a", "b")
        ] + [dict(await self.states.load(["a", "b"])), await self.lease.held("x")]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(story=steps)
def test_one_story_has_one_outcome(valkey: Valkey, story: list[tuple[Any, ...]]) -> None:
    asyncio.run(_play(valkey.url, story))


async def _play(url: str, story: list[tuple[Any, ...]]) -> None:
    clock, client = ManualClock(T0), connect(url)
    await client.flushall()
    link = RedisLink(client, clock)
    memory = Side(MemoryCounts(clock), MemoryStates(), MemoryProbes(clock), MemoryLease(clock), MemoryEvidence(clock))
    redis = Side(
        RedisCounts(link, clock), RedisStates(link), RedisProbes(link, clock), RedisLease(link, clock),
        RedisEvidence(link, clock),
    )  # fmt: skip
    for step in story:
        if step[0] == "wait":
            clock.tick(step[1])
            continue
        answers = [await side.do(step, clock.now_s()) for side in (memory, redis)]
        assert answers[0] == answers[1], step
    assert await memory.all(clock.now_s()) == await redis.all(clock.now_s())
    await link.close()
