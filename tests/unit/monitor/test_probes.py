"""Which answers prove something about a recovering model, and who else is sent prompts."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest

from base.faults import Fault
from breaker.levels import Level
from breaker.outcome import Outcome
from breaker.ports import StoreUnavailable
from detector import score
from monitor.probes.runner import Probed, ProbeRunner, judged_clean, suite
from tests.support.clock import ManualClock
from upstream.attempt import Attempt
from upstream.call import Call, Endpoint, Timeouts


def attempt(fault: Fault | None = None, text: str = "fine") -> Attempt:
    return Attempt(started_at=0.0, elapsed_s=1.0, fault=fault, text=text, verdict=score(text))


@pytest.mark.parametrize(
    ("fault", "clean"),
    [
        (None, True),
        (Fault.REPETITION, False),
        (Fault.EMPTY, False),
        (Fault.SERVER_ERROR, False),
        (Fault.RATE_LIMITED, None),
        (Fault.FORBIDDEN, None),
        (Fault.REJECTED, None),
        (Fault.LENGTH_IN_REASONING, True),
    ],
)
def test_only_answers_of_the_model_itself_settle_a_permit(fault: Fault | None, clean: bool | None) -> None:
    assert judged_clean(attempt(fault)) is clean


def test_the_suite_has_long_prompts_in_both_languages() -> None:
    prompts = suite()
    assert len(prompts) >= 24
    assert {p.language for p in prompts} == {"zh", "en"}
    assert all(p.max_tokens >= 300 for p in prompts)


class Permit:
    clean: bool | None = None

    def settle(self, clean: bool) -> None:
        self.clean = clean


class OnePermit:
    def __init__(self, level: Level) -> None:
        self.level, self.given, self.left = level, [], 1

    def levels(self) -> Mapping[str, Level]:
        return {"m": self.level}

    @contextmanager
    def permit(self, model: str) -> Iterator[Permit | None]:
        if not self.left:
            yield None
            return
        self.left -= 1
        self.given.append(Permit())
        yield self.given[-1]

    def monitor_beat(self) -> None: ...

    async def probes_wanted(self) -> Sequence[str]:
        return ()

    def note(self, **what: Any) -> None: ...


class Model:
    def __init__(self, reply: Attempt) -> None:
        self.reply, self.calls, self.timeouts = reply, [], []

    async def complete(self, call: Call, endpoint: Endpoint, timeouts: Timeouts) -> Attempt:
        self.calls.append(call)
        self.timeouts.append(timeouts)
        return self.reply


ENDPOINT = Endpoint(base_url="http://127.0.0.1", upstream_model="m")


def models() -> dict[str, Probed]:
    return {"m": Probed(endpoint=ENDPOINT)}


async def test_a_recovering_model_is_probed_under_a_permit() -> None:
    permits, model = OnePermit(Level.RECOVERING), Model(attempt())
    await ProbeRunner(model, permits, models, ManualClock(), Random(1)).once()
    assert [p.clean for p in permits.given] == [True]
    assert len(model.calls) == 1


async def test_a_model_that_is_not_recovering_is_left_alone() -> None:
    permits, model = OnePermit(Level.OPEN), Model(attempt())
    await ProbeRunner(model, permits, models, ManualClock(), Random(1)).once()
    assert not model.calls


class Asking(OnePermit):
    """A breaker that looks for a larger sample of some models, and keeps what was counted."""

    def __init__(self, level: Level, wanted: Sequence[str]) -> None:
        super().__init__(level)
        self.wanted, self.noted = wanted, []

    async def probes_wanted(self) -> Sequence[str]:
        return self.wanted

    def note(self, **what: Any) -> None:
        self.noted.append(what)


@pytest.mark.parametrize("level", [Level.HEALTHY, Level.REDUCED])
async def test_a_model_that_looks_ill_on_too_few_replies_is_asked_and_the_answer_counts(level: Level) -> None:
    permits, model = Asking(level, ["m", "gone"]), Model(attempt(Fault.REPETITION))
    await ProbeRunner(model, permits, models, ManualClock(), Random(1)).sample()
    assert [(n["model"], n["scene"], n["outcome"]) for n in permits.noted] == [("m", "probe", Outcome.DEGENERATE)]
    assert not permits.given, "no permit: it takes traffic anyway"


@pytest.mark.parametrize(("level", "wanted"), [(Level.OPEN, ["m"]), (Level.RECOVERING, ["m"]), (Level.REDUCED, [])])
async def test_who_is_shut_or_known_well_enough_is_not_asked(level: Level, wanted: list[str]) -> None:
    permits, model = Asking(level, wanted), Model(attempt())
    await ProbeRunner(model, permits, models, ManualClock(), Random(1)).sample()
    assert not model.calls


async def test_prompts_for_a_larger_sample_go_on_beside_probes_that_fail() -> None:
    clock, permits = ManualClock(), Asking(Level.REDUCED, ["m"])

    async def nobody_knows() -> Sequence[str]:
        raise StoreUnavailable("away")

    model = Model(attempt())
    runner = asyncio.create_task(ProbeRunner(model, permits, models, clock, Random(1)).run())
    await clock.advance(61)
    assert len(permits.noted) == 4
    permits.probes_wanted = nobody_knows  # type: ignore[method-assign]
    await clock.advance(60)
    assert not runner.done()
    runner.cancel()
    await asyncio.gather(runner, return_exceptions=True)


async def test_a_model_that_reasons_first_is_given_its_tokens_and_the_time_for_them() -> None:
    permits, model = OnePermit(Level.RECOVERING), Model(attempt())
    asked = {"m": Probed(endpoint=ENDPOINT, least_tokens=4_000)}
    await ProbeRunner(model, permits, lambda: asked, ManualClock(), Random(1)).once()
    assert model.calls[0].body["max_tokens"] == 4_000
    assert model.timeouts[0].total_s == 200.0


async def test_a_floor_below_the_suites_own_length_changes_nothing() -> None:
    permits, model = OnePermit(Level.RECOVERING), Model(attempt())
    asked = {"m": Probed(endpoint=ENDPOINT, least_tokens=100)}
    await ProbeRunner(model, permits, lambda: asked, ManualClock(), Random(1)).once()
    assert model.calls[0].body["max_tokens"] == suite()[0].max_tokens
    assert model.timeouts[0].total_s == 60.0


async def test_a_model_that_a_reload_brings_is_probed_too() -> None:
    permits, model, now = OnePermit(Level.RECOVERING), Model(attempt()), {}
    runner = ProbeRunner(model, permits, lambda: now, ManualClock(), Random(1))
    await runner.once()
    assert not model.calls
    now["m"] = Probed(endpoint=ENDPOINT)
    await runner.once()
    assert len(model.calls) == 1
