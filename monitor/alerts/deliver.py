"""Sends one message to one robot and reads its answer from the body: HTTP 200 alone says nothing.

Raises nothing: whatever goes wrong is a Delivery. The URL is a secret and stands in no detail.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

import httpx

from monitor.alerts import dingtalk, feishu, slack, webhook, wecom
from monitor.alerts.channel import Answer, Channel, Delivery, Message, Post, Result

WHOLE_BYTES = 1_000_000
SHRUNK_BYTES = 1_500
KEY_CHARS = 8
"""A shorter part of an address is no key."""
MOST_REST_S = 3_600.0
MOST_ANSWER_BYTES = 65_536
"""What is read of an answer: the robots say a line. What stands beyond it is not looked at."""
ANSWER_S = 8.0
"""One post in all, in real seconds: a robot that drips its answer must not hold up the messages behind it."""


class RobotKind(Protocol):
    """A module that knows one vendor's robot."""

    REST_S: float

    def post(self, channel: Channel, message: Message, *, now_s: float, limit_bytes: int) -> Post: ...
    def read(self, answer: Answer) -> Delivery: ...


KINDS: Mapping[str, RobotKind] = {
    "wecom": wecom,
    "dingtalk": dingtalk,
    "feishu": feishu,
    "slack": slack,
    "webhook": webhook,
}


async def deliver(client: httpx.AsyncClient, channel: Channel, message: Message, now_s: float) -> Delivery:
    """Send once; a message that the robot finds too long is cut and sent once more."""
    said = await _send(client, channel, message, now_s, limit_bytes=WHOLE_BYTES)
    if said.result is Result.SHRINK:
        said = replace(await _send(client, channel, message, now_s, limit_bytes=SHRUNK_BYTES), posts=2)
        if said.result is Result.SHRINK:
            return replace(said, result=Result.CONFIG)
    return said


async def _send(
    client: httpx.AsyncClient, channel: Channel, message: Message, now_s: float, *, limit_bytes: int
) -> Delivery:
    robot = KINDS[channel.kind]
    try:
        post = robot.post(channel, message, now_s=now_s, limit_bytes=limit_bytes)
        async with asyncio.timeout(ANSWER_S):
            answer, raw = await _asked(client, post)
    except (httpx.HTTPError, TimeoutError) as error:
        return Delivery(result=Result.RETRY, detail=type(error).__name__)
    except (httpx.InvalidURL, ValueError):
        return Delivery(result=Result.CONFIG, detail="the webhook URL is not valid")
    if answer.status_code == 429:
        return Delivery(result=Result.RATE, detail="HTTP 429", rest_s=_retry_after(answer) or robot.REST_S)
    if answer.status_code == 413:
        return Delivery(result=Result.SHRINK, detail="HTTP 413")
    if answer.status_code >= 500:
        return Delivery(result=Result.RETRY, detail=f"HTTP {answer.status_code}")
    said = robot.read(_answer(answer.status_code, raw))
    said = replace(said, detail=_without_key(said.detail, post.url))
    return replace(said, rest_s=robot.REST_S) if said.result is Result.RATE and not said.rest_s else said


async def _asked(client: httpx.AsyncClient, post: Post) -> tuple[httpx.Response, bytes]:
    """The answer, and its body as far as it is looked at."""
    raw = b""
    async with client.stream("POST", post.url, content=post.content, headers=dict(post.headers)) as answer:
        async for piece in answer.aiter_bytes():
            raw += piece
            if len(raw) >= MOST_ANSWER_BYTES:
                break
    return answer, raw[:MOST_ANSWER_BYTES]


def _without_key(detail: str, url: str) -> str:
    """A robot may repeat the key that it refuses: what the address holds beside the host is not told."""
    parts = urlsplit(url)
    told = [*parts.path.split("/"), *(value for values in parse_qs(parts.query).values() for value in values)]
    for secret in sorted(filter(lambda part: len(part) >= KEY_CHARS, told), key=len, reverse=True):
        detail = detail.replace(secret, "…")
    return detail


def _answer(status: int, raw: bytes) -> Answer:
    try:
        body: Any = json.loads(raw)
    except (ValueError, RecursionError):  # none, not JSON, or nested without end
        body = None
    return Answer(status=status, text=raw.decode("utf-8", "replace"), body=body if isinstance(body, dict) else {})


def _retry_after(answer: httpx.Response) -> float:
    """Seconds, if it says so in seconds; 0.0 otherwise (a date is left to the robot's own rest)."""
    said = answer.headers.get("retry-after", "").strip()
    return min(float(said), MOST_REST_S) if said.isascii() and said.isdigit() else 0.0
