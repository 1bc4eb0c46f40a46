"""Load client for streams: keeps C streams running for a while and prints one JSON line.

Counts the SSE events that came back, when the first text did, and how many reads they took.
"""

import argparse
import asyncio
import json
import re
import statistics
import time
from urllib.parse import urlsplit

try:
    import uvloop
except ImportError:
    uvloop = None


TEXT = re.compile(rb'"content":\s*"[^"]')
"""The first event says the role and no text: a gateway may keep it until it has text to send."""


class Stream(asyncio.Protocol):
    """One keep-alive connection that runs one stream after another."""

    def __init__(self, job):
        self.job = job

    def connection_made(self, transport):
        self.transport, self.last = transport, b""
        self.begin()

    def begin(self):
        self.seen, self.reads, self.first, self.tail, self.head, self.early = 0, 0, None, b"", None, b""
        self.start = time.perf_counter()
        self.transport.write(self.job.request)

    def data_received(self, data):
        self.reads += 1
        if self.head is None:
            self.head = data.split(b"\r\n\r\n", 1)[0].lower()
            if b" 200 " not in self.head[:20]:
                self.job.fail(data)
                self.transport.abort()
                return
        window = self.tail + data
        count = window.count(b"data: ")
        if self.first is None:
            self.early += data
            if TEXT.search(self.early):
                self.first, self.early = time.perf_counter(), b""
        self.seen += count
        self.tail = window[-5:]
        self.last = window[-80:] if len(window) > 80 else (self.last + data)[-80:]
        if self.last.endswith(b"0\r\n\r\n") and b"[DONE]" in self.last:
            self.finish()
            if self.job.more():
                self.begin()
            else:
                self.transport.close()

    def finish(self):
        now = time.perf_counter()
        self.job.done((self.first or now) - self.start, now - self.start, self.seen, self.reads)
        self.last = b""

    def connection_lost(self, exc):
        if self.head is not None and b"[DONE]" in self.last:  # server closes after each stream
            self.finish()
        elif self.head is not None and self.seen and self.last:
            self.job.fail(b"cut: " + self.last)
        self.job.closed(self)


class Job:
    def __init__(self, args):
        url = urlsplit(args.url)
        self.address = (url.hostname, url.port)
        body = {
            "model": args.model,
            "stream": True,
            "messages": [
                {"role": "system", "content": "You are a helpful assistant. " * 12},
                {"role": "user", "content": f"Tell me something long. n={args.n} d={args.delay}"},
            ],
        }
        body = json.dumps(body).encode()
        extra = "".join(f"{h}\r\n" for h in args.header)
        self.request = (
            f"POST {url.path} HTTP/1.1\r\nhost: {url.netloc}\r\ncontent-type: application/json\r\n"
            f"accept: text/event-stream\r\n{extra}content-length: {len(body)}\r\n\r\n"
        ).encode() + body
        self.args, self.open, self.errors, self.rows = args, 0, [], []
        self.counting_from = time.perf_counter() + args.warmup
        self.until = self.counting_from + args.seconds
        self.over = asyncio.get_running_loop().create_future()

    def more(self):
        return time.perf_counter() < self.until and len(self.errors) < 20

    def fail(self, data):
        self.errors.append(data[:400].decode("latin1"))

    def done(self, *row):
        self.rows.append((time.perf_counter(), *row))

    def closed(self, stream):
        if self.more():
            asyncio.ensure_future(self.connect())
        else:
            self.open -= 1
            if not self.open and not self.over.done():
                self.over.set_result(None)

    async def connect(self):
        try:
            await asyncio.get_running_loop().create_connection(lambda: Stream(self), *self.address)
        except OSError as error:
            self.fail(str(error).encode())
            await asyncio.sleep(0.1)
            self.closed(None)


def quantile(values, q):
    return sorted(values)[min(len(values) - 1, int(q * len(values)))] if values else None


async def main(args):
    job = Job(args)
    began = time.perf_counter()
    job.open = args.concurrency
    for _ in range(args.concurrency):
        await job.connect()
        if args.delay:
            await asyncio.sleep(args.delay / 1000 / args.concurrency)  # spread the clocks of the streams
    try:
        await asyncio.wait_for(job.over, args.seconds + args.warmup + 60)
    except TimeoutError:
        job.errors.append(f"{job.open} streams had not ended a minute later")
    rows = job.rows
    ttft, total = [r[1] * 1e6 for r in rows], [r[2] * 1e6 for r in rows]
    events, reads = sum(r[3] for r in rows), sum(r[4] for r in rows)
    print(
        json.dumps(
            {
                "streams": len(rows),
                "events": events,
                "reads": reads,
                "wall_s": round(time.perf_counter() - began, 3),
                "ttft_p50_us": quantile(ttft, 0.5),
                "ttft_p99_us": quantile(ttft, 0.99),
                "total_p50_us": quantile(total, 0.5),
                "total_p99_us": quantile(total, 0.99),
                "total_mean_us": statistics.fmean(total) if total else None,
                "errors": len(job.errors),
                "first_error": job.errors[0] if job.errors else None,
            }
        )
    )


p = argparse.ArgumentParser()
p.add_argument("url")
p.add_argument("--model", default="bench-sse")
p.add_argument("--header", action="append", default=[])
p.add_argument("-c", "--concurrency", type=int, default=8)
p.add_argument("-n", type=int, default=64)
p.add_argument("-d", "--delay", type=int, default=5)
p.add_argument("-s", "--seconds", type=float, default=5)
p.add_argument("--warmup", type=float, default=0)
(uvloop or asyncio).run(main(p.parse_args()))
