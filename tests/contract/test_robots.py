"""Delivery and the outbox sender against a receiver that answers as the robots do."""

from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from monitor.alerts.channel import Channel, Message, Result
from monitor.alerts.deliver import deliver
from monitor.alerts.sender import AlertSender
from store.memory import MemoryLease
from tests.support.clock import ManualClock
from tests.support.robots import Robots

HELLO = Message(title="t", markdown="hello")


@dataclass
class Row:
    id: int
    alert_id: str
    channel: str
    model: str = "m"
    kind: str = "note"
    body: dict[str, Any] = field(default_factory=lambda: {"text": "hello"})
    tries: int = 0
    state: str = "pending"
    due_at: float = 0.0
    detail: str = ""


class Rows:
    """An outbox in memory; the SQL one is covered by its own contract."""

    def __init__(self, *rows: Row) -> None:
        self.rows = list(rows)

    async def pending(self, now: float, limit: int = 100) -> list[Row]:
        return [row for row in self.rows if row.state == "pending" and row.due_at <= now]

    async def mark(
        self, id: int, state: str, *, at: float | None = None, due_at: float | None = None, detail: str = ""
    ) -> None:
        row = next(row for row in self.rows if row.id == id)
        row.state, row.detail, row.tries = state, detail, row.tries + 1
        row.due_at = due_at if due_at is not None else row.due_at


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        pytest.param(0, Result.OK, id="taken"),
        pytest.param(45009, Result.RATE, id="too often"),
        pytest.param(310000, Result.CONFIG, id="refused under HTTP 200 is not success"),
        pytest.param(-1, Result.RETRY, id="busy"),
        pytest.param("drop", Result.RETRY, id="connection dropped"),
        pytest.param("500", Result.RETRY, id="server error"),
    ],
)
async def test_the_body_decides_what_became_of_a_message(answer: int | str, result: Result) -> None:
    async with Robots() as robots, httpx.AsyncClient() as client:
        robots.answers["wecom"].append(answer)
        told = await deliver(client, Channel(name="w", kind="wecom", url=robots.wecom_url), HELLO, 0.0)
    assert told.result is result
    assert "key=" not in told.detail


async def test_a_message_too_long_is_cut_and_sent_once_more() -> None:
    async with Robots() as robots, httpx.AsyncClient() as client:
        robots.answers["wecom"].append(40058)
        long = Message(title="t", markdown="复读\n" * 900)
        told = await deliver(client, Channel(name="w", kind="wecom", url=robots.wecom_url), long, 0.0)
        (sent,) = robots.messages("wecom")
    assert told.result is Result.OK
    assert len(sent["markdown"]["content"].encode()) <= 1500


async def test_dingtalk_takes_our_signature() -> None:
    import time

    async with Robots(secret="SECtest") as robots, httpx.AsyncClient() as client:
        channel = Channel(name="d", kind="dingtalk", url=robots.dingtalk_url, secret="SECtest")
        told = await deliver(client, channel, HELLO, time.time())
    assert told.result is Result.OK


async def test_each_channel_is_told_once_and_a_broken_one_does_not_stop_the_other() -> None:
    clock = ManualClock(1_000.0)
    async with Robots() as robots, httpx.AsyncClient() as client:
        robots.answers["wecom"].extend([310000])
        rows = Rows(Row(1, "a", "w"), Row(2, "a", "d"))
        channels = [
            Channel(name="w", kind="wecom", url=robots.wecom_url),
            Channel(name="d", kind="dingtalk", url=robots.dingtalk_url),
        ]
        sender = AlertSender(rows, MemoryLease(clock), "one", channels, client, clock)
        assert await sender.once() == 1
        assert await sender.once() == 0
        assert [row.state for row in rows.rows] == ["failed", "sent"]
        assert len(robots.messages("dingtalk")) == 1


async def test_two_senders_share_one_lease_and_send_one_message() -> None:
    clock = ManualClock(1_000.0)
    async with Robots() as robots, httpx.AsyncClient() as client:
        rows, lease = Rows(Row(1, "a", "w")), MemoryLease(clock)
        channels = [Channel(name="w", kind="wecom", url=robots.wecom_url)]
        one, two = (AlertSender(rows, lease, name, channels, client, clock) for name in ("one", "two"))
        assert await one.once() + await two.once() == 1
        assert len(robots.messages("wecom")) == 1


async def test_a_robot_that_says_too_often_rests_and_gets_the_message_later() -> None:
    clock = ManualClock(1_000.0)
    async with Robots() as robots, httpx.AsyncClient() as client:
        robots.answers["wecom"].append(45009)
        rows = Rows(Row(1, "a", "w"))
        channels = [Channel(name="w", kind="wecom", url=robots.wecom_url)]
        sender = AlertSender(rows, MemoryLease(clock), "one", channels, client, clock)
        assert await sender.once() == 0
        await clock.advance(64)
        assert await sender.once() == 0
        await clock.advance(2)
        assert await sender.once() == 1


async def test_a_row_that_cannot_be_said_does_not_silence_the_rows_behind_it() -> None:
    clock = ManualClock(1_000.0)
    async with Robots() as robots, httpx.AsyncClient() as client:
        rows = Rows(Row(1, "odd", "w", kind="transition", body={}), Row(2, "good", "w"))
        channels = [Channel(name="w", kind="wecom", url=robots.wecom_url)]
        sender = AlertSender(rows, MemoryLease(clock), "one", channels, client, clock)
        assert await sender.once() == 1
        assert [row.state for row in rows.rows] == ["failed", "sent"]
