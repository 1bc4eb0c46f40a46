"""WeCom group robot: body, limits and what its error codes mean. Facts: ALERTS.md."""

from typing import Any

from monitor.alerts.channel import Channel, Message, Result
from monitor.alerts.cut import cut

MARKDOWN_BYTES = 4096
REST_S = 65.0  # 20 messages a minute per robot
RESULTS = {
    0: Result.OK,
    -1: Result.RETRY,
    45009: Result.RATE,
    45033: Result.RATE,
    40058: Result.SHRINK,
}


def request(channel: Channel, message: Message, *, now_s: float, limit_bytes: int) -> tuple[str, dict[str, Any]]:
    """Return URL and JSON body. The key is in the URL, so nothing is signed."""
    content = cut(message.markdown, min(limit_bytes, MARKDOWN_BYTES))
    return channel.url, {"msgtype": "markdown", "markdown": {"content": content}}


def result(body: dict[str, Any]) -> Result:
    """Class of the body's errcode; HTTP 200 alone says nothing. 93000 and 40008 and unknown codes are ours to mend."""
    return RESULTS.get(body.get("errcode", "?"), Result.CONFIG)
