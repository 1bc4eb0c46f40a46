"""One nightly run from beginning to end: ask, compare, ask again where it doubled, tell the breaker and people.

Acts over ports. Every step may be done twice without harm (results, evidence, alerts and the report each have an identity),
and the run is marked done last; so a leader that dies in the middle is taken over by the next, and the run ends once.
"""

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from base.clock import Clock
from breaker.evidence import Evidence, EvidenceKind
from breaker.policy import BreakerPolicy
from breaker.seen import Tally
from detector.version import DETECTOR_VERSION
from monitor.alerts.alert import Alert, AlertKind, Severity
from monitor.nightly.asking import Asking, Target
from monitor.nightly.compare import BAD, Comparison, Standing, compare
from monitor.nightly.policy import NightlyPolicy
from monitor.nightly.ports import Findings, Runs
from monitor.nightly.records import Baseline, Result, Run, RunState, Trigger
from monitor.nightly.suite import Suite
from monitor.nightly.tally import ModelTally, by_model
from monitor.ports import AlertDesk

log = logging.getLogger(__name__)
SAMPLE_CHARS = 160
EVIDENCE_VALID_S = 86_400.0  # BREAKER.md: the nightly L1 is valid 24 h


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """What one run found, model by model."""

    run: Run
    results: tuple[Result, ...]
    tallies: Mapping[str, ModelTally]
    comparisons: Mapping[str, Comparison]
    baselines: Mapping[str, Baseline]


def begun(
    run_id: str, trigger: Trigger, suite: Suite, targets: Sequence[Target], policy: NightlyPolicy, now_s: float
) -> Run:
    """The record of a run that is about to start."""
    return Run(
        id=run_id,
        trigger=trigger,
        started_at=now_s,
        suite=suite.name,
        suite_version=asked_version(suite, policy.parameters),
        detector_version=DETECTOR_VERSION,
        prompts=len(suite.prompts),
        sampled=suite.sampled,
        models=tuple(target.model for target in targets),
        parameters=dict(policy.parameters),
    )


def asked_version(suite: Suite, parameters: Mapping[str, Any]) -> str:
    """The suite's version, another one where request fields are laid over it: other parameters, other baseline."""
    if not parameters:
        return suite.version
    told = suite.version + json.dumps(dict(parameters), sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(told.encode()).hexdigest()[:12]


class NightlyRuns:
    """Runs the suite to its end and says how each model stands. Raises StoreUnavailable."""

    def __init__(self, asking: Asking, runs: Runs, policy: NightlyPolicy, breaker: BreakerPolicy, clock: Clock) -> None:
        self._asking, self._runs, self._policy, self._breaker, self._clock = asking, runs, policy, breaker, clock

    async def ask(self, run: Run, suite: Suite, targets: Sequence[Target], *, again: bool = True) -> Night:
        """Ask what is not answered yet; ask a second time whoever doubled (`again`). The run is not ended here."""
        progress = await self._asking.ask(run, suite.prompts, targets)
        night = await self.look(run)
        doubled = (
            [t for t in targets if night.comparisons[t.model].standing is Standing.DOUBLED] if night.tallies else []
        )
        if doubled and again:
            log.info("evaluation %s: asking %s again", run.id, ", ".join(t.model for t in doubled))
            progress.skipped += (await self._asking.ask(run, suite.prompts, doubled, 2)).skipped
            night = await self.look(run)
        detail = "; ".join(f"{reason}: {count} prompts not asked" for reason, count in sorted(progress.skipped.items()))
        return replace(night, run=replace(run, detail=detail))

    async def look(self, run: Run) -> Night:
        """How each model stands by what is kept of the run."""
        results = tuple(await self._runs.results(run.id))
        first, second, pooled = by_model(results, 1), by_model(results, 2), by_model(results)
        pinned = {m: await self._runs.baseline(m, run.suite_version, run.detector_version) for m in run.models}
        found = {}
        for model in run.models:
            alone = [self._held(run, tallies.get(model), pinned[model]) for tallies in (first, second)]
            whole = self._held(run, pooled.get(model), pinned[model])
            twice = all(one.standing is Standing.DOUBLED for one in alone)
            # Not confirmed: what both rounds say together may still be worth a warning.
            found[model] = replace(whole, confirmed=twice) if model in second else alone[0]
        return Night(
            run=run,
            results=results,
            tallies=pooled,
            comparisons=found,
            baselines={model: one for model, one in pinned.items() if one is not None},
        )

    def _held(self, run: Run, found: ModelTally | None, pinned: Baseline | None) -> Comparison:
        return compare(
            found.total if found else Tally(),
            None if run.sampled or pinned is None else pinned.tally,
            self._breaker,
            min_judged=1 if run.sampled else self._policy.min_judged,
            classes=found.classes if found else None,
            pinned_classes=pinned.classes if pinned else None,
        )

    async def finish(self, night: Night) -> bool:
        """Mark the run done; False when it was ended by another."""
        return await self._runs.finish(night.run.id, RunState.DONE, self._clock.now_s(), night.run.detail)


def evidence_of(night: Night, now_s: float) -> list[Evidence]:
    """What the breaker is told: one record for each model that was held against a baseline and is worse."""
    found = []
    for model, one in night.comparisons.items():
        if one.standing not in BAD:
            continue
        numbers = {
            "rate": one.rate,
            "baseline": one.baseline,
            "chance": one.chance,
            "confirmed": float(one.confirmed),
            "n": float(one.tonight.n),
            "k": float(one.tonight.k),
        }
        found.append(
            Evidence(
                id=f"nightly:{night.run.id}:{model}",
                kind=EvidenceKind.NIGHTLY,
                model=model,
                found_at=now_s,
                valid_until=now_s + EVIDENCE_VALID_S,
                numbers=tuple(numbers.items()),
            )
        )
    return found


async def tell(night: Night, findings: Findings, desk: AlertDesk, now_s: float) -> None:
    """Hand the findings to the breaker and to people; models that are well again end their alerts. Raises StoreUnavailable.

    So does a night that is held against nothing, since its suite or the detector is another one: what an earlier night
    found can be neither confirmed nor found over any more. A sample is no such night, nor one of which too little came.
    """
    for evidence in evidence_of(night, now_s):
        await findings.add(evidence)
    for model, one in night.comparisons.items():
        if one.standing in BAD:
            await desk.fire(alert_of(night, model, now_s))
        elif one.standing in (Standing.SAME, Standing.BETTER):
            await desk.resolve(alert_of(night, model, now_s))
        elif one.standing is Standing.NO_BASELINE and not night.run.sampled:
            facts = {"run": night.run.id, "no_baseline": True}
            await desk.resolve(replace(alert_of(night, model, now_s), facts=facts))


def alert_of(night: Night, model: str, now_s: float) -> Alert:
    """Never CRITICAL: what a confirmed night does to its model is the breaker's move, and that wakes people, once."""
    one = night.comparisons[model]
    worst = max(one.shifts, key=lambda shift: shift.tonight.ratio - shift.baseline.ratio, default=None)
    return Alert(
        kind=AlertKind.NIGHTLY,
        subject=model,
        severity=Severity.WARN,
        at=now_s,
        model=model,
        facts={
            "run": night.run.id,
            "rate": one.rate,
            "baseline": one.baseline,
            "growth": one.growth,
            "chance": one.chance,
            "n": one.tonight.n,
            "k": one.tonight.k,
            "confirmed": one.confirmed,
            "top_class": worst.loop_class if worst else "",
            "sample": _worst_loop(night, model),
        },
    )


def _worst_loop(night: Night, model: str) -> str:
    """What the model's longest loop of the night says; "" where no text was kept."""
    ill = [result for result in night.results if result.model == model and result.ill and result.reply]
    longest = max(ill, key=lambda result: result.end - result.start, default=None)
    return longest.reply[longest.start : longest.end][:SAMPLE_CHARS] if longest is not None else ""
