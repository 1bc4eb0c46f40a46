"""Mock OpenAI upstream: streams N chat.completion.chunk events, one write each.

Any POST works. The prompt picks the stream: "n=64 d=5" means 64 content deltas,
5 ms apart (d=0: one event-loop turn apart, so each is still a write of its own).
Without "stream": true in the body it answers a plain chat completion instead:
with "kb=16" in the prompt one of 16 KB of prose, with "as=json" a JSON document of a kilobyte.
"""

import asyncio
import functools
import json
import random
import re
import sys
from pathlib import Path

try:
    import uvloop
except ImportError:
    uvloop = None

WANTED = re.compile(rb"n=(\d+) d=(\d+)")
SIZE = re.compile(rb"kb=(\d+)")
STREAM = re.compile(rb'"stream"\s*:\s*true')
LENGTH = re.compile(rb"content-length:\s*(\d+)", re.I)
CHUNKED = re.compile(rb"transfer-encoding:\s*chunked", re.I)
HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"
)


def frame(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(delta: dict, finish=None, **extra) -> bytes:
    chunk = {
        "id": "chatcmpl-bench0123456789abcdef0123",
        "object": "chat.completion.chunk",
        "created": 1735689600,
        "model": "gpt-4o-mini",
        "system_fingerprint": "fp_bench0001",
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
        **extra,
    }
    return frame(b"data: " + json.dumps(chunk, separators=(",", ":")).encode() + b"\n\n")


def make_tokens(count: int) -> list[bytes]:
    """Word-like deltas that do not repeat themselves, so that a repetition detector stays quiet."""
    rng = random.Random(7)
    parts = [
        "ka",
        "lo",
        "mer",
        "ti",
        "ven",
        "dra",
        "sol",
        "pi",
        "qua",
        "ren",
        "fos",
        "tul",
        "bi",
        "cor",
        "ner",
        "ash",
        "il",
        "mon",
        "dre",
        "vi",
        "pa",
        "sto",
        "lum",
        "ex",
    ]
    return [event({"content": " " + "".join(rng.choices(parts, k=rng.randint(1, 3)))}) for _ in range(count)]


TOKENS = make_tokens(4096)
FIRST = event({"role": "assistant", "content": ""})
LAST = (
    event({}, "stop", usage={"prompt_tokens": 40, "completion_tokens": 64, "total_tokens": 104})
    + frame(b"data: [DONE]\n\n")
    + b"0\r\n\r\n"
)
PLAIN_BODY = open(sys.argv[2], "rb").read() if len(sys.argv) > 2 else b'{"object":"chat.completion","choices":[]}'
MODELS_BODY = (
    b'{"object":"list","data":[{"id":"gpt-4o-mini","object":"model","created":1735689600,"owned_by":"bench"}]}'
)
PLAIN, MODELS = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
    for body in (PLAIN_BODY, MODELS_BODY)
)


CORPUS = Path(__file__).resolve().parent.parent / "tests" / "data" / "corpus"


def whole(content: str) -> bytes:
    """An answer with that text, head and all; the rest of it is that of completion.json."""
    body = json.loads(PLAIN_BODY)
    body["choices"][0]["message"]["content"] = content
    data = json.dumps(body).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(data), data)


def prose(size: int) -> str:
    """Healthy English replies one after the other: those of a small real model, then (beyond 47 KB) made ones with tables."""
    texts = []
    for name in ("smollm2_replies_dev", "reports_dev", "tricky_dev"):
        kept = map(json.loads, (CORPUS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines())
        texts += [r["text"] for r in kept if r["label"] == "healthy" and r["lang"] == "en"]
    text = "\n\n".join(dict.fromkeys(texts)).encode("ascii", "ignore").decode()
    assert len(text) >= size, f"the corpus holds {len(text)} characters"
    return text[:size]


@functools.cache
def asked_whole(size: bytes) -> bytes:
    return whole(prose(1024 * int(size)))


@functools.cache
def document() -> bytes:
    """A JSON document of about a kilobyte, after bench/loads.py: SCHEMA."""
    words = prose(900).split()
    parts = [
        {"title": " ".join(words[at : at + 3]), "done": at % 2 == 0, "words": words[at : at + 9]}
        for at in range(0, 90, 9)
    ]
    return whole(json.dumps({"name": "bench", "parts": parts}))


class Upstream(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.buf, self.loop = transport, b"", asyncio.get_running_loop()

    def data_received(self, data):
        self.buf += data
        head, sep, body = self.buf.partition(b"\r\n\r\n")
        if not sep:
            return
        size = LENGTH.search(head)
        if (size and len(body) < int(size[1])) or (
            not size and CHUNKED.search(head) and not body.endswith(b"0\r\n\r\n")
        ):
            return
        self.buf = b""
        if not STREAM.search(body):
            self.transport.write(self.plain(head, body))
            return
        want = WANTED.search(body)
        n, ms = (int(want[1]), int(want[2])) if want else (64, 0)
        self.transport.write(HEAD + FIRST)
        self.step(0, n, ms / 1000, self.loop.time())

    def plain(self, head, body):
        if head.startswith(b"GET"):
            return MODELS
        if b"as=json" in body:
            return document()
        size = SIZE.search(body)
        return asked_whole(size[1]) if size else PLAIN

    def step(self, i, n, delay, start):
        if self.transport.is_closing():
            return
        if i:
            self.transport.write(TOKENS[i % 4096])
        if i >= n:
            self.transport.write(LAST)
        elif delay:
            self.loop.call_at(start + (i + 1) * delay, self.step, i + 1, n, delay, start)
        else:
            self.loop.call_soon(self.step, i + 1, n, delay, start)


async def main():
    for port in sys.argv[1].split(","):
        await asyncio.get_running_loop().create_server(Upstream, "127.0.0.1", int(port), backlog=1024)
    await asyncio.Event().wait()


(uvloop or asyncio).run(main())
