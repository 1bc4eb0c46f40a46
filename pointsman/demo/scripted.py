"""An OpenAI-compatible upstream that behaves, or misbehaves, as it is told: for the demo and for tests.

Acts: serves HTTP on 127.0.0.1. What one request meets is chosen by, in this order: header `x-script: NAME`; `[[NAME]]` in the
last user message; model `script-NAME`; a schedule set by `POST /script {"model": M, "behaviour": NAME, "share": 0..1}`; else healthy.
In a process: `async with ScriptedUpstream() as up: up.base_url`. Alone: `python -m pointsman.demo.scripted --port 0`.
"""

import argparse
import asyncio
import json
import re
from collections.abc import Iterator
from random import Random
from typing import Any

from base.cancels import end
from pointsman.demo.texts import LOOPS, deltas, healthy, loop, sentence

BEHAVIOURS = frozenset(LOOPS) | {
    "healthy", "recover", "empty", "choices_empty", "slow", "hang", "500", "429", "401", "400", "context",
    "cut", "garbage", "error_in_stream", "keepalive_only", "tools", "refusal", "repetition_finish",
    "reasoning_length", "reasoning_loop", "stall", "json",
}  # fmt: skip
KNOWN = ", ".join(sorted(BEHAVIOURS))
HOW = (
    'Tell it what to do by the header "x-script: NAME", by [[NAME]] in the last message, by the model script-NAME, or for a '
    'share of a model\'s replies by POST /script {"model": "m", "behaviour": "NAME", "share": 0.3}. '
    f"Names: {KNOWN}."
)
MARK = re.compile(r"\[\[([\w-]+)\]\]")
CJK = re.compile(r"[\u4e00-\u9fff]")
JSON_REPLY = '{"city": "Oslo", "degrees": 4}'
REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    429: "Too Many Requests",
    500: "Internal Server Error",
}


class ScriptedUpstream:
    """The server. `requests` holds the bodies seen, `open_streams` counts streams now running, `gone` those whose reader left."""

    def __init__(self, *, port: int = 0, seed: int = 7, delay_s: float = 0.0, model: str = "scripted") -> None:
        self.requests: list[dict[str, Any]] = []
        self.open_streams = 0
        self.gone = 0
        self.schedule: dict[str, tuple[str, float]] = {}
        self.delay_s = delay_s
        self._rng = Random(seed)
        self._port = port
        self._model = model
        self._server: asyncio.Server | None = None
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._closed = False

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def base_url(self) -> str:
        """Ends before `/chat/completions`, as an endpoint's does."""
        return f"http://127.0.0.1:{self.port}/v1"

    def set(self, model: str, behaviour: str, share: float = 1.0) -> None:
        """From now on `share` of this model's requests (`*`: every model's) meet `behaviour`."""
        if behaviour not in BEHAVIOURS:
            raise ValueError(f"no behaviour {behaviour!r}; known: {KNOWN}")
        if not 0 <= share <= 1:
            raise ValueError(f"share must lie between 0 and 1, not {share:g}")
        self.schedule[model] = (behaviour, share)

    async def __aenter__(self) -> "ScriptedUpstream":
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._closed = True
        self._server.close()
        left = dict(self._open)
        await end(left)
        for writer in left.values():
            # Of a task that had not begun nobody closed it, and what nobody reads any more would keep it open.
            writer.transport.abort()
        await asyncio.sleep(0)  # in this turn they are let go, and who waited at the door comes in

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._closed:
            writer.transport.abort()
            return
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._open[task] = writer
        task.add_done_callback(self._open.pop)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lines = head.decode("latin-1").split("\r\n")
                headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:] if line)}
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                if not await self._answer(lines[0], headers, body, reader, writer):
                    return
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    async def _answer(
        self,
        line: str,
        headers: dict[str, str],
        raw: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        """Answer one request; False closes the connection."""
        method, path, _ = line.split(" ", 2)
        if method == "GET":
            models = {"object": "list", "data": [{"id": self._model, "object": "model"}]}
            return _reply(writer, 200, models if path.endswith("/models") else {"status": "ok"})
        try:
            body = json.loads(raw)
        except ValueError:
            return _reply(writer, 400, _error("bad json", "invalid_request_error"))
        if path == "/script":
            return self._set_by_http(body, writer)
        self.requests.append(body)
        if path.endswith("/embeddings"):
            vector = [self._rng.uniform(-1, 1) for _ in range(8)]
            return _reply(
                writer,
                200,
                {
                    "object": "list",
                    "model": body.get("model"),
                    "data": [{"object": "embedding", "index": 0, "embedding": vector}],
                    "usage": {"prompt_tokens": 3, "total_tokens": 3},
                },
            )
        name = self._behaviour(headers, body)
        failure = _failure(name)
        if failure is not None:
            status, error, extra = failure
            return _reply(writer, status, error, extra)
        if name == "hang":
            await reader.read()
            return False
        reply = Script(name, body, self._rng)
        if not body.get("stream"):
            await asyncio.sleep(3.0 if name == "slow" else self.delay_s)
            if name == "garbage":
                return _reply(writer, 200, b"<html>502 Bad Gateway</html>")
            if name == "cut":
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 999\r\n\r\n{")
                return False
            return _reply(writer, 200, reply.whole())
        self.open_streams += 1
        try:
            return await self._stream(reply, writer, reader)
        except ConnectionError:
            self.gone += 1
            raise
        finally:
            self.open_streams -= 1

    def _set_by_http(self, body: dict[str, Any], writer: asyncio.StreamWriter) -> bool:
        try:
            self.set(str(body.get("model", "*")), str(body["behaviour"]), float(body.get("share", 1.0)))
        except KeyError:
            return _reply(writer, 400, _error(f"say `behaviour`: {KNOWN}", "invalid_request_error"))
        except ValueError as error:
            return _reply(writer, 400, _error(str(error), "invalid_request_error"))
        except (TypeError, AttributeError):
            told = 'send {"model": NAME or "*", "behaviour": WORD, "share": 0..1}; behaviours: ' + KNOWN
            return _reply(writer, 400, _error(told, "invalid_request_error"))
        return _reply(writer, 200, {"ok": True})

    def _behaviour(self, headers: dict[str, str], body: dict[str, Any]) -> str:
        model = str(body.get("model", ""))
        marked = MARK.search(_last_user(body))
        named = headers.get("x-script") or (marked[1] if marked else "") or model.removeprefix("script-")
        if named in BEHAVIOURS:
            return named
        behaviour, share = self.schedule.get(model) or self.schedule.get("*") or ("healthy", 1.0)
        return behaviour if self._rng.random() < share else "healthy"

    async def _stream(self, reply: "Script", writer: asyncio.StreamWriter, reader: asyncio.StreamReader) -> bool:
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        for event in reply.events():
            if writer.is_closing() or reader.at_eof():
                raise ConnectionResetError
            writer.write(b"%x\r\n%s\r\n" % (len(event), event))
            await writer.drain()
            await asyncio.sleep(0.5 if reply.name == "slow" else self.delay_s)
        while reply.name in ("keepalive_only", "stall"):
            if reader.at_eof():
                raise ConnectionResetError
            if reply.name == "keepalive_only":
                writer.write(b"e\r\n: keep-alive\n\n\r\n")
                await writer.drain()
            await asyncio.sleep(0.05)
        if reply.name == "cut":
            writer.transport.abort()
            return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True


class Script:
    """What one request is answered with."""

    def __init__(self, name: str, body: dict[str, Any], rng: Random) -> None:
        self.name = name
        self._rng = rng
        self._id = f"chatcmpl-{rng.getrandbits(64):016x}"
        self._model = body.get("model", "scripted")
        self._chat = "messages" in body
        self._want_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        self._language = "zh" if CJK.search(_last_user(body)) else "en"
        self.text, self.reasoning, self.finish = self._say()

    def _say(self) -> tuple[str, str, str]:
        rng, language, name = self._rng, self._language, self.name
        if name in LOOPS:
            return loop(name, rng, language), "", "length"
        fine = healthy(rng, language)
        match name:
            case "recover":
                return loop("sentence_loop", rng, language, 600) + healthy(rng, language, 12), "", "stop"
            case "empty" | "choices_empty" | "keepalive_only" | "tools":
                return "", "", "tool_calls" if name == "tools" else "stop"
            case "json":
                return f"```json\n{JSON_REPLY}\n```", "", "stop"
            case "refusal":
                return "", "", "content_filter"
            case "repetition_finish":
                return sentence(rng, language), "", "repetition"
            case "reasoning_length":
                return "", fine, "length"
            case "reasoning_loop":
                return fine, loop("sentence_loop", rng, language, 1500), "stop"
        return fine, "", "stop"

    @property
    def usage(self) -> dict[str, int]:
        said = max(1, (len(self.text) + len(self.reasoning)) // 3)
        return {"prompt_tokens": 12, "completion_tokens": said, "total_tokens": 12 + said}

    def whole(self) -> dict[str, Any]:
        if self.name == "error_in_stream":
            return _error("upstream overloaded", "server_error")
        message: dict[str, Any] = {"role": "assistant", "content": self.text}
        if self.reasoning:
            message["reasoning_content"] = self.reasoning
        if self.name == "tools":
            message |= {"content": None, "tool_calls": [_tool_call()]}
        said = {"message": message} if self._chat else {"text": self.text, "logprobs": None}
        choices = [{"index": 0, **said, "finish_reason": self.finish}]
        return {
            "id": self._id,
            "object": "chat.completion" if self._chat else "text_completion",
            "created": 1735689600,
            "model": self._model,
            "choices": [] if self.name == "choices_empty" else choices,
            "usage": self.usage,
        }

    def events(self) -> Iterator[bytes]:
        """The bytes of each SSE event, in order, `[DONE]` included unless the script says otherwise."""
        if self.name == "keepalive_only":
            yield b": keep-alive\n\n"
            return
        yield self._event({"role": "assistant", "content": ""})
        if self.name == "error_in_stream":
            yield b"data: " + json.dumps(_error("upstream overloaded", "server_error")).encode() + b"\n\n"
            return
        if self.name == "garbage":
            yield b"data: {not json\n\n"
            return
        for part in deltas(self.reasoning, self._rng, self._language):
            yield self._event({"reasoning_content": part})
        parts = deltas(self.text, self._rng, self._language)
        for part in parts[: len(parts) // 2] if self.name in ("cut", "stall") else parts:
            yield self._event({"content": part})
        if self.name in ("cut", "stall"):
            return
        if self.name == "tools":
            yield self._event({"tool_calls": [{"index": 0, **_tool_call()}]})
        yield self._event({}, self.finish)
        if self._want_usage:
            yield self._frame([], usage=self.usage)
        yield b"data: [DONE]\n\n"

    def _event(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        if self.name == "choices_empty":
            return self._frame([])
        said = {"delta": delta} if self._chat else {"text": delta.get("content", ""), "logprobs": None}
        return self._frame([{"index": 0, **said, "finish_reason": finish}])

    def _frame(self, choices: list[Any], **extra: Any) -> bytes:
        kind = "chat.completion.chunk" if self._chat else "text_completion"
        chunk = {"id": self._id, "object": kind, "created": 1735689600, "model": self._model}
        data = json.dumps(chunk | {"choices": choices} | extra, ensure_ascii=False, separators=(",", ":"))
        return b"data: " + data.encode() + b"\n\n"


def _failure(name: str) -> tuple[int, dict[str, Any], dict[str, str]] | None:
    match name:
        case "500":
            return 500, _error("internal error", "server_error"), {}
        case "429":
            return 429, _error("slow down", "rate_limit_exceeded"), {"retry-after": "2"}
        case "401":
            return 401, _error("bad key", "invalid_api_key"), {}
        case "400":
            return 400, _error("bad parameter", "invalid_request_error"), {}
        case "context":
            return 400, _error("too long", "context_length_exceeded"), {}
    return None


def _error(message: str, code: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": code, "code": code}}


def _tool_call() -> dict[str, Any]:
    return {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}


def _last_user(body: dict[str, Any]) -> str:
    for message in reversed(body.get("messages") or []):
        if message.get("role") == "user":
            content = message.get("content")
            return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return str(body.get("prompt", ""))


def _reply(
    writer: asyncio.StreamWriter, status: int, body: dict[str, Any] | bytes, extra: dict[str, str] | None = None
) -> bool:
    data = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
    lines = "".join(f"{k}: {v}\r\n" for k, v in (extra or {}).items())
    head = f"HTTP/1.1 {status} {REASONS[status]}\r\ncontent-type: application/json\r\n{lines}content-length: {len(data)}\r\n\r\n"
    writer.write(head.encode() + data)
    return True


async def serve(port: int, delay_s: float) -> None:
    """Serve until cancelled; prints the port first."""
    async with ScriptedUpstream(port=port, delay_s=delay_s) as up:
        print(up.port, flush=True)
        await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m pointsman.demo.scripted", description=__doc__.split("\n")[0], epilog=HOW
    )
    parser.add_argument("--port", type=int, default=0, help="0: any free one; it is printed")
    parser.add_argument("--delay-s", type=float, default=0.01, help="seconds between two events of a stream")
    given = parser.parse_args()
    asyncio.run(serve(given.port, given.delay_s))


if __name__ == "__main__":
    main()
