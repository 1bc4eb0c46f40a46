"""Builders for the evaluation: prompts, attempts, results, a model that answers by a table, runs kept in memory."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from base.faults import Fault
from breaker.ports import StoreUnavailable
from detector import score
from detector.version import DETECTOR_VERSION
from monitor.nightly.asking import Target
from monitor.nightly.policy import NightlyPolicy
from monitor.nightly.records import Baseline, Result, Run, RunState, Trigger
from monitor.nightly.shapes import Lure, Prompt
from tests.support.clock import ManualClock
from upstream.attempt import Attempt, Usage
from upstream.call import Call, Endpoint, Timeouts

T = TypeVar("T")
LOOP = "The tram stops here again. " * 30
FINE = "A short and healthy answer about trams, rain and the long way home."
ENDPOINT = Endpoint(base_url="http://127.0.0.1", upstream_model="m")
QUICK = NightlyPolicy(limits={"per_minute": 60_000, "concurrency": 2}, min_judged=4)
RUN = Run(
    id="r1", trigger=Trigger.NIGHTLY, started_at=1.0, suite="standard", suite_version="s1", detector_version=DETECTOR_VERSION,
    prompts=8, sampled=False, models=("a", "b"),
)  # fmt: skip


def prompt(number: int = 1, **more: Any) -> Prompt:
    said = {"role": "user", "content": f"question {number}"}
    plain = {"id": f"p{number}", "lure": Lure.OPEN_QUESTION, "language": "en", "messages": (said,), "max_tokens": 100}
    return Prompt(**{**plain, **more})


def prompts(count: int) -> tuple[Prompt, ...]:
    return tuple(prompt(number) for number in range(1, count + 1))


def attempt(text: str = FINE, fault: Fault | None = None, **more: Any) -> Attempt:
    verdict = score(text) if text else None
    found = fault or (Fault.REPETITION if verdict and verdict.degenerate else None)
    usage = Usage(prompt_tokens=10, completion_tokens=20)
    plain = {"started_at": 0.0, "elapsed_s": 1.0, "fault": found, "text": text, "raw_text": text, "verdict": verdict}
    return Attempt(**{**plain, "usage": usage, "finish_reason": "stop", **more})


def result(number: int = 1, **more: Any) -> Result:
    plain = {
        "run_id": "r1", "model": "a", "prompt_id": f"p{number}", "round": 1, "at": 2.0, "lure": "open_question",
        "language": "en", "counted": True, "ill": False,
    }  # fmt: skip
    return Result(**{**plain, **more})


def baseline(**more: Any) -> Baseline:
    plain = {
        "model": "a", "suite_version": "s1", "detector_version": DETECTOR_VERSION, "version": 0, "run_id": "r0", "n": 500, "k": 10,
        "classes": {"stuck": 10}, "json_items": 50, "json_valid": 40, "ill_prompts": ("p1",), "served_model": "a-1",
        "pinned_at": 5.0, "pinned_by": "op",
    }  # fmt: skip
    return Baseline(**{**plain, **more})


def target(model: str = "a", vendor: str = "v") -> Target:
    return Target(model=model, vendor=vendor, endpoint=replace(ENDPOINT, upstream_model=model))


class Models:
    """Answers by `answer(model, question)`; `calls` holds (model, question) in the order asked."""

    def __init__(self, answer: Callable[[str, str], Attempt] = lambda model, question: attempt()) -> None:
        self.answer, self.calls, self.bodies = answer, [], []

    async def complete(self, call: Call, endpoint: Endpoint, timeouts: Timeouts) -> Attempt:
        question = call.body["messages"][-1]["content"]
        self.calls.append((endpoint.upstream_model, question))
        self.bodies.append(call.body)
        return self.answer(endpoint.upstream_model, question)


class MemoryRuns:
    """The port Runs in memory; `down` makes every method raise."""

    def __init__(self) -> None:
        self.kept: dict[str, Run] = {}
        self.rows: dict[tuple[str, str, str, int], Result] = {}
        self.pinned: dict[tuple[str, str, str], Baseline] = {}
        self.down = False

    def _up(self) -> None:
        if self.down:
            raise StoreUnavailable("down")

    async def begin(self, run: Run) -> Run:
        self._up()
        return self.kept.setdefault(run.id, run)

    async def finish(self, run_id: str, state: RunState, at: float, detail: str = "") -> bool:
        self._up()
        if self.kept[run_id].state is not RunState.RUNNING:
            return False
        self.kept[run_id] = replace(self.kept[run_id], state=state, ended_at=at, detail=detail)
        return True

    async def run(self, run_id: str) -> Run | None:
        return self.kept.get(run_id)

    async def runs(self, limit: int = 50) -> Sequence[Run]:
        return list(self.kept.values())[:limit]

    async def add(self, results: Sequence[Result]) -> None:
        self._up()
        for one in results:
            self.rows.setdefault((one.run_id, *one.key), one)

    async def results(self, run_id: str) -> Sequence[Result]:
        self._up()
        return [one for one in self.rows.values() if one.run_id == run_id]

    async def pin(self, baseline: Baseline) -> Baseline:
        self.pinned[baseline.model, baseline.suite_version, baseline.detector_version] = baseline
        return baseline

    async def baselines(self) -> Sequence[Baseline]:
        return list(self.pinned.values())

    async def baseline(self, model: str, suite_version: str, detector_version: str) -> Baseline | None:
        return self.pinned.get((model, suite_version, detector_version))


async def through(clock: ManualClock, work: Coroutine[Any, Any, T], step_s: float = 1.0) -> T:
    """Let time pass until the work is done."""
    task = asyncio.ensure_future(work)
    for _ in range(20_000):
        if task.done():
            return task.result()
        await clock.advance(step_s)
    raise AssertionError("it does not end")
