"""DingTalk custom robot: body, signature, limits and what its error codes mean. Facts: ALERTS.md."""

import base64
import hashlib
import hmac
from typing import Any
from urllib.parse import quote_plus

from monitor.alerts.channel import Channel, Message, Result
from monitor.alerts.cut import cut

BODY_BYTES = 20_000
_ENVELOPE_BYTES = 500
REST_S = 600.0  # over 20 a minute the robot is muted for ten minutes
RESULTS = {
    0: Result.OK,
    -1: Result.RETRY,
    130101: Result.RATE,
    90030: Result.RATE,
    460101: Result.SHRINK,
    101002: Result.SHRINK,
}


def sign(secret: str, timestamp_ms: int) -> str:
    """URL-encoded base64 of HMAC-SHA256, key `secret`, over `timestamp LF secret`."""
    text = f"{timestamp_ms}\n{secret}".encode()
    return quote_plus(base64.b64encode(hmac.new(secret.encode(), text, hashlib.sha256).digest()))


def request(channel: Channel, message: Message, *, now_s: float, limit_bytes: int) -> tuple[str, dict[str, Any]]:
    """Return URL (signed when the channel has a secret) and JSON body."""
    url = channel.url
    if channel.secret:
        at = int(now_s * 1000)
        url += f"{'&' if '?' in url else '?'}timestamp={at}&sign={sign(channel.secret, at)}"
    text = cut(message.markdown, min(limit_bytes, BODY_BYTES - _ENVELOPE_BYTES))
    return url, {"msgtype": "markdown", "markdown": {"title": message.title, "text": text}}


def result(body: dict[str, Any]) -> Result:
    """Class of the body's errcode; 310000, 300005 and unknown codes are ours to mend."""
    return RESULTS.get(body.get("errcode", "?"), Result.CONFIG)
