"""A local receiver that behaves like the group robots do: HTTP 200 and an error code in the body, limits, mutes, signatures.

Facts: docs/alerts.md. It checks signatures with an HMAC of its own, so that a mistake in ours is not agreed with.
`async with Robots() as robots:` then `robots.url("wecom")`; `robots.messages("wecom")` are the bodies it took.
"""

import asyncio
import base64
import contextlib
import hashlib
import json
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

PATHS = {
    "wecom": "/cgi-bin/webhook/send?key=k",
    "dingtalk": "/robot/send?access_token=t",
    "feishu": "/open-apis/bot/v2/hook/h",
    "slack": "/services/T0/B0/x",
    "webhook": "/hook",
}
WECOM_BYTES = {"text": 2048, "markdown": 4096, "markdown_v2": 4096}
DINGTALK_BYTES = 20_000
FEISHU_BYTES = 20 * 1024
MINUTE_S = 60.0
MUTE_S = 600.0
PER_MINUTE = {"wecom": 20, "dingtalk": 20, "feishu": 100}
FEISHU_PER_SECOND = 5
FRESH_S = 3_600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A robot's answer. `code` 0 is "taken"."""

    code: int | str = 0
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


class Robots:
    """`secret`: what DingTalk, Feishu and the webhook want to see signed with; "": nothing.

    `answers[kind]` are used up first: an error code of that robot, `"500"`, `"drop"` for a connection that breaks,
    `"hang"` for one that is never answered. `dead`: kinds that break every connection.
    """

    def __init__(
        self,
        secret: str = "",
        now_s: Callable[[], float] = time.time,
        tell: Callable[[str, str], None] = lambda _kind, _text: None,
    ) -> None:
        """`tell` is called with kind and text of each message that is taken."""
        self.secret, self._now_s, self.tell = secret, now_s, tell
        self.received: list[tuple[str, dict[str, Any]]] = []
        self.asked: list[str] = []
        self.answers: dict[str, deque[int | str]] = defaultdict(deque)
        self.dead: set[str] = set()
        self._taken_at: dict[str, deque[float]] = defaultdict(deque)
        self._muted_until = 0.0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, _type: type | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        self._server.close()

    def url(self, kind: str, name: str = "") -> str:
        """`name` tells several robots of one kind apart for whoever configures them; they share one fate."""
        path = PATHS[kind]
        return f"http://127.0.0.1:{self._port}{path}{('&' if '?' in path else '?') + 'name=' + name if name else ''}"

    def messages(self, kind: str) -> list[dict[str, Any]]:
        return [body for name, body in self.received if name == kind]

    def texts(self, kind: str) -> list[str]:
        """What people would read."""
        return [text_of(kind, body) for body in self.messages(kind)]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
            headers = {name.lower(): value for name, value in fields.items()}
            raw = await reader.readexactly(int(headers.get("content-length", 0)))
            target = urlsplit(head.split(" ")[1])
            kind = next(k for k, path in PATHS.items() if urlsplit(path).path == target.path)
            self.asked.append(kind)
            if self.answers[kind] and self.answers[kind][0] == "hang":
                self.answers[kind].popleft()
                await reader.read()  # until the other side gives up
            said = self._judge(kind, parse_qs(target.query), headers, raw) if not reader.at_eof() else None
            if said is not None:
                writer.write(_answer(kind, said))
                await writer.drain()
        writer.close()

    def _judge(self, kind: str, query: Mapping[str, list[str]], headers: Mapping[str, str], raw: bytes) -> Said | None:
        scripted = self.answers[kind].popleft() if self.answers[kind] else None
        if scripted == "drop" or kind in self.dead:
            return None
        if scripted == "500":
            return Said(code="server error", status=500)
        if scripted is not None and scripted != 0:
            return Said(code=scripted)
        try:
            body = json.loads(raw)
        except ValueError:
            return _REFUSED_BODY[kind]
        wrong = (
            self._too_often(kind)
            or _too_long(kind, body, raw)
            or (_unsigned(kind, self.secret, self._now_s(), query, headers, body, raw) if self.secret else None)
        )
        if wrong is not None:
            return wrong
        self._taken_at[kind].append(self._now_s())
        self.received.append((kind, body))
        self.tell(kind, text_of(kind, body))
        return Said()

    def _too_often(self, kind: str) -> Said | None:
        now_s, taken = self._now_s(), self._taken_at[kind]
        while taken and taken[0] <= now_s - MINUTE_S:
            taken.popleft()
        if kind == "slack" and taken and taken[-1] > now_s - 1.0:
            return Said(code="rate_limited", status=429, headers={"retry-after": "1"})
        if kind == "dingtalk" and now_s < self._muted_until:
            return Said(code=130101)
        if kind == "feishu" and sum(1 for at in taken if at > now_s - 1.0) >= FEISHU_PER_SECOND:
            return Said(code=11232)
        if len(taken) < PER_MINUTE.get(kind, 1_000_000):
            return None
        if kind == "dingtalk":
            self._muted_until = now_s + MUTE_S
        return Said(code={"wecom": 45009, "dingtalk": 130101, "feishu": 11232}[kind])


_REFUSED_BODY = {
    "wecom": Said(code=40008),
    "dingtalk": Said(code=400101),
    "feishu": Said(code=9499),
    "slack": Said(code="invalid_payload", status=400),
    "webhook": Said(code="not JSON", status=400),
}


def text_of(kind: str, body: Mapping[str, Any]) -> str:
    """The text of one message as its robot shows it."""
    match kind:
        case "wecom":
            return str(body[body["msgtype"]]["content"])
        case "dingtalk":
            return str(body["markdown"]["text"])
        case "feishu":
            card = body["card"]
            return f"{card['header']['title']['content']}\n{card['elements'][0]['content']}"
        case "slack":
            return str(body["text"])
        case _:
            return str(body["markdown"])


def _too_long(kind: str, body: Mapping[str, Any], raw: bytes) -> Said | None:
    if kind == "wecom":
        form = body.get("msgtype", "")
        if form not in WECOM_BYTES:
            return Said(code=40008)
        return Said(code=40058) if len(body[form]["content"].encode()) > WECOM_BYTES[form] else None
    if kind == "dingtalk" and len(raw) > DINGTALK_BYTES:
        return Said(code=460101)
    return Said(code=9499) if kind == "feishu" and len(raw) > FEISHU_BYTES else None


def _unsigned(
    kind: str,
    secret: str,
    now_s: float,
    query: Mapping[str, list[str]],
    headers: Mapping[str, str],
    body: Mapping[str, Any],
    raw: bytes,
) -> Said | None:
    match kind:
        case "dingtalk":
            at, given = query.get("timestamp", ["0"])[0], query.get("sign", [""])[0]
            good = base64.b64encode(hmac_sha256(secret.encode(), f"{at}\n{secret}".encode())).decode()
            return None if given == good and abs(int(at) / 1000 - now_s) < FRESH_S else Said(code=310000)
        case "feishu":
            at, given = str(body.get("timestamp", "0")), body.get("sign", "")
            good = base64.b64encode(hmac_sha256(f"{at}\n{secret}".encode(), b"")).decode()
            return None if given == good and abs(int(at) - now_s) < FRESH_S else Said(code=19021)
        case "webhook":
            at, given = headers.get("x-pointsman-timestamp", "0"), headers.get("x-pointsman-signature", "")
            good = "sha256=" + hmac_sha256(secret.encode(), at.encode() + b"." + raw).hex()
            return None if given == good and abs(int(at) - now_s) < FRESH_S else Said(code="bad signature", status=401)
        case _:
            return None


def hmac_sha256(key: bytes, message: bytes) -> bytes:
    """RFC 2104 spelled out."""
    block = 64
    key = hashlib.sha256(key).digest() if len(key) > block else key
    key = key.ljust(block, b"\0")
    inner = hashlib.sha256(bytes(b ^ 0x36 for b in key) + message).digest()
    return hashlib.sha256(bytes(b ^ 0x5C for b in key) + inner).digest()


def _answer(kind: str, said: Said) -> bytes:
    if kind == "slack":
        text = "ok" if said.code == 0 else str(said.code)
    elif kind == "feishu":
        words = {0: "success", 11232: "frequency limited", 9499: "Bad Request"}
        text = json.dumps({"code": said.code, "msg": words.get(int(said.code), "refused"), "data": {}})
    else:
        text = json.dumps({"errcode": said.code, "errmsg": "ok" if said.code == 0 else "refused"})
    raw, extra = text.encode(), "".join(f"{name}: {value}\r\n" for name, value in said.headers.items())
    head = f"HTTP/1.1 {said.status} X\r\ncontent-length: {len(raw)}\r\nconnection: close\r\n{extra}\r\n"
    return head.encode() + raw
