"""Sends one message to one robot and reads its answer from the body: HTTP 200 alone says nothing.

Raises nothing: whatever goes wrong is a Delivery. The URL is a secret and stands in no detail.
"""

from types import ModuleType
from typing import Any

import httpx

from monitor.alerts import dingtalk, wecom
from monitor.alerts.channel import Channel, Delivery, Message, Result

KINDS: dict[str, ModuleType] = {"wecom": wecom, "dingtalk": dingtalk}
_SHRUNK_BYTES = 1_500


async def deliver(client: httpx.AsyncClient, channel: Channel, message: Message, now_s: float) -> Delivery:
    """Send once; a message that the robot finds too long is cut and sent once more."""
    told = await _send(client, channel, message, now_s, limit_bytes=1_000_000)
    if told.result is Result.SHRINK:
        told = await _send(client, channel, message, now_s, limit_bytes=_SHRUNK_BYTES)
        if told.result is Result.SHRINK:
            return Delivery(result=Result.CONFIG, detail=told.detail)
    return told


async def _send(
    client: httpx.AsyncClient, channel: Channel, message: Message, now_s: float, *, limit_bytes: int
) -> Delivery:
    robot = KINDS[channel.kind]
    url, body = robot.request(channel, message, now_s=now_s, limit_bytes=limit_bytes)
    try:
        answer = await client.post(url, json=body)
    except httpx.HTTPError as error:
        return Delivery(result=Result.RETRY, detail=type(error).__name__)
    except (httpx.InvalidURL, ValueError):
        return Delivery(result=Result.CONFIG, detail="the webhook URL is not valid")
    if answer.status_code == 429:
        return Delivery(result=Result.RATE, detail="HTTP 429", rest_s=robot.REST_S)
    if answer.status_code >= 500:
        return Delivery(result=Result.RETRY, detail=f"HTTP {answer.status_code}")
    return _read(robot, answer)


def _read(robot: ModuleType, answer: httpx.Response) -> Delivery:
    try:
        body: Any = answer.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        return Delivery(result=Result.CONFIG, detail=f"HTTP {answer.status_code}, no JSON object in the answer")
    result: Result = robot.result(body)
    code = body.get("errcode", "?")
    rest_s = robot.REST_S if result is Result.RATE else 0.0
    return Delivery(result=result, detail="" if result is Result.OK else f"errcode {code}", rest_s=rest_s)
