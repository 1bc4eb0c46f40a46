"""Sends suite prompts to recovering models, through the same upstream code as live traffic, under the fleet's permits.

A judged answer settles the permit; an answer that says nothing about the model (rate limit, our key, the caller's own
4xx, cancelled) gives it back. Models that look ill on too few replies to tell are sent some without a permit: these
count as any attempt does, towards setting a level and towards clearing it (BREAKER.md, scenarios 8 and 33).
"""

import asyncio
import logging
import tomllib
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.resources import files
from random import Random
from typing import Protocol

from base.clock import Clock
from base.faults import Fault
from breaker.levels import Level
from breaker.outcome import Outcome, classify, proven
from breaker.ports import StoreUnavailable
from breaker.share import SHUT
from detector.verdict import Verdict
from upstream.attempt import Attempt
from upstream.call import Call, Endpoint, Timeouts, with_room, with_time

log = logging.getLogger(__name__)
EVERY_S = 2.0
SAMPLE_EVERY_S = 20.0
"""Three a minute: 30 in ten minutes and 90 in half an hour, the samples that L1 and L2 ask for."""
SCENE = "probe"
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
    async def probes_wanted(self) -> Collection[str]:
        """Models whose sample is too small to judge. Raises StoreUnavailable."""
        ...

    def note(
        self,
        *,
        model: str,
        scene: str,
        endpoint: int,
        outcome: Outcome,
        fault: Fault | None,
        verdict: Verdict | None,
        tokens_in: int,
        tokens_out: int,
        elapsed_s: float,
    ) -> None: ...


class Asks(Protocol):
    async def complete(self, call: Call, endpoint: Endpoint, timeouts: Timeouts) -> Attempt: ...


def suite() -> tuple[Prompt, ...]:
    """The prompts that travel with the package."""
    data = tomllib.loads((files("monitor.probes") / "suite.toml").read_text(encoding="utf-8"))
    limit = int(data["max_tokens"])
    return tuple(Prompt(language=lang, text=text, max_tokens=limit) for lang in ("zh", "en") for text in data[lang])


def judged_clean(attempt: Attempt) -> bool | None:
    """True clean, False ill, None when the answer says nothing about the model."""
    return proven(attempt.fault, classify(attempt.fault, attempt.verdict))


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """How a model is asked: its primary endpoint, and the fewest tokens in which it says anything (it may reason first)."""

    endpoint: Endpoint
    least_tokens: int = 0


class ProbeRunner:
    """`run` until cancelled."""

    def __init__(
        self,
        asks: Asks,
        permits: Permits,
        models: Callable[[], Mapping[str, Probed]],
        clock: Clock,
        rng: Random,
        prompts: Sequence[Prompt] | None = None,
        timeouts: Timeouts | None = None,
        sample_every_s: float = SAMPLE_EVERY_S,
    ) -> None:
        """`models`: those there are now; a reload may change them. `sample_every_s`: how often a model without a sample is
        asked; 0: never."""
        self._asks, self._permits, self._models = asks, permits, models
        self._clock, self._rng = clock, rng
        self._prompts = tuple(prompts or suite())
        self._timeouts = timeouts or Timeouts(total_s=60.0)
        self._sample_every_s = sample_every_s
        self.sent = 0

    async def run(self) -> None:
        async with asyncio.TaskGroup() as rounds:
            rounds.create_task(self._repeat(self.once, EVERY_S))
            if self._sample_every_s > 0:
                rounds.create_task(self._repeat(self.sample, self._sample_every_s))

    async def _repeat(self, step: Callable[[], Awaitable[None]], every_s: float) -> None:
        while True:
            try:
                await step()
            except StoreUnavailable as error:
                log.info("probes: who needs them is not known: %s", error)
            except Exception:
                # One probe that fails oddly must not leave every model open for good.
                log.exception("probes: a round failed")
            await self._clock.sleep(every_s)

    async def once(self) -> None:
        """Probe each recovering model as far as permits are at hand."""
        self._permits.monitor_beat()
        models = self._models()
        ill = [m for m, level in self._permits.levels().items() if level is Level.RECOVERING and m in models]
        await asyncio.gather(*(self._probe(model, models[model]) for model in ill for _ in range(AT_ONCE)))

    async def sample(self) -> None:
        """One prompt to each model that looks ill on too few replies; the answer counts. Raises StoreUnavailable."""
        asked, levels, models = await self._permits.probes_wanted(), self._permits.levels(), self._models()
        wanted = [m for m in asked if m in models and levels.get(m) not in SHUT]
        await asyncio.gather(*(self._sampled(model, models[model]) for model in wanted))

    async def _sampled(self, model: str, probed: Probed) -> None:
        self.sent += 1
        attempt = await self._asked(probed)
        self._permits.note(
            model=model,
            scene=SCENE,
            endpoint=0,
            outcome=classify(attempt.fault, attempt.verdict),
            fault=attempt.fault,
            verdict=attempt.verdict,
            tokens_in=attempt.usage.prompt_tokens,
            tokens_out=attempt.usage.completion_tokens,
            elapsed_s=attempt.elapsed_s,
        )

    async def _asked(self, probed: Probed) -> Attempt:
        prompt = self._rng.choice(self._prompts)
        timeouts = with_time(self._timeouts, probed.least_tokens)
        return await self._asks.complete(_call(prompt, probed.least_tokens), probed.endpoint, timeouts)

    async def _probe(self, model: str, probed: Probed) -> None:
        with self._permits.permit(model) as permit:
            if permit is None:
                return
            self.sent += 1
            if (clean := judged_clean(await self._asked(probed))) is not None:
                permit.settle(clean)


def _call(prompt: Prompt, least_tokens: int) -> Call:
    body = {"messages": [{"role": "user", "content": prompt.text}], "max_tokens": prompt.max_tokens}
    return Call(body=with_room(body, least_tokens), stream=False, language=prompt.language)
