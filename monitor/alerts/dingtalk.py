"""DingTalk custom robot: body, signature, limits and what its error codes mean. Facts: ALERTS.md."""

import base64
import hashlib
import hmac
from urllib.parse import quote_plus

from monitor.alerts.channel import (
    Answer,
    Channel,
    Delivery,
    Mention,
    Message,
    Post,
    Result,
    called_by,
    code_in,
    read_code,
    to_json,
)
from monitor.alerts.cut import cut
from monitor.alerts.fit import fitted

BODY_BYTES = 20_000
REST_S = 600.0  # over 20 a minute the robot is muted for ten minutes
RESULTS = {
    0: Result.OK,
    -1: Result.RETRY,
    130101: Result.RATE,
    410100: Result.RATE,
    90030: Result.RATE,
    460101: Result.SHRINK,
    101002: Result.SHRINK,
}


def sign(secret: str, timestamp_ms: int) -> str:
    """URL-encoded base64 of HMAC-SHA256, key `secret`, over `timestamp LF secret`."""
    text = f"{timestamp_ms}\n{secret}".encode()
    return quote_plus(base64.b64encode(hmac.new(secret.encode(), text, hashlib.sha256).digest()))


def post(channel: Channel, message: Message, *, now_s: float, limit_bytes: int) -> Post:
    """Markdown, signed in the URL when the channel has a secret. Who is called must stand in the text as well."""
    url = channel.url
    if channel.secret:
        at = int(now_s * 1000)
        url += f"{'&' if '?' in url else '?'}timestamp={at}&sign={sign(channel.secret, at)}"
    named = message.mention is Mention.ON_CALL
    mobiles, users = (called_by(names) if named else [] for names in (channel.mobiles, channel.users))
    at_whom = {
        "atMobiles": mobiles,
        "atUserIds": users,
        "isAtAll": message.mention is Mention.ALL,
    }
    called = "".join(f" @{one}" for one in (*mobiles, *users))
    tail = f"\n[{message.more}]({message.link})" if message.link else ""

    def build(room: int) -> bytes:
        # A single line end is no line end in DingTalk's Markdown.
        text = cut(message.markdown, room, tail).replace("\n", "\n\n") + (f"\n\n{called.strip()}" if called else "")
        return to_json({"msgtype": "markdown", "markdown": {"title": message.title, "text": text}, "at": at_whom})

    return Post(url=url, content=fitted(build, min(limit_bytes, BODY_BYTES), BODY_BYTES))


def read(answer: Answer) -> Delivery:
    """Class of the body's errcode; 310000, 300005 and unknown codes are ours to mend."""
    return read_code(answer, code_in(answer, "errcode"), RESULTS, "errcode")
