"""Feishu (Lark) custom bot: card, signature, limits and what its error codes mean. Facts: ALERTS.md."""

import base64
import hashlib
import hmac
import re
from typing import Any

from monitor.alerts.alert import Severity
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
    with_words,
)
from monitor.alerts.cut import cut
from monitor.alerts.fit import fitted

BODY_BYTES = 20 * 1024
REST_S = 65.0  # 100 a minute, 5 a second
COLOURS = {Severity.CRITICAL: "red", Severity.WARN: "orange", Severity.INFO: "blue"}
RESULTS = {0: Result.OK, -1: Result.RETRY, 11232: Result.RATE}
AMBIGUOUS = 9499
"""Said of a bad body and of too many requests alike; only the words beside it part the two."""


def sign(secret: str, timestamp_s: int) -> str:
    """Base64 of HMAC-SHA256 whose *key* is `timestamp LF secret` and whose message is empty."""
    key = f"{timestamp_s}\n{secret}".encode()
    return base64.b64encode(hmac.new(key, b"", hashlib.sha256).digest()).decode()


def post(channel: Channel, message: Message, *, now_s: float, limit_bytes: int) -> Post:
    """An interactive card, its header coloured by severity; signed in the body when the channel has a secret."""
    called = _called(channel, message.mention)

    def build(room: int) -> bytes:
        # The title stands in the card's header, and its Markdown knows no quotes.
        rest = message.markdown.partition("\n")[2] or message.markdown
        text = re.sub(r"^> ?", "", cut(rest, room), flags=re.MULTILINE)
        return to_json(_card(message, f"{text}\n{called}" if called else text) | _signed(channel.secret, int(now_s)))

    return Post(url=channel.url, content=fitted(build, min(limit_bytes, BODY_BYTES), BODY_BYTES))


def _card(message: Message, text: str) -> dict[str, Any]:
    elements: list[dict[str, Any]] = [{"tag": "markdown", "content": text}]
    if message.link:
        button = {"tag": "button", "type": "primary", "url": message.link}
        elements.append(
            {"tag": "action", "actions": [{**button, "text": {"tag": "plain_text", "content": message.more}}]}
        )
    header = {"template": COLOURS[message.severity], "title": {"tag": "plain_text", "content": message.title}}
    card = {"config": {"wide_screen_mode": True}, "header": header, "elements": elements}
    return {"msg_type": "interactive", "card": card}


def _signed(secret: str, at: int) -> dict[str, str]:
    return {"timestamp": str(at), "sign": sign(secret, at)} if secret else {}


def _called(channel: Channel, mention: Mention) -> str:
    if mention is Mention.ALL:
        return "<at id=all></at>"
    return "".join(f"<at id={user}></at>" for user in called_by(channel.users)) if mention is Mention.ON_CALL else ""


def read(answer: Answer) -> Delivery:
    """Class of the body's code; 19021 (signature or clock), 19022, 19024 and unknown codes are ours to mend."""
    code = code_in(answer, "code", "StatusCode")
    if code == AMBIGUOUS and "too many" in str(answer.body.get("msg", "")).casefold():
        return Delivery(result=Result.RATE, detail=with_words(f"code {code}", answer))
    return read_code(answer, code, RESULTS, "code")
