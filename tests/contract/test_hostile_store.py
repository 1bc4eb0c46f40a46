"""What somebody else wrote into our Redis: it concerns what it stands for, and nothing else; nothing stands still for good."""

from dataclasses import replace
from typing import Any

import pytest

from base.switch import Switch, SwitchMode
from breaker.evidence import Evidence, EvidenceKind
from breaker.levels import Level
from breaker.snapshot import SCHEMA, Snapshot
from breaker.window import Counts, FastRow, MinuteRow
from store.documents import to_json
from store.redis_config import SAID, RedisConfig
from store.redis_folding import DEAD_S, WELL_S, RedisFolding
from store.redis_gray import RedisGray
from store.redis_link import RedisLink
from store.redis_spend import RedisSpend
from store.redis_states import RedisEvidence, RedisLease, RedisProbes, RedisStates
from store.redis_switches import KEY as SWITCHES
from store.redis_switches import RedisSwitches
from store.redis_windows import RedisCounts, minute_key, writers_key
from tests.support.clock import ManualClock

M = 1_700_000_040 // 60
B = 1_700_000_040 // 5
DEEP = "[" * 5_000
NO_ROWS = ["", "nonsense", '{"counts": {"judged": ', '{"counts": {"judged": -3}}', '{"counts": {"judged": 1e300}}',
           '{"counts": {"judged": "9"}}', '{"counts": {"judged": 99999999999999999999}}', '{"counts": [1]}', "[]", "null",
           '{"counts": {"judged": 1}, "fingerprints": {"f": -1}}', DEEP, "\ud800".encode("utf-8", "surrogatepass")]  # fmt: skip
NO_DOCUMENTS = ["", "{", "[]", "7", '{"model": "a", "epoch": 5, "level": 7}', '{"model": "a", "epoch": 9007199254740993}',
                '{"model": "a", "epoch": 1e300}', '{"model": "a", "epoch": 5, "fence": 1e300}', '{"model": "b", "epoch": 5}',
                '{"model": "a", "epoch": -1}', '{"model": "a", "epoch": 5, "fence": 99999999999999999}', DEEP]  # fmt: skip


def row(boot_judged: int, model: str = "a", minute: int = M) -> MinuteRow:
    return MinuteRow(model=model, scope="", minute=minute, counts=Counts(judged=boot_judged))


async def put(link: RedisLink, key: str, field: Any, value: Any) -> None:
    await link.ask(lambda client: client.hset(key, field, value))


@pytest.mark.parametrize("value", NO_ROWS, ids=range(len(NO_ROWS)))
async def test_a_field_that_holds_no_counts_is_passed_over_alone(
    link: RedisLink, clock: ManualClock, value: Any
) -> None:
    counts = RedisCounts(link, clock)
    await counts.flush("boot1", [row(4), row(2, "b")], [FastRow(model="a", bucket=B, attempts=3)])
    await put(link, minute_key("a", M), "boot2|", value)
    await put(link, f"fast:{{a}}:{M}", f"boot2|{B}", value)
    read = await counts.minutes_of(["a", "b"], M, M, scope="")
    assert {model: [r.counts.judged for r in rows] for model, rows in read.items()} == {"a": [4], "b": [2]}
    assert [r.attempts for r in await counts.fast("a", B, B)] == [3]
    assert counts.unreadable == 2


@pytest.mark.parametrize("field", ["", "no bar", "boot|", "a|b|c", b"\xff\xfe|", "boot|99999999999999999999", "boot|x"])
async def test_a_field_of_a_strange_name_breaks_nothing(link: RedisLink, clock: ManualClock, field: Any) -> None:
    counts = RedisCounts(link, clock)
    await counts.flush("boot1", [row(4)], [FastRow(model="a", bucket=B, attempts=3)])
    await put(link, minute_key("a", M), field, '{"counts": {"judged": 1}}')
    await put(link, f"fast:{{a}}:{M}", field, to_json(FastRow(model="a", bucket=B, attempts=1)))
    assert sum(r.counts.judged for r in await counts.minutes("a", M, M) if r.scope == "") in (4, 5)
    assert [r.attempts for r in await counts.fast("a", B, B)] == [3]


async def test_keys_of_another_kind_cost_only_what_they_stand_for(link: RedisLink, clock: ManualClock) -> None:
    counts = RedisCounts(link, clock)
    for key in (minute_key("a", M), f"fast:{{a}}:{M}", writers_key("a")):
        await link.ask(lambda client, key=key: client.set(key, "somebody else's"))
    await counts.flush("boot1", [row(4), row(3, minute=M - 1), row(2, "b")], [FastRow(model="a", bucket=B, attempts=3)])
    read = await counts.minutes_of(["a", "b"], M - 1, M, scope="")
    assert {model: [r.counts.judged for r in rows] for model, rows in read.items()} == {"a": [3], "b": [2]}
    assert counts.refused == 3
    folding = RedisFolding(link, clock, lambda: ["a", "b"])
    await folding.fold()
    evidence = RedisEvidence(link, clock)
    await link.ask(lambda client: client.set("{state}:evidence:a", "somebody else's"))
    assert await evidence.evidence_of(["a", "b"]) == {"a": [], "b": []}


async def test_what_is_no_evidence_goes_and_the_rest_stands(link: RedisLink, clock: ManualClock) -> None:
    evidence, now_s = RedisEvidence(link, clock), clock.now_s()
    known = Evidence(id="n", kind=EvidenceKind.NIGHTLY, model="a", found_at=now_s, valid_until=now_s + 60)
    assert await evidence.add(known)
    for number, value in enumerate(["", "{", "[]", '{"id": "x", "kind": "of another release"}', DEEP]):
        await put(link, "{state}:evidence:a", f"x{number}", value)
    assert await evidence.evidence_of(["a", "b"]) == {"a": [known], "b": []}
    assert await link.ask(lambda client: client.hlen("{state}:evidence:a")) == 1


@pytest.mark.parametrize("value", NO_DOCUMENTS, ids=range(len(NO_DOCUMENTS)))
async def test_what_is_no_document_never_keeps_a_model_where_it_is(link: RedisLink, value: str) -> None:
    states = RedisStates(link)
    await link.ask(lambda client: client.set("{state}:doc:a", value))
    assert await states.load(["a"]) == {}
    known = Snapshot(model="a", epoch=7, level=Level.OPEN, fence=3)
    assert await states.compare_and_set(known, 0), "what was last known is put back"
    assert (await states.load(["a"]))["a"] == known
    assert await states.compare_and_set(replace(known, epoch=8), 7)


async def test_a_document_of_another_kind_of_key_is_put_right(link: RedisLink) -> None:
    await put(link, "{state}:doc:a", "f", "v")
    states = RedisStates(link)
    assert await states.load(["a"]) == {}
    assert await states.compare_and_set(Snapshot(model="a", epoch=1), 0)


async def test_a_document_written_since_is_not_taken_for_the_unreadable_one(link: RedisLink) -> None:
    states, other = RedisStates(link), RedisStates(link)
    await link.ask(lambda client: client.set("{state}:doc:a", '{"model": "a", "epoch": 5, "level": 7}'))
    assert await states.load(["a"]) == await other.load(["a"]) == {}
    assert await other.compare_and_set(Snapshot(model="a", epoch=1), 0)
    assert not await states.compare_and_set(Snapshot(model="a", epoch=1, level=Level.WARN), 0)
    newer = to_json(replace(Snapshot(model="a"), epoch=9, schema=SCHEMA + 1))
    await link.ask(lambda client: client.set("{state}:doc:a", newer))
    assert await states.load(["a"]) == {}
    assert not await states.compare_and_set(Snapshot(model="a", epoch=1), 0), "that of a newer release stands"


@pytest.mark.parametrize("value", ["", "x", "nan", "inf", "-1", "1e300", "99999999999999999999"])
async def test_a_lease_and_a_budget_survive_any_value(link: RedisLink, clock: ManualClock, value: str) -> None:
    for field in ("until", "fence"):
        await put(link, "{state}:hold:l", "owner", "")
        await put(link, "{state}:hold:l", field, value)
    fence = await RedisLease(link, clock).hold("l", "p1", 5.0)
    assert fence is not None and 0 < fence < 2**53
    probes = RedisProbes(link, clock)
    for field in ("epoch", "leases"):
        await put(link, "{state}:probe:a", field, value)
    assert await probes.lease("a", 3, 2, 30, 60.0) == 2


async def test_a_lease_and_a_budget_that_are_something_else_are_taken_anew(link: RedisLink, clock: ManualClock) -> None:
    for key in ("{state}:hold:l", "{state}:probe:a"):
        await link.ask(lambda client, key=key: client.set(key, "somebody else's"))
    assert await RedisLease(link, clock).hold("l", "p1", 5.0) is not None
    assert await RedisProbes(link, clock).lease("a", 1, 2, 30, 60.0) == 2


async def test_a_lease_taken_before_the_fleets_clock_was_set_back_ends_at_once(
    link: RedisLink, clock: ManualClock
) -> None:
    lease = RedisLease(link, clock)
    first = await lease.hold("l", "gone", 5.0)
    clock.step(-3_600)
    second = await lease.hold("l", "p2", 5.0)
    assert first is not None and second is not None and second > first
    assert await lease.hold("l", "p3", 5.0) is None, "and is held as any other"


@pytest.mark.parametrize("value", [*NO_ROWS, '{"counts": {"judged": "x"}, "by": 7}'], ids=range(len(NO_ROWS) + 1))
async def test_folding_passes_over_what_is_no_row(link: RedisLink, clock: ManualClock, value: Any) -> None:
    counts, folding = RedisCounts(link, clock), RedisFolding(link, clock, lambda: ["a"])
    await counts.flush("dead", [row(4)], [])
    await put(link, minute_key("a", M), "dead|scene:x", value)
    await put(link, minute_key("a", M), "folded|", value)
    await put(link, writers_key("a"), "odd", "no moment")
    await folding.fold()
    clock.tick(DEAD_S + WELL_S)
    await folding.fold()
    assert folding.folded >= 1
    assert [r.counts.judged for r in await counts.minutes("a", M, M) if r.scope == ""] == [4]


@pytest.mark.parametrize(
    "value", ["", "{", "[]", "7", '{"route": 7}', '{"model": "a", "epoch": "x"}', DEEP], ids=range(7)
)
async def test_switches_processes_spending_and_gray_releases_are_read_around_what_is_none(
    link: RedisLink, clock: ManualClock, value: str
) -> None:
    switches, config, gray = RedisSwitches(link), RedisConfig(link, clock), RedisGray(link)
    now_s = clock.now_s()
    put_out = Switch(
        route="chat", mode=SwitchMode.PHRASE_ONLY, until=now_s + 60, actor="op", reason="drill", set_at=now_s
    )
    await switches.put(put_out)
    await put(link, SWITCHES, "other", value)
    assert await switches.load() == [put_out]
    await put(link, SAID, "odd", value)
    assert await config.processes() == []
    await link.ask(lambda client: client.set("{state}:gray:a", value))
    assert await gray.load(["a", "b"]) == {}
    await link.ask(lambda client: client.zadd("{limits}:boots", {"odd": clock.now_s()}))
    await link.ask(lambda client: client.set("{limits}:spend:odd", value))
    assert await RedisSpend(link, clock, "one").exchange({}) == {"odd": {}}
