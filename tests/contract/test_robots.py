"""Delivery against a receiver that answers as each robot does: codes, limits, mutes, signatures."""

import asyncio
import contextlib
import time

import httpx
import pytest

from monitor.alerts.channel import Channel, ChannelKind, Delivery, Message, Result
from monitor.alerts.deliver import deliver
from tests.support.clock import ManualClock
from tests.support.robots import Robots, hmac_sha256

HELLO = Message(title="t", markdown="**t**\nhello")
ALL: tuple[ChannelKind, ...] = ("wecom", "dingtalk", "feishu", "slack", "webhook")


async def tell(
    robots: Robots, kind: ChannelKind, message: Message = HELLO, *, at: float = 0.0, secret: str = ""
) -> Delivery:
    async with httpx.AsyncClient() as client:
        return await deliver(client, Channel(name="c", kind=kind, url=robots.url(kind), secret=secret), message, at)


@pytest.mark.parametrize("kind", ALL)
async def test_each_robot_takes_our_message(kind: ChannelKind) -> None:
    async with Robots() as robots:
        assert (await tell(robots, kind)).result is Result.OK
        assert "hello" in robots.texts(kind)[0]


@pytest.mark.parametrize(
    ("kind", "answer", "result"),
    [
        pytest.param("wecom", 45009, Result.RATE, id="too often"),
        pytest.param("wecom", 93000, Result.CONFIG, id="refused under HTTP 200 is not success"),
        pytest.param("wecom", -1, Result.RETRY, id="busy"),
        pytest.param("wecom", "drop", Result.RETRY, id="connection dropped"),
        pytest.param("wecom", "500", Result.RETRY, id="server error"),
        pytest.param("feishu", 11232, Result.RATE, id="feishu too often"),
        pytest.param("slack", "500", Result.RETRY, id="slack server error"),
    ],
)
async def test_the_body_decides_what_became_of_a_message(kind: ChannelKind, answer: int | str, result: Result) -> None:
    async with Robots() as robots:
        robots.answers[kind].append(answer)
        said = await tell(robots, kind)
    assert said.result is result
    assert "key=" not in said.detail


@pytest.mark.parametrize("kind", ["dingtalk", "feishu", "webhook"])
async def test_a_robot_that_checks_signatures_takes_ours_and_refuses_others(kind: ChannelKind) -> None:
    async with Robots(secret="SECtest") as robots:
        assert (await tell(robots, kind, at=time.time(), secret="SECtest")).result is Result.OK
        assert (await tell(robots, kind, at=time.time(), secret="SECother")).result is Result.CONFIG
        assert (await tell(robots, kind, at=time.time() - 4_000, secret="SECtest")).result is Result.CONFIG
        assert len(robots.messages(kind)) == 1


def test_the_receiver_s_own_hmac_is_the_published_one() -> None:
    # RFC 4231, test case 2.
    assert hmac_sha256(b"Jefe", b"what do ya want for nothing?").hex() == (
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    )


async def test_a_message_too_long_is_cut_and_sent_once_more() -> None:
    async with Robots() as robots:
        robots.answers["wecom"].append(40058)
        said = await tell(robots, "wecom", Message(title="t", markdown="复读\n" * 900, link="http://c/1", more="全文"))
        (text,) = robots.texts("wecom")
    assert (said.result, said.posts) == (Result.OK, 2)
    assert len(text.encode()) <= 1500
    assert text.endswith("[全文](http://c/1)")


async def test_a_message_that_no_cut_makes_short_enough_is_not_sent_for_ever() -> None:
    async with Robots() as robots:
        robots.answers["wecom"].extend([40058, 40058])
        assert (await tell(robots, "wecom")).result is Result.CONFIG
        assert robots.asked == ["wecom", "wecom"]


async def test_slack_says_how_long_to_wait() -> None:
    clock = ManualClock()
    async with Robots(now_s=clock.now_s) as robots:
        assert (await tell(robots, "slack")).result is Result.OK
        said = await tell(robots, "slack")
    assert (said.result, said.rest_s) == (Result.RATE, 1.0)


async def test_dingtalk_mutes_for_ten_minutes_after_twenty_in_one() -> None:
    clock = ManualClock()
    async with Robots(now_s=clock.now_s) as robots:
        for _ in range(20):
            assert (await tell(robots, "dingtalk")).result is Result.OK
        said = await tell(robots, "dingtalk")
        assert (said.result, said.rest_s) == (Result.RATE, 600.0)
        await clock.advance(599)
        assert (await tell(robots, "dingtalk")).result is Result.RATE
        await clock.advance(2)
        assert (await tell(robots, "dingtalk")).result is Result.OK


@pytest.mark.parametrize(
    "url", ["http://[", "http://127.0.0.1:1/hook", "http://a b/"], ids=["no address", "nobody there", "a blank"]
)
async def test_a_wrong_address_is_an_answer_and_no_error(url: str) -> None:
    async with httpx.AsyncClient() as client:
        said = await deliver(client, Channel(name="c", kind="webhook", url=url), HELLO, 0.0)
    assert said.result in (Result.CONFIG, Result.RETRY)
    assert url not in said.detail


@pytest.mark.parametrize(
    ("status", "headers", "result", "rest_s"),
    [
        (302, {"location": "http://elsewhere/"}, Result.CONFIG, 0.0),
        (413, {}, Result.CONFIG, 0.0),
        (429, {"retry-after": "7"}, Result.RATE, 7.0),
        (429, {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, Result.RATE, 65.0),
        (429, {"retry-after": "99999999"}, Result.RATE, 3_600.0),
        (408, {}, Result.RETRY, 0.0),
        (204, {}, Result.OK, 0.0),
    ],
)
async def test_a_webhook_s_status_is_read(status: int, headers: dict[str, str], result: Result, rest_s: float) -> None:
    transport = httpx.MockTransport(lambda _request: httpx.Response(status, headers=headers))
    async with httpx.AsyncClient(transport=transport) as client:
        said = await deliver(client, Channel(name="c", kind="webhook", url="http://h/"), HELLO, 0.0)
    assert (said.result, said.rest_s) == (result, rest_s)


@pytest.mark.parametrize("kind", ["wecom", "dingtalk", "feishu"])
@pytest.mark.parametrize(
    "body",
    [b"", b"ok", b"[]", b"null", b"[" * 200_000, b'{"errcode":' * 20_000, b"\xff\xfe\x00", b"0" * 3_000_000],
    ids=["nothing", "no JSON", "a list", "null", "nested without end", "objects without end", "no text", "megabytes"],
)
async def test_an_odd_answer_of_a_robot_is_a_refusal_and_stops_nobody_else_s_messages(
    kind: ChannelKind, body: bytes
) -> None:
    transport = httpx.MockTransport(lambda _request: httpx.Response(200, content=body))
    async with httpx.AsyncClient(transport=transport) as client:
        said = await deliver(client, Channel(name="c", kind=kind, url="http://h/"), HELLO, 0.0)
    assert said.result is Result.CONFIG
    assert len(said.detail) < 40


async def test_a_robot_that_drips_its_answer_for_ever_does_not_hold_up_the_messages_behind_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("monitor.alerts.deliver.ANSWER_S", 0.2)

    hung_up = asyncio.Event()

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                await reader.readuntil(b"\r\n\r\n")
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n")
                while not writer.is_closing():
                    writer.write(b" ")
                    await writer.drain()
                    await asyncio.sleep(0.01)
        finally:
            writer.close()
            hung_up.set()

    async with await asyncio.start_server(drip, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with httpx.AsyncClient() as client:
            said = await deliver(client, Channel(name="c", kind="wecom", url=f"http://127.0.0.1:{port}/"), HELLO, 0.0)
        await hung_up.wait()  # else the robot's end of the connection is left open, and another test is blamed for it
    assert (said.result, said.detail) == (Result.RETRY, "TimeoutError")
