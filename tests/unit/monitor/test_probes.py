"""Which answers prove something about a recovering model."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from random import Random

import pytest

from base.faults import Fault
from breaker.levels import Level
from detector import score
from monitor.probes.runner import ProbeRunner, judged_clean, suite
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


class Model:
    def __init__(self, reply: Attempt) -> None:
        self.reply, self.calls = reply, []

    async def complete(self, call: Call, endpoint: Endpoint, timeouts: Timeouts) -> Attempt:
        self.calls.append(call)
        return self.reply


ENDPOINT = Endpoint(base_url="http://127.0.0.1", upstream_model="m")


async def test_a_recovering_model_is_probed_under_a_permit() -> None:
    permits, model = OnePermit(Level.RECOVERING), Model(attempt())
    await ProbeRunner(model, permits, {"m": ENDPOINT}, ManualClock(), Random(1)).once()
    assert [p.clean for p in permits.given] == [True]
    assert len(model.calls) == 1


async def test_a_model_that_is_not_recovering_is_left_alone() -> None:
    permits, model = OnePermit(Level.OPEN), Model(attempt())
    await ProbeRunner(model, permits, {"m": ENDPOINT}, ManualClock(), Random(1)).once()
    assert not model.calls
