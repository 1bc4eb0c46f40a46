"""A crowd of clients of a deployment: whole and streamed, hasty and slow, each answer checked as it comes.

What a client may expect whatever breaks behind the door: an answer of the right shape while one router lives; and never
more of a loop than the gate may let out.
"""

import asyncio
import contextlib
import json
import ssl
import time
from collections import Counter
from dataclasses import dataclass, field
from random import Random

import httpx

from detector import detect
from tests.support.deployment import Member

PROMPTS = (
    "Tell me about the sea and its ships.",
    "请介绍一下秋天的山林。",
    "What should I cook tonight?",
    "讲讲城市的历史。",
)
COPIES = 4
"""Copies of one unit that no client may see: at most three of a long unit may be shown, and the cut may stand inside one."""
LEAST = 200
"""Characters below which a run is no loop to a reader: the gate shows up to 160 of an irregular rotation."""
SLOW_S = 0.05
"""Between two lines, for a client that reads slowly."""
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""The routers speak plain HTTP: without this each client of the crowd reads all certificates of the machine first."""


@dataclass(slots=True, kw_only=True)
class Seen:
    """What the crowd saw. `answered` maps request ids to the router (and its life) that answered."""

    answered: dict[str, tuple[int, int]] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)
    served: Counter[str] = field(default_factory=Counter)
    broken: list[tuple[float, str]] = field(default_factory=list)
    """Streams that ended honestly, with an error event: when (`time.monotonic`), and the model that had begun."""
    moved: int = 0
    hung_up: int = 0
    faults: list[str] = field(default_factory=list)
    slowest_s: float = 0.0

    @property
    def count(self) -> int:
        return sum(self.statuses.values())


class Crowd:
    """`walk` is one client until `until` is set; it goes to another router when one is dead, as a balancer would."""

    def __init__(
        self,
        routers: list[Member],
        rng: Random,
        seen: Seen,
        *,
        pause_s: float,
        hasty: float = 0.1,
        slow: float = 0.0,
    ) -> None:
        """`pause_s` between two requests of a client; of the streams `hasty` are left early, `slow` are read slowly."""
        self._routers, self._rng, self.seen = routers, rng, seen
        self._pause_s, self._hasty, self._slow = pause_s, hasty, slow
        self.rate: float | None = None
        """Requests a second of all walkers together, in place of each one's pause; as far as there are walkers enough."""
        self._due = 0.0
        self.until = asyncio.Event()

    async def walk(self) -> None:
        loop = asyncio.get_running_loop()
        async with httpx.AsyncClient(timeout=60, verify=NO_TLS) as client:
            while not self.until.is_set():
                started = loop.time()
                await self._ask(client)
                self.seen.slowest_s = max(self.seen.slowest_s, loop.time() - started)
                await asyncio.sleep(self._pause(loop.time()))

    def _pause(self, now_s: float) -> float:
        if self.rate is None:
            return self._rng.uniform(0, 2 * self._pause_s)
        # Arrivals by chance, in one row for all: who is late takes the next place, and nobody catches up in a burst.
        self._due = max(now_s, self._due + self._rng.expovariate(self.rate))
        return self._due - now_s

    async def bursts(self, size: int, every_s: float) -> None:
        """`size` requests at once, again and again."""
        async with httpx.AsyncClient(timeout=60, verify=NO_TLS, limits=httpx.Limits(max_connections=size)) as client:
            while not self.until.is_set():
                await asyncio.gather(*(self._ask(client) for _ in range(size)))
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.until.wait(), every_s)

    async def _ask(self, client: httpx.AsyncClient) -> None:
        body = {"model": "chat", "messages": [{"role": "user", "content": self._rng.choice(PROMPTS)}]}
        stream, hasty = self._rng.random() < 0.5, self._rng.random() < self._hasty
        for _ in range(40):
            index = self._rng.randrange(len(self._routers))
            router, life = self._routers[index], (index, self._routers[index].born)
            if router.frozen or not router.up:
                await asyncio.sleep(0.05)
                continue
            began = time.monotonic()
            try:
                told = await (
                    self._streamed(client, router.url, body, hasty) if stream else self._whole(client, router.url, body)
                )
            except httpx.HTTPError as error:
                await asyncio.sleep(0.2)
                if router.born != life[1] or not router.up:
                    self.seen.moved += 1
                    continue
                self.seen.faults.append(
                    f"{time.strftime('%H:%M:%S')} a living router broke off {'a stream' if stream else 'a whole answer'} "
                    f"after {time.monotonic() - began:.2f} s: {error!r} from {error.__cause__!r} from {_first_cause(error)!r}"
                )
                return
            if told:
                self.seen.answered[told] = life
            return
        self.seen.faults.append("no router took the request")

    async def _whole(self, client: httpx.AsyncClient, url: str, body: dict[str, object]) -> str:
        answer = await client.post(f"{url}/v1/chat/completions", json=body)
        self.seen.statuses[answer.status_code] += 1
        if answer.status_code != 200:
            self.seen.faults.append(f"status {answer.status_code}: {answer.text[:200]}")
            return ""
        self.seen.served[answer.headers["x-pointsman-model"] or answer.headers["x-pointsman-fallback"]] += 1
        self._read(answer.json()["choices"][0]["message"]["content"])
        return answer.headers["x-request-id"]

    async def _streamed(self, client: httpx.AsyncClient, url: str, body: dict[str, object], hasty: bool) -> str:
        text, ended, last = "", False, ""
        async with client.stream("POST", f"{url}/v1/chat/completions", json={**body, "stream": True}) as answer:
            self.seen.statuses[answer.status_code] += 1
            if answer.status_code != 200:
                self.seen.faults.append(f"status {answer.status_code}")
                return ""
            request_id = answer.headers["x-request-id"]
            pause_s = SLOW_S if self._rng.random() < self._slow else 0.0
            async for line in answer.aiter_lines():
                if pause_s:
                    await asyncio.sleep(pause_s)
                if hasty and len(text) > 40:
                    self.seen.hung_up += 1
                    return ""
                if line == "data: [DONE]":
                    ended = True
                elif line.startswith("data: "):
                    last = line[6:]
                    event = json.loads(last)
                    for choice in event.get("choices", []):
                        text += choice.get("delta", {}).get("content") or ""
        if not ended and last.startswith('{"error"'):
            told = json.loads(last).get("pointsman", {})
            if told.get("code") == "broken_stream" and told.get("attempts") == 1:
                self.seen.broken.append((time.monotonic(), told["model"]))
                return request_id
        if not ended:
            self.seen.faults.append(f"a stream ended without its end, after {len(text)} characters: {last[:400]}")
            return request_id
        self._read(text)
        return request_id

    def _read(self, text: str) -> None:
        if not text:
            self.seen.faults.append("an empty answer")
        found = detect(text)
        if found is not None and found.repeat >= COPIES and found.end - found.start >= LEAST:
            self.seen.faults.append(f"{found.repeat} copies shown of {found.pattern[:40]!r}")


def _first_cause(error: BaseException) -> BaseException:
    while (before := error.__cause__ or error.__context__) is not None:
        error = before
    return error
