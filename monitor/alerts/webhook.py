"""Generic webhook: the notice as JSON, signed by a header if the channel has a secret.

`x-pointsman-signature: sha256=HEX` is HMAC-SHA256, key `secret`, over `TIMESTAMP.BODY`; the timestamp (seconds) stands in
`x-pointsman-timestamp`, so that a receiver can refuse what is old.
"""

import hashlib
import hmac
from typing import Any

from monitor.alerts.channel import Answer, Channel, Delivery, Message, Post, Result, to_json
from monitor.alerts.cut import cut

REST_S = 65.0
MARKDOWN_BYTES = 20_000
VERSION = 1


def sign(secret: str, timestamp_s: int, body: bytes) -> str:
    """Hex of HMAC-SHA256, key `secret`, over `timestamp.body`."""
    return hmac.new(secret.encode(), f"{timestamp_s}.".encode() + body, hashlib.sha256).hexdigest()


def post(channel: Channel, message: Message, *, now_s: float, limit_bytes: int) -> Post:
    """`notice` is what was decided, field by field; it is left out where the receiver found the whole too long."""
    body: dict[str, Any] = {
        "version": VERSION,
        "title": message.title,
        "markdown": cut(message.markdown, min(limit_bytes, MARKDOWN_BYTES)),
        "severity": message.severity.value,
        "mention": message.mention.value,
        "link": message.link,
    }
    if limit_bytes > MARKDOWN_BYTES:
        body["notice"] = dict(message.data)
    content, headers = to_json(body), {"content-type": "application/json"}
    if channel.secret:
        at = int(now_s)
        signature = f"sha256={sign(channel.secret, at, content)}"
        headers |= {"x-pointsman-timestamp": str(at), "x-pointsman-signature": signature}
    return Post(url=channel.url, content=content, headers=headers)


def read(answer: Answer) -> Delivery:
    """Any 2xx is taken for "got it"; a 408 may be tried again, every other 4xx is ours to mend."""
    if 200 <= answer.status < 300:
        return Delivery(result=Result.OK)
    result = Result.RETRY if answer.status == 408 else Result.CONFIG
    return Delivery(result=result, detail=f"HTTP {answer.status}")
