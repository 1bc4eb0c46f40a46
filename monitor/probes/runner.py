"""Sends suite prompts to recovering models, through the same upstream code as live traffic, under the fleet's permits.

A judged answer settles the permit; an answer that says nothing about the model (rate limit, our key, the caller's own
4xx, cancelled) gives it back.
"""

import asyncio
import logging
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.resources import files
from random import Random
from typing import Protocol

from base.clock import Clock
from base.faults import Fault
from breaker.levels import Level
from breaker.outcome import Outcome, classify
from upstream.attempt import Attempt
from upstream.call import Call, Endpoint, Timeouts

log = logging.getLogger(__name__)
EVERY_S = 2.0
AT_ONCE = 2  # permits of one model in use at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    language: str
    text: str
    max_tokens: int


class Settles(Protocol):
    def settle(self, clean: bool) -> None: ...


class Permits(Protocol):
    """The breaker's side: where models stand, and a scope that is a permit or None."""

    def levels(self) -> Mapping[str, Level]: ...
    def permit(self, model: str) -> AbstractContextManager[Settles | None]: ...
    def monitor_beat(self) -> None: ...


class Asks(Protocol):
    async def complete(self, call: Call, endpoint: Endpoint, timeouts: Timeouts) -> Attempt: ...


def suite() -> tuple[Prompt, ...]:
    """The prompts that travel with the package."""
    data = tomllib.loads((files("monitor.probes") / "suite.toml").read_text(encoding="utf-8"))
    limit = int(data["max_tokens"])
    return tuple(Prompt(language=lang, text=text, max_tokens=limit) for lang in ("zh", "en") for text in data[lang])


def judged_clean(attempt: Attempt) -> bool | None:
    """True clean, False ill, None when the answer says nothing about the model."""
    if attempt.fault in (Fault.EMPTY, Fault.GARBLE):
        return False
    if attempt.fault is Fault.LENGTH_IN_REASONING:
        return True  # reachable and thinking: too few tokens are no illness (CASES.md, H7)
    match classify(attempt.fault, attempt.verdict):
        case Outcome.GOOD:
            return True
        case Outcome.DEGENERATE | Outcome.FAILED:
            return False
        case _:
            return None


class ProbeRunner:
    """`run` until cancelled. `endpoints`: each model's primary endpoint."""

    def __init__(
        self,
        asks: Asks,
        permits: Permits,
        endpoints: Mapping[str, Endpoint],
        clock: Clock,
        rng: Random,
        prompts: Sequence[Prompt] | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        self._asks, self._permits, self._endpoints = asks, permits, dict(endpoints)
        self._clock, self._rng = clock, rng
        self._prompts = tuple(prompts or suite())
        self._timeouts = timeouts or Timeouts(total_s=60.0)
        self.sent = 0

    async def run(self) -> None:
        while True:
            try:
                await self.once()
            except Exception:
                # One probe that fails oddly must not leave every model open for good.
                log.exception("probes: a round failed")
            await self._clock.sleep(EVERY_S)

    async def once(self) -> None:
        """Probe each recovering model as far as permits are at hand."""
        self._permits.monitor_beat()
        ill = [m for m, level in self._permits.levels().items() if level is Level.RECOVERING and m in self._endpoints]
        await asyncio.gather(*(self._probe(model) for model in ill for _ in range(AT_ONCE)))

    async def _probe(self, model: str) -> None:
        with self._permits.permit(model) as permit:
            if permit is None:
                return
            self.sent += 1
            prompt = self._rng.choice(self._prompts)
            attempt = await self._asks.complete(_call(prompt), self._endpoints[model], self._timeouts)
            if (clean := judged_clean(attempt)) is not None:
                permit.settle(clean)


def _call(prompt: Prompt) -> Call:
    body = {"messages": [{"role": "user", "content": prompt.text}], "max_tokens": prompt.max_tokens}
    return Call(body=body, stream=False, language=prompt.language)
