"""A local receiver that answers as the WeCom and DingTalk robots do: HTTP 200 and an error code in the body."""

import asyncio
import json
import time
from collections import deque
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, quote_plus, urlsplit

from monitor.alerts.dingtalk import sign


class Robots:
    """`wecom_url`, `dingtalk_url`; `answers[kind]` are error codes (or "drop", "500") used up before 0."""

    def __init__(self, secret: str = "") -> None:
        self.secret = secret
        self.received: list[tuple[str, dict[str, Any]]] = []
        self.answers: dict[str, deque[int | str]] = {"wecom": deque(), "dingtalk": deque()}

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.wecom_url = f"http://127.0.0.1:{port}/cgi-bin/webhook/send?key=k"
        self.dingtalk_url = f"http://127.0.0.1:{port}/robot/send?access_token=t"
        return self

    async def __aexit__(self, _type: type | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        self._server.close()

    def messages(self, kind: str) -> list[dict[str, Any]]:
        return [body for name, body in self.received if name == kind]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            size = next(int(line[15:]) for line in head.lower().split("\r\n") if line.startswith("content-length:"))
            body = json.loads(await reader.readexactly(size))
            target = urlsplit(head.split(" ")[1])
            kind = "wecom" if "webhook" in target.path else "dingtalk"
            code = self.answers[kind].popleft() if self.answers[kind] else self._judge(kind, target.query, body)
            if code == "drop":
                return
            if code == 0:
                self.received.append((kind, body))
            status = "500 Internal Server Error" if code == "500" else "200 OK"
            text = json.dumps({"errcode": code, "errmsg": "ok" if code == 0 else "refused"}).encode()
            writer.write(
                f"HTTP/1.1 {status}\r\ncontent-length: {len(text)}\r\nconnection: close\r\n\r\n".encode() + text
            )
            await writer.drain()
        finally:
            writer.close()

    def _judge(self, kind: str, query: str, body: dict[str, Any]) -> int:
        if kind == "wecom":
            return 40058 if len(body["markdown"]["content"].encode()) > 4096 else 0
        if not self.secret:
            return 0
        fields = parse_qs(query)
        at = int(fields["timestamp"][0])
        fresh = abs(at / 1000 - time.time()) < 3600
        return 0 if fresh and quote_plus(fields["sign"][0]) == sign(self.secret, at) else 310000
