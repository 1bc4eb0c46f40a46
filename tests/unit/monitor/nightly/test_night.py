"""One night: what is compared, asked again, told to the breaker and to people."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from breaker.evidence import Evidence, EvidenceKind
from breaker.levels import Level
from breaker.policy import BreakerPolicy
from breaker.seen import Seen, look
from breaker.triggers.findings import nightly
from monitor.alerts.alert import Alert, AlertKind, Severity
from monitor.nightly.asking import Asking
from monitor.nightly.baseline import NotPinnable, baseline_of
from monitor.nightly.compare import Standing
from monitor.nightly.night import Night, NightlyRuns, begun, evidence_of, tell
from monitor.nightly.records import RunState, Trigger
from monitor.nightly.suite import Suite
from tests.support.clock import ManualClock
from tests.support.evals import LOOP, QUICK, MemoryRuns, Models, attempt, baseline, prompts, target, through
from upstream.attempt import Attempt

SIZE = 100
POLICY = QUICK.model_copy(update={"min_judged": 80})
SUITE = Suite(name="standard", version="s1", prompts=prompts(SIZE), whole=SIZE)


class World:
    """A suite of 100 prompts, a model `a` that loops on so many of them in each round."""

    def __init__(self, loops: Callable[[int], int]) -> None:
        self.clock, self.runs = ManualClock(), MemoryRuns()
        self.models = Models(self.answer)
        self.loops = loops
        asking = Asking(self.models, self.runs, POLICY, self.clock, Random(1))
        self.nightly = NightlyRuns(asking, self.runs, POLICY, BreakerPolicy(), self.clock)

    def answer(self, _model: str, question: str) -> Attempt:
        round_ = (len(self.models.calls) - 1) // SIZE + 1
        return attempt(LOOP if int(question.split()[-1]) <= self.loops(round_) else "Fine, thank you.")

    async def night(self, suite: Suite = SUITE, run_id: str = "nightly-1") -> Night:
        fresh = begun(run_id, Trigger.NIGHTLY, suite, [target()], POLICY, self.clock.now_s())
        run = await self.runs.begin(fresh)
        night = await through(self.clock, self.nightly.ask(run, suite, [target()]))
        assert await self.nightly.finish(night)
        return night


class Desk:
    def __init__(self) -> None:
        self.fired: list[Alert] = []
        self.resolved: list[Alert] = []

    async def fire(self, alert: Alert) -> None:
        self.fired.append(alert)

    async def resolve(self, alert: Alert) -> None:
        self.resolved.append(alert)


class Door:
    def __init__(self) -> None:
        self.kept: list[Evidence] = []

    async def add(self, evidence: Evidence) -> bool:
        self.kept.append(evidence)
        return True


def asked_of_breaker(night: Night, now_s: float) -> tuple[bool, Level]:
    seen = look(Seen(evidence=evidence_of(night, now_s)), watermark=0.0, now_s=now_s + 60, grace_s=2.0)
    reading = nightly(seen, BreakerPolicy())
    return reading.fired, reading.level


async def test_without_a_baseline_nobody_is_told_anything() -> None:
    world = World(lambda _: 50)
    night = await world.night()
    assert night.comparisons["a"].standing is Standing.NO_BASELINE
    assert evidence_of(night, 0.0) == []
    assert len(world.models.calls) == SIZE


async def test_a_doubling_is_asked_again_and_when_confirmed_opens() -> None:
    world = World(lambda _: 30)
    await world.runs.pin(baseline(n=100, k=5))
    night = await world.night()
    one = night.comparisons["a"]
    assert len(world.models.calls) == 2 * SIZE
    assert (one.standing, one.confirmed, one.tonight.n, one.tonight.k) == (Standing.DOUBLED, True, 200, 60)
    assert asked_of_breaker(night, world.clock.now_s()) == (True, Level.OPEN)


async def test_a_doubling_that_does_not_come_again_only_warns() -> None:
    world = World(lambda round_: 30 if round_ == 1 else 6)
    await world.runs.pin(baseline(n=100, k=5))
    night = await world.night()
    assert not night.comparisons["a"].confirmed
    assert asked_of_breaker(night, world.clock.now_s()) == (True, Level.WARN)


async def test_a_model_as_it_was_ends_its_alert_and_is_asked_once() -> None:
    world, desk, door = World(lambda _: 5), Desk(), Door()
    await world.runs.pin(baseline(n=100, k=5))
    night = await world.night()
    await tell(night, door, desk, 1.0)
    assert len(world.models.calls) == SIZE
    assert (desk.fired, door.kept) == ([], [])
    assert [alert.key for alert in desk.resolved] == ["nightly:a:"]


async def test_a_worse_model_is_told_to_people_and_to_the_breaker_under_one_id() -> None:
    world, desk, door = World(lambda _: 30), Desk(), Door()
    await world.runs.pin(baseline(n=100, k=5))
    night = await world.night()
    for _ in range(2):  # a leader that took over tells it again
        await tell(night, door, desk, 1.0)
    assert {evidence.id for evidence in door.kept} == {"nightly:nightly-1:a"}
    assert door.kept[0].kind is EvidenceKind.NIGHTLY
    alert = desk.fired[0]
    assert (alert.kind, alert.severity, alert.model) == (AlertKind.NIGHTLY, Severity.WARN, "a")
    assert alert.facts["k"] == 60 and alert.facts["top_class"] == "phrase_loop"
    assert "The tram stops here again." in alert.facts["sample"] and len(alert.facts["sample"]) <= 160


async def test_a_sample_is_held_against_nothing() -> None:
    world, desk = World(lambda _: 30), Desk()
    await world.runs.pin(baseline(n=100, k=5))
    part = replace(SUITE, prompts=SUITE.prompts[:20])
    night = await world.night(part)
    assert night.comparisons["a"].standing is Standing.NO_BASELINE
    await tell(night, Door(), desk, 1.0)
    assert desk.resolved == [], "it says nothing of what a whole night found"


async def test_a_nightly_alert_stayed_open_for_good_after_its_baseline_fitted_no_more() -> None:
    world, desk = World(lambda _: 30), Desk()
    await world.runs.pin(baseline(n=100, k=5))
    other = replace(SUITE, version="s2")
    await tell(await world.night(other), Door(), desk, 1.0)
    assert [(alert.key, alert.facts) for alert in desk.resolved] == [
        ("nightly:a:", {"run": "nightly-1", "no_baseline": True})
    ]


async def test_too_few_answers_end_no_nightly_alert() -> None:
    world, desk = World(lambda _: 30), Desk()
    await world.runs.pin(baseline(n=100, k=5))
    few = replace(SUITE, prompts=SUITE.prompts[:50], whole=50)
    await tell(await world.night(few), Door(), desk, 1.0)
    assert (desk.fired, desk.resolved) == ([], [])


async def test_other_parameters_are_another_suite() -> None:
    hot = POLICY.model_copy(update={"parameters": {"temperature": 1.3}})
    cold = begun("r", Trigger.MANUAL, SUITE, [target()], POLICY, 0.0)
    assert begun("r", Trigger.MANUAL, SUITE, [target()], hot, 0.0).suite_version != cold.suite_version == "s1"


async def test_a_whole_run_can_be_pinned_and_is_what_later_nights_are_held_against() -> None:
    world = World(lambda _: 7)
    night = await world.night()
    done = await world.runs.run(night.run.id)
    assert done is not None and done.state is RunState.DONE
    pinned = baseline_of(done, "a", night.results, POLICY, at=9.0, by="op", note="spring release")
    assert (pinned.n, pinned.k, pinned.classes) == (100, 7, {"phrase_loop": 7})
    await world.runs.pin(pinned)
    assert (await world.night(run_id="nightly-2")).comparisons["a"].standing is Standing.SAME


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"models": ("b",)}, "did not ask a"),
        ({"state": RunState.RUNNING}, "let it end first"),
        ({"sampled": True}, "the whole suite"),
    ],
)
async def test_what_cannot_be_pinned_says_why(change: dict[str, object], words: str) -> None:
    world = World(lambda _: 0)
    night = await world.night()
    done = await world.runs.run(night.run.id)
    assert done is not None
    with pytest.raises(NotPinnable, match=words):
        baseline_of(replace(done, **change), "a", night.results, POLICY, at=0.0, by="op")
    with pytest.raises(NotPinnable, match="min_judged"):
        baseline_of(done, "a", night.results[:10], POLICY, at=0.0, by="op")
