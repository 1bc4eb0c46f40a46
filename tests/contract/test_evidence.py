"""The port EvidenceStore over memory, Redis and a cluster of three."""

import pytest

from breaker.evidence import Evidence, EvidenceKind
from store.memory import MemoryEvidence
from store.redis_states import RedisEvidence
from tests.support.clock import ManualClock

LINKS = {"redis": "link", "cluster": "cluster_link"}


@pytest.fixture(params=["memory", "redis", "cluster"])
def store(request: pytest.FixtureRequest, clock: ManualClock) -> MemoryEvidence | RedisEvidence:
    if request.param == "memory":
        return MemoryEvidence(clock)
    return RedisEvidence(request.getfixturevalue(LINKS[request.param]), clock)


def finding(id: str, now_s: float, valid_s: float = 60.0, model: str = "a") -> Evidence:
    return Evidence(
        id=id, kind=EvidenceKind.NIGHTLY, model=model, found_at=now_s, valid_until=now_s + valid_s,
        numbers=(("rate", 0.04),),
    )  # fmt: skip


async def test_one_id_counts_once(store: MemoryEvidence | RedisEvidence, clock: ManualClock) -> None:
    first = finding("n1", clock.now_s())
    assert await store.add(first)
    assert not await store.add(finding("n1", clock.now_s() + 1))
    assert list(await store.evidence("a")) == [first]
    assert list(await store.evidence("b")) == []


async def test_what_is_no_longer_valid_goes(store: MemoryEvidence | RedisEvidence, clock: ManualClock) -> None:
    await store.add(finding("late", clock.now_s() + 1, 100.0))
    await store.add(finding("early", clock.now_s(), 30.0))
    assert [it.id for it in await store.evidence("a")] == ["early", "late"]
    clock.tick(31)
    assert [it.id for it in await store.evidence("a")] == ["late"]


async def test_many_models_at_once_are_what_each_is_by_itself(
    store: MemoryEvidence | RedisEvidence, clock: ManualClock
) -> None:
    for model, valid_s in (("a", 60.0), ("a", 5.0), ("b", 60.0)):
        await store.add(finding(f"{model}{valid_s}", clock.now_s(), valid_s, model))
    clock.tick(10)
    found = await store.evidence_of(["a", "b", "c"])
    assert {model: [it.id for it in records] for model, records in found.items()} == {
        "a": ["a60.0"],
        "b": ["b60.0"],
        "c": [],
    }
    for model, records in found.items():
        assert list(records) == list(await store.evidence(model))
    assert await store.evidence_of([]) == {}
