"""Asks models the prompts of a suite, within their vendors' limits, and keeps what came of each.

Acts. The same upstream code as live traffic; the breaker's counters are not touched. A run that was interrupted asks only
what was not answered yet, and a result is kept once, whoever writes it.
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from base.clock import Clock
from base.faults import HARD, Fault
from breaker.ports import StoreUnavailable
from monitor.nightly.judge import judged
from monitor.nightly.lane import Lane
from monitor.nightly.policy import NightlyPolicy
from monitor.nightly.ports import Asks, Runs
from monitor.nightly.records import Result, Run
from monitor.nightly.shapes import Prompt
from upstream.attempt import Attempt
from upstream.call import Call, Endpoint, Timeouts, with_room, with_time

log = logging.getLogger(__name__)
TRIES = 3
BACKOFF_S = (2.0, 8.0)
GIVE_UP_AFTER = 20
"""Hard failures of one model in a row after which its other prompts are not asked: it is down, the breaker knows it."""
STORE_TRIES_S = (1.0, 5.0, 30.0, 120.0)

Prepare = Callable[[Mapping[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One model to ask: its vendor, whose limits apply, its primary endpoint, and how many tokens it needs at least."""

    model: str
    vendor: str
    endpoint: Endpoint
    least_tokens: int = 0


@dataclass(slots=True, kw_only=True)
class Progress:
    """How far a round is. `skipped`: prompts not asked, by reason."""

    total: int
    done: int = 0
    ill: int = 0
    cost: float = 0.0
    skipped: Counter[str] = field(default_factory=Counter)


class Asking:
    """`prepare` makes a structured call safe as the router does (SPEC §2.7); `told` hears of each result."""

    def __init__(
        self,
        asks: Asks,
        runs: Runs,
        policy: NightlyPolicy,
        clock: Clock,
        rng: Random,
        *,
        prepare: Prepare | None = None,
        told: Callable[[Result, Progress], None] | None = None,
    ) -> None:
        self._asks, self._runs, self._policy, self._clock, self._rng = asks, runs, policy, clock, rng
        self._prepare = prepare or (lambda body: body)
        self._told = told or (lambda result, progress: None)
        self._unkept: list[Result] = []
        self._keeping = asyncio.Lock()

    async def ask(self, run: Run, prompts: Sequence[Prompt], targets: Sequence[Target], round_: int = 1) -> Progress:
        """Ask every target every prompt that this round has no result for. Raises StoreUnavailable at begin and end only."""
        known = await self._runs.results(run.id)
        have = {result.key for result in known}
        lanes = {vendor: self._lane(vendor) for vendor in {target.vendor for target in targets}}
        vendor_of = {target.model: target.vendor for target in targets}
        for result in known:
            if result.model in vendor_of:
                lanes[vendor_of[result.model]].spent(result)
        progress = Progress(total=len(prompts) * len(targets))
        for result in (r for r in known if r.round == round_ and r.model in vendor_of):
            progress.done, progress.ill, progress.cost = (
                progress.done + 1,
                progress.ill + result.ill,
                progress.cost + result.cost,
            )
        failing: Counter[str] = Counter()
        workers = []
        for vendor, lane in lanes.items():
            theirs = [target for target in targets if target.vendor == vendor]
            # Prompt by prompt over all models, so that a run cut short has seen all of them alike.
            work = deque((t, p) for p in prompts for t in theirs if (t.model, p.id, round_) not in have)
            workers += [self._work(run, round_, work, lane, failing, progress) for _ in range(lane.limits.concurrency)]
        async with asyncio.TaskGroup() as tasks:
            for worker in workers:
                tasks.create_task(worker)
        await self._keep_all()
        return progress

    def _lane(self, vendor: str) -> Lane:
        return Lane(vendor, self._policy.limits_of(vendor), self._clock)

    async def _work(
        self,
        run: Run,
        round_: int,
        work: deque[tuple[Target, Prompt]],
        lane: Lane,
        failing: Counter[str],
        progress: Progress,
    ) -> None:
        while work:
            target, prompt = work.popleft()
            if reason := lane.exhausted or ("unreachable" if failing[target.model] >= GIVE_UP_AFTER else ""):
                progress.skipped[f"{target.model}: {reason}"] += 1
                continue
            body = with_room(self._body(prompt), target.least_tokens)
            attempt = await self._attempt(prompt, body, target, lane)
            failing[target.model] = failing[target.model] + 1 if attempt.fault in _FAILS else 0
            result = judged(
                prompt,
                attempt,
                run=run,
                model=target.model,
                round_=round_,
                at=self._clock.now_s(),
                price=self._policy.price_of(target.model),
                parameters={name: value for name, value in body.items() if name not in _NOT_PARAMETERS},
                keep=self._policy.keep_replies,
            )
            lane.spent(result)
            progress.done, progress.ill, progress.cost = (
                progress.done + 1,
                progress.ill + result.ill,
                progress.cost + result.cost,
            )
            await self._keep(result)
            self._told(result, progress)

    def _body(self, prompt: Prompt) -> Mapping[str, Any]:
        messages = [dict(message) for message in prompt.messages]
        body: dict[str, Any] = {"messages": messages, "max_tokens": prompt.max_tokens, **self._policy.parameters}
        return self._prepare(body) if prompt.schema is not None else body

    async def _attempt(self, prompt: Prompt, body: Mapping[str, Any], target: Target, lane: Lane) -> Attempt:
        """Ask until there is an answer of the model itself, at most three times."""
        call = Call(body=body, stream=False, language=prompt.language, profile=prompt.profile, previous=prompt.previous)
        timeouts = with_time(Timeouts(total_s=self._policy.timeout_s), target.least_tokens)
        for number in range(TRIES):
            await lane.pace()
            attempt = await self._asks.complete(call, target.endpoint, timeouts)
            if number == TRIES - 1:
                break
            if attempt.fault is Fault.RATE_LIMITED:
                lane.rest(attempt.retry_after_s or 10.0 * (number + 1))
            elif attempt.fault in HARD:
                await self._clock.sleep(BACKOFF_S[number] * (0.8 + 0.4 * self._rng.random()))
            else:
                break
        return attempt

    async def _keep(self, result: Result) -> None:
        """Write what is unkept; without a store it waits for the next result."""
        self._unkept.append(result)
        if self._keeping.locked():
            return  # whoever holds it writes ours with the next one
        async with self._keeping:
            batch = list(self._unkept)
            try:
                await self._runs.add(batch)
            except StoreUnavailable:
                log.warning("evaluation: the store does not answer, %d results wait", len(self._unkept))
                return
            del self._unkept[: len(batch)]

    async def _keep_all(self) -> None:
        """At the end of a round nothing may be left. Raises StoreUnavailable after some minutes."""
        for wait_s in (*STORE_TRIES_S, None):
            try:
                if self._unkept:
                    await self._runs.add(self._unkept)
                self._unkept.clear()
                return
            except StoreUnavailable:
                if wait_s is None:
                    raise
                await self._clock.sleep(wait_s)


_FAILS = HARD | {Fault.FORBIDDEN}
_NOT_PARAMETERS = frozenset({"messages", "model"})
