"""The metrics of all workers of one machine in one answer, each sample labelled with its worker.

Whoever scrapes the common address reaches one worker by chance; that one asks the others over their sockets.
A worker that does not answer in time is left out, and `pointsman_worker_up` says so.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

import httpx
import uvicorn
from starlette.types import Receive, Scope, Send

from pointsman.assemble import Service
from pointsman.serve import QuietServer
from pointsman.workers import Worker

ASK_S = 2.0
UP = "pointsman_worker_up"
OPENMETRICS = "application/openmetrics-text"
_SAMPLE = re.compile(rb'^([A-Za-z_:][A-Za-z0-9_:]*)(?:\{((?:[^"}]|"(?:\\.|[^"\\])*")*)\})? (.*)$')
"""A label's value may hold braces; behind the value an exemplar may stand, with braces of its own."""
_END = b"# EOF"


def socket_of(folder: str | Path, number: int) -> Path:
    return Path(folder) / f"worker-{number}.sock"


def share_metrics(service: Service, worker: Worker) -> None:
    """Tell the other workers our metrics over a socket, and whoever scrapes us theirs as well."""

    async def told(scope: Scope, receive: Receive, send: Send) -> None:
        metrics, wanted = service.deps.metrics, dict(scope["headers"]).get(b"accept", b"").decode("latin-1")
        body = metrics.openmetrics() if OPENMETRICS in wanted else metrics.exposition()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
        await send({"type": "http.response.body", "body": body})

    path = socket_of(worker.folder, worker.number)
    path.unlink(missing_ok=True)  # of the worker whose place we took
    config = uvicorn.Config(told, uds=str(path), lifespan="off", ws="none", access_log=False, log_config=None)
    server = QuietServer(config)
    service.background(server.serve(), "worker metrics")
    service.deps.exposition = partial(of_all, worker.folder, worker.of, worker.number)


async def of_all(folder: str, of: int, own: int, mine: bytes, exemplars: bool) -> bytes:
    """The exposition of `of` workers; `mine` is that of worker `own`. `exemplars`: all in OpenMetrics, `mine` too."""

    async def one(number: int) -> tuple[int, bytes | None]:
        return number, mine if number == own else await _asked(socket_of(folder, number), exemplars)

    told = merged(dict(await asyncio.gather(*(one(number) for number in range(of)))))
    return told + _END + b"\n" if exemplars else told


async def _asked(path: Path, exemplars: bool) -> bytes | None:
    accept = {"accept": OPENMETRICS if exemplars else "text/plain"}
    transport = httpx.AsyncHTTPTransport(uds=str(path))
    try:
        async with httpx.AsyncClient(transport=transport, timeout=ASK_S) as client:
            answer = await client.get("http://worker/metrics", headers=accept)
    except httpx.HTTPError:
        return None
    return answer.content if answer.status_code == 200 else None


def merged(by_worker: Mapping[int, bytes | None]) -> bytes:
    """One exposition in Prometheus' text format or in OpenMetrics less its last line, each family once. Pure."""
    families: dict[bytes, tuple[list[bytes], list[bytes]]] = {}
    for number, text in by_worker.items():
        family = b""
        for line in (text or b"").splitlines():
            if line.startswith((b"# HELP ", b"# TYPE ")):
                family = line.split(b" ", 3)[2]
                heads, _ = families.setdefault(family, ([], []))
                if line not in heads:
                    heads.append(line)
            elif line and not line.startswith(b"#"):
                families.setdefault(family, ([], []))[1].append(_labelled(line, number))
    up = [b'%s{worker="%d"} %d' % (UP.encode(), n, text is not None) for n, text in by_worker.items()]
    out: list[bytes] = [f"# HELP {UP} 1 if that worker told its metrics".encode(), f"# TYPE {UP} gauge".encode(), *up]
    return b"\n".join([*out, *_lines(families.values())]) + b"\n"


def _lines(families: Iterable[tuple[list[bytes], list[bytes]]]) -> Iterable[bytes]:
    for heads, samples in families:
        yield from heads
        yield from samples


def _labelled(line: bytes, number: int) -> bytes:
    found = _SAMPLE.match(line)
    if found is None:
        return line
    name, labels, rest = found.groups()
    return b'%s{worker="%d"%s} %s' % (name, number, b"," + labels if labels else b"", rest)
