"""Sends one message to one robot and reads its answer from the body: HTTP 200 alone says nothing.

Raises nothing: whatever goes wrong is a Delivery. The URL is a secret and stands in no detail.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

import httpx

from monitor.alerts import dingtalk, feishu, slack, webhook, wecom
from monitor.alerts.channel import Answer, Channel, Delivery, Message, Post, Result

WHOLE_BYTES = 1_000_000
SHRUNK_BYTES = 1_500
MOST_REST_S = 3_600.0
MOST_ANSWER_CHARS = 10_000


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
        answer = await client.post(post.url, content=post.content, headers=dict(post.headers))
    except httpx.HTTPError as error:
        return Delivery(result=Result.RETRY, detail=type(error).__name__)
    except (httpx.InvalidURL, ValueError):
        return Delivery(result=Result.CONFIG, detail="the webhook URL is not valid")
    if answer.status_code == 429:
        return Delivery(result=Result.RATE, detail="HTTP 429", rest_s=_retry_after(answer) or robot.REST_S)
    if answer.status_code == 413:
        return Delivery(result=Result.SHRINK, detail="HTTP 413")
    if answer.status_code >= 500:
        return Delivery(result=Result.RETRY, detail=f"HTTP {answer.status_code}")
    said = robot.read(_answer(answer))
    return replace(said, rest_s=robot.REST_S) if said.result is Result.RATE and not said.rest_s else said


def _answer(answer: httpx.Response) -> Answer:
    try:
        body: Any = answer.json()
    except ValueError:
        body = None
    text = answer.text[:MOST_ANSWER_CHARS]
    return Answer(status=answer.status_code, text=text, body=body if isinstance(body, dict) else {})


def _retry_after(answer: httpx.Response) -> float:
    """Seconds, if it says so in seconds; 0.0 otherwise (a date is left to the robot's own rest)."""
    said = answer.headers.get("retry-after", "").strip()
    return min(float(said), MOST_REST_S) if said.isascii() and said.isdigit() else 0.0
