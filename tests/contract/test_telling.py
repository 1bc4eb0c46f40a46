"""From a finding to what people read: desk, notifier, sender and robots together. Scenario rows 51 to 54."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncEngine

from breaker.levels import Level, Reason
from breaker.ports import StoreUnavailable
from breaker.snapshot import Transition
from monitor.alerts.alert import AlertKind, Severity
from monitor.alerts.decide import Group, Notice, Why
from monitor.alerts.removed import Named, end_removed
from monitor.alerts.routing import Rule
from store.memory import MemoryLease
from store.migrate import upgrade
from store.sql_link import open_engine
from store.sql_notices import SqlNotices
from store.sql_transitions import SqlTransitions
from store.tables import alert_outbox, failed_reply
from tests.support.clock import ManualClock
from tests.support.incidents import AT, alert, grave
from tests.support.robots import text_of
from tests.support.telling import newsroom


@pytest.fixture
async def sqlite(tmp_path: Path) -> AsyncIterator[AsyncEngine]:
    url = f"sqlite:///{tmp_path / 'test.db'}"
    await upgrade(url)
    engine = open_engine(url)
    yield engine
    await engine.dispose()


def move(epoch: int, was: Level, to: Level, at: float) -> Transition:
    return Transition(
        model="acme/large", epoch=epoch, at=at, from_level=was, to_level=to, reasons=(Reason.ROLLING_15M,),
        numbers=(("rolling_15m.ratio", 0.31), ("rolling_15m.n", 120.0), ("rolling_15m.line", 0.25)),
    )  # fmt: skip


async def states(engine: AsyncEngine) -> list[str]:
    async with engine.connect() as connection:
        return list((await connection.execute(select(alert_outbox.c.state).order_by(alert_outbox.c.id))).scalars())


async def test_row_51_one_firing_and_one_resolved_with_a_restart_in_between(engine: AsyncEngine) -> None:
    async with newsroom(engine, "wecom") as room:
        log = SqlTransitions(engine)
        await log.append(move(1, Level.HEALTHY, Level.OPEN, AT))
        await room.desk.fire(alert(scene="qa", model="b", subject="b"))
        await room.desk.resolve(alert(scene="qa", model="b", subject="b", at=AT + 10))
        await room.pass_by(30, room.teller("before"))
        after = room.teller("after the restart")
        assert await room.pass_by(60, after) == 0
        await log.append(move(2, Level.OPEN, Level.HEALTHY, AT + 90))
        await room.pass_by(600, after)
        first, last = room.robots.texts("wecom")
    assert "acme/large: L3 open" in first
    assert "31% of 120 replies, line 25%" in first
    assert "healthy again" in last
    assert "Over after 1 min 30 s; worst 31% of 120 replies." in last


async def test_a_model_that_was_taken_out_of_the_settings_ends_its_incidents_and_says_so_once(
    engine: AsyncEngine,
) -> None:
    async with newsroom(engine, "wecom") as room:
        await SqlTransitions(engine).append(move(1, Level.HEALTHY, Level.OPEN, AT))
        await room.desk.fire(alert(AlertKind.HOURLY, subject="b", model="b"))
        teller = room.teller("one")
        await room.pass_by(60, teller)
        named = Named(models=("b",), evaluated=("b",), routes=(), channels=("wecom",), jobs=())
        for _ in range(2):
            await end_removed(SqlNotices(engine), room.desk, named, room.clock)
            await room.pass_by(600, teller)
        texts = room.robots.texts("wecom")
    assert [text for text in texts if "acme/large" in text][1:] == [
        text for text in texts if "removed from the" in text
    ]
    assert len(texts) == 3
    assert [one.model for one in await SqlNotices(engine).waiting()] == ["b"]


async def test_row_52_thirty_scenes_and_a_model_that_is_out_are_one_message(sqlite: AsyncEngine) -> None:
    async with newsroom(sqlite, "wecom") as room:
        for at in range(30):
            await room.desk.fire(alert(scene=f"s{at}"))
        await room.desk.fire(grave())
        await room.pass_by(300, room.teller())
        (text,) = room.robots.texts("wecom")
    assert "30 lesser alerts of this model are held back" in text


async def test_row_53_a_robot_that_times_out_limits_and_shrinks_is_told_in_the_end(sqlite: AsyncEngine) -> None:
    async with newsroom(sqlite, "wecom") as room:
        room.robots.answers["wecom"].extend(["drop", 45009, 40058])
        await room.desk.fire(grave())
        teller = room.teller()
        assert await teller.round() == 0  # dropped: again in 2 s
        assert await room.pass_by(2, teller, 1.0) == 0  # too often: the robot rests 65 s
        assert await room.pass_by(60, teller, 1.0) == 0
        assert room.robots.asked == ["wecom"] * 2
        assert await room.pass_by(6, teller, 1.0) == 1  # too long: cut and sent once more, at once
        assert room.robots.asked == ["wecom"] * 4


async def test_a_rest_uses_up_no_retry(sqlite: AsyncEngine) -> None:
    async with newsroom(sqlite, "wecom") as room:
        room.robots.answers["wecom"].extend([45009] * 5 + ["500"] * 3)
        await room.desk.fire(grave())
        assert await room.pass_by(5 * 70 + 60, room.teller(), 1.0) == 1
        assert await states(sqlite) == ["sent"]


async def test_row_54_two_workers_that_both_own_the_outbox_send_one_message(engine: AsyncEngine) -> None:
    async with newsroom(engine, "wecom", "dingtalk") as room:
        await room.desk.fire(grave())
        tellers = [room.teller(name, MemoryLease(ManualClock())) for name in ("one", "two")]
        for _ in range(10):
            await asyncio.gather(*(teller.round() for teller in tellers))
            await room.clock.advance(1)
        assert room.robots.asked.count("wecom") == 1
        assert room.robots.asked.count("dingtalk") == 1


class AwayLease(MemoryLease):
    """A lease whose store does not answer."""

    async def hold(self, name: str, owner: str, ttl_s: float) -> int | None:
        raise StoreUnavailable("redis gone")


async def test_without_redis_all_go_on_and_still_send_one_message(engine: AsyncEngine) -> None:
    async with newsroom(engine, "wecom") as room:
        await room.desk.fire(grave())
        tellers = [room.teller(name, AwayLease(room.clock)) for name in ("one", "two")]
        for _ in range(5):
            await asyncio.gather(*(teller.round() for teller in tellers))
            await room.clock.advance(1)
        assert room.robots.asked == ["wecom"]


async def test_a_sender_killed_in_the_middle_leaves_the_message_to_the_next(sqlite: AsyncEngine) -> None:
    async with newsroom(sqlite, "wecom") as room:
        await room.desk.fire(grave())
        await room.teller().notifier.once()
        (letter,) = await room.outbox.due(room.clock.now_s())
        assert await room.outbox.claim(letter.id, "killed", room.clock.now_s(), room.clock.now_s() + 20)
        after = room.teller("next")
        assert await room.pass_by(19, after, 1.0) == 0
        assert await room.pass_by(3, after, 1.0) == 1
        # The killed one was only slow: what it still says of the letter counts no more.
        await room.outbox.later([letter.id], "killed", 0.0, "late", failed=True)
        assert await states(sqlite) == ["sent"]


async def test_one_dead_robot_is_stood_in_for_and_told_of_by_the_other(sqlite: AsyncEngine) -> None:
    rules = [Rule(channels=("wecom",))]
    async with newsroom(sqlite, "wecom", "dingtalk", rules=rules) as room:
        room.robots.dead.add("wecom")
        teller = room.teller()
        await room.desk.fire(grave())
        await room.pass_by(120, teller)
        first, second = room.robots.texts("dingtalk")
        assert "a: L3 open" in first
        assert "Alert channel wecom: cannot be used" in second
        assert "http://127" not in second
        await room.desk.fire(grave(model="b", subject="b", at=room.clock.now_s()))
        await room.pass_by(60, teller)
        assert len(room.robots.texts("dingtalk")) == 3  # at once, without three tries at the dead one

        room.robots.dead.clear()
        await room.pass_by(600, teller)
        await room.desk.fire(grave(model="c", subject="c", at=room.clock.now_s()))
        await room.pass_by(400, teller)
        assert "c: L3 open" in room.robots.texts("wecom")[-1]
        assert sum("works again" in text for text in room.robots.texts("dingtalk") + room.robots.texts("wecom")) == 1


async def test_a_refused_key_is_not_retried_and_the_other_channel_says_so(sqlite: AsyncEngine) -> None:
    async with newsroom(sqlite, "wecom", "dingtalk") as room:
        room.robots.answers["wecom"].extend([93000] * 20)
        await room.desk.fire(grave())
        await room.pass_by(120, room.teller())
        assert room.robots.asked.count("wecom") == 1
        told = room.robots.texts("dingtalk")
        assert [("errcode 93000" in text) for text in told] == [False, True]


async def test_the_only_robot_that_is_dead_for_an_hour_tells_it_when_it_is_back(sqlite: AsyncEngine) -> None:
    async with newsroom(sqlite, "wecom") as room:
        room.robots.dead.add("wecom")
        teller = room.teller()
        await room.desk.fire(alert())
        await room.pass_by(3_600, teller, 10.0)
        room.robots.dead.clear()
        await room.pass_by(700, teller, 10.0)
        assert any("scene" in text for text in room.robots.texts("wecom"))


async def test_a_flood_is_some_messages_and_one_digest_and_the_grave_ones_get_through(sqlite: AsyncEngine) -> None:
    async with newsroom(sqlite, "wecom") as room:
        for at in range(30):
            await room.desk.fire(alert(AlertKind.COMPLAINTS, model=f"m{at}", subject=f"m{at}"))
        teller = room.teller()
        await room.clock.advance(30)
        await teller.round()
        texts = room.robots.texts("wecom")
        assert len(texts) == 10
        assert "21 alerts in one message" in texts[-1]
        assert texts[-1].count("users complain") == 21
        for at in range(6):
            await room.desk.fire(grave(model=f"g{at}", subject=f"g{at}", at=room.clock.now_s()))
        await teller.round()
        texts = room.robots.texts("wecom")[10:]
        assert len(texts) == 5
        # All six at once: no model that opened waits a minute for the budget.
        assert [f"g{at}" for at in range(6) if any(f"g{at}" in text for text in texts)] == [f"g{at}" for at in range(6)]
        assert "2 alerts in one message" in texts[-1]
        await room.pass_by(61, teller)
        assert len(room.robots.texts("wecom")) == 15
        assert room.robots.asked.count("wecom") == 15


async def test_a_model_that_opens_is_told_although_more_conditions_stand_than_one_round_looks_at(
    engine: AsyncEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("store.sql_notices.MOST", 6)
    async with newsroom(engine, "wecom") as room:
        teller = room.teller()
        for at in range(12):  # and nobody mends them
            await room.desk.fire(alert(model=f"m{at}", subject=f"m{at}"))
            await room.pass_by(31, teller)
        told = len(room.robots.texts("wecom"))
        assert told == 12  # what is known already does not stand before what is new
        await room.desk.fire(grave(model="late", subject="late", at=room.clock.now_s()))
        await teller.round()
        assert "late" in room.robots.texts("wecom")[told]


async def test_a_long_queue_of_letters_does_not_stand_before_a_grave_one(engine: AsyncEngine) -> None:
    async with newsroom(engine, "wecom") as room:
        for at in range(5):
            await room.desk.fire(alert(model=f"m{at}", subject=f"m{at}"))
        await room.clock.advance(31)
        await room.teller().notifier.once()
        await room.desk.fire(grave(model="late", subject="late", at=room.clock.now_s()))
        await room.teller().notifier.once()
        due = await room.outbox.due(room.clock.now_s(), 3)
        assert [letter.severity for letter in due] == [Severity.CRITICAL, Severity.WARN, Severity.WARN]
        assert due[1].id < due[2].id


async def test_nobody_takes_it_and_the_calls_become_louder(sqlite: AsyncEngine) -> None:
    rules = [Rule(channels=("wecom",))]
    async with newsroom(sqlite, "wecom", "dingtalk", rules=rules) as room:
        await room.desk.fire(grave())
        await room.pass_by(2_400, room.teller(), 30.0)
        wecom, dingtalk = room.robots.messages("wecom"), room.robots.messages("dingtalk")
    assert [body["msgtype"] for body in wecom] == ["markdown", "markdown", "markdown", "text"]
    assert ["<@zhang>" in text_of("wecom", body) for body in wecom[:3]] == [False, True, True]
    assert wecom[3]["text"]["mentioned_list"] == ["@all"]
    assert [body["at"]["isAtAll"] for body in dingtalk] == [False, True]


async def test_alerts_filed_while_no_monitor_ran_are_told_when_one_comes(sqlite: AsyncEngine) -> None:
    async with newsroom(sqlite, "wecom") as room:
        await SqlTransitions(sqlite).append(move(1, Level.HEALTHY, Level.OPEN, AT))
        await room.clock.advance(3_600)
        await room.teller().round()
        assert len(room.robots.messages("wecom")) == 1


async def test_a_message_carries_class_scene_and_one_short_sample_of_the_failed_replies(sqlite: AsyncEngine) -> None:
    async with newsroom(sqlite, "wecom") as room:
        reply = {
            "request_id": "r", "model": "acme/large", "scene": "chat", "fault": "repetition_detected", "rules": [],
            "metrics": {}, "fingerprint": "f", "excerpt": "好的 <@all> `x`\n" * 60,
        }  # fmt: skip
        rows = [{**reply, "id": str(at), "at": AT - 60, "loop_class": "stuck" if at else "garble"} for at in range(3)]
        async with sqlite.begin() as connection:
            await connection.execute(insert(failed_reply), rows)
        await SqlTransitions(sqlite).append(move(1, Level.HEALTHY, Level.OPEN, AT))
        await room.teller().round()
        (text,) = room.robots.texts("wecom")
    assert "Classes: stuck 2, garble 1; scenes: chat 3" in text
    sample = next(line for line in text.splitlines() if "Sample" in line)
    assert sample.count("`") == 2
    assert "<@all>" not in text
    assert len(sample) < 160


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        pytest.param(Reason.STUCK_STREAMS, {"stuck": 1}, id="two minutes"),
        pytest.param(Reason.RATIO_10M, {"stuck": 1, "sentence_loop": 1}, id="ten minutes"),
        pytest.param(Reason.RATIO_30M, {"stuck": 1, "sentence_loop": 1, "garble": 1}, id="thirty minutes"),
        pytest.param(Reason.NIGHTLY, {}, id="a night, whose answers are no live replies"),
        pytest.param(Reason.HARD_FAILURES, {}, id="hard failures, which said nothing"),
    ],
)
async def test_a_move_was_told_with_replies_that_had_nothing_to_do_with_it(
    sqlite: AsyncEngine, reason: Reason, shown: dict[str, int]
) -> None:
    def failed(id: str, at: float, loop_class: str, model: str = "acme/large") -> dict[str, object]:
        return {
            "request_id": id, "id": id, "at": at, "model": model, "scene": "chat", "fault": "repetition_detected",
            "loop_class": loop_class, "rules": [], "metrics": {}, "fingerprint": "f", "excerpt": f"it said {loop_class}",
        }  # fmt: skip

    rows = [
        failed("1", AT - 30, "stuck"),
        failed("2", AT - 500, "sentence_loop"),
        failed("3", AT - 1_500, "garble"),
        failed("4", AT - 3_000, "phrase_loop"),
        failed("5", AT + 5, "format_runaway"),
        failed("6", AT - 10, "restatement", model="acme/other"),
    ]
    async with newsroom(sqlite, "wecom") as room:
        async with sqlite.begin() as connection:
            await connection.execute(insert(failed_reply), rows)
        made = replace(move(1, Level.HEALTHY, Level.OPEN, AT), reasons=(reason,))
        await SqlTransitions(sqlite).append(made)
        await room.teller().notifier.once()
        async with sqlite.connect() as connection:
            (body,) = (await connection.execute(select(alert_outbox.c.body))).scalars()
    assert body["dossier"]["classes"] == shown
    assert bool(body["dossier"]["sample"]) is bool(shown)


async def test_a_letter_that_cannot_be_said_does_not_silence_those_behind_it(sqlite: AsyncEngine) -> None:
    async with newsroom(sqlite, "wecom") as room:
        odd = {
            "alert_id": "odd", "channel": "wecom", "model": "", "kind": "note", "body": {"odd": 1}, "state": "pending",
            "severity": "warn", "created_at": AT, "due_at": AT,
        }  # fmt: skip
        async with sqlite.begin() as connection:
            await connection.execute(insert(alert_outbox), odd)
        await room.desk.fire(grave())
        assert await room.teller().round() == 1
        assert await states(sqlite) == ["failed", "sent"]


async def test_a_channel_that_is_not_configured_any_more_is_stood_in_for(sqlite: AsyncEngine) -> None:
    async with newsroom(sqlite, "wecom", "dingtalk", rules=[Rule(channels=("dingtalk",))]) as room:
        await room.desk.fire(grave())
        await room.teller().notifier.once()
        room.channels = room.channels[:1]
        await room.pass_by(10, room.teller())
        assert len(room.robots.messages("wecom")) == 1


async def test_two_that_decide_at_once_file_one_notice(engine: AsyncEngine) -> None:
    async with newsroom(engine, "wecom") as room:
        await room.desk.fire(alert())
        await room.clock.advance(31)
        tellers = [room.teller(name, MemoryLease(ManualClock())) for name in ("one", "two", "three")]
        filed = await asyncio.gather(*(teller.notifier.once() for teller in tellers))
        assert sum(filed) == 1
        assert len(await room.outbox.due(room.clock.now_s())) == 1


async def test_a_finding_that_comes_while_it_is_told_is_not_lost(engine: AsyncEngine) -> None:
    async with newsroom(engine, "wecom") as room:
        await room.desk.fire(grave())
        waiting = await room.notices.waiting()
        await room.desk.fire(grave(at=AT + 5, facts={"level": "recovering", "ratio": 0.5}))
        notice = Notice(group=Group(key="a|transition"), why=Why.FIRST, at=AT + 6, firing=tuple(waiting))
        assert await room.notices.file(notice, ["wecom"], {})
        assert not await room.notices.file(notice, ["wecom"], {})
        (one,) = await room.notices.waiting()
        assert (one.stage, one.told_stage, one.told_revision, one.revision) == ("recovering", "open", 1, 2)
        assert one.severity is Severity.CRITICAL
