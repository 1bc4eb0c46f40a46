"""Joins the nightly evaluation to what it needs: the suite's files, the models to ask, the store, the breaker, people.

`pointsman eval` and the clock's job run the same code; only the run's name and who is told differ.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from sqlalchemy.ext.asyncio import AsyncEngine

from base.clock import Clock
from monitor.cron import Cron
from monitor.jobs import Job
from monitor.jobs import Run as Slot
from monitor.nightly.asking import Asking, Progress, Target
from monitor.nightly.night import NightlyRuns, begun, tell
from monitor.nightly.policy import NightlyPolicy, Price
from monitor.nightly.ports import Asks, Runs
from monitor.nightly.records import Result, Run, RunState, Trigger
from monitor.nightly.suite import Suite, builtin, load, read_files
from pointsman.assemble import Service
from pointsman.reporting import keep_report
from pointsman.settings import Settings
from router.recipes import made_safe
from store.sql_evals import SqlEvals

DAY_S = 86_400.0
LIMIT_S = 5 * 3_600.0
"""From 3 in the night until people come; what is not asked by then is taken up by the next try."""


class UnknownModel(ValueError):
    """A model was named that the configuration does not have."""


def policy_of(settings: Settings) -> NightlyPolicy:
    """The nightly policy, with the models' own prices where it names none."""
    own = {
        name: Price(input=model.price.input_per_million, output=model.price.output_per_million)
        for name, model in settings.models.items()
        if model.price is not None
    }
    money = next((model.price.currency for model in settings.models.values() if model.price is not None), None)
    nightly = settings.nightly
    changes: dict[str, Any] = {"prices": {**own, **nightly.prices}}
    if money is not None and "currency" not in nightly.model_fields_set:
        changes["currency"] = money
    return nightly.model_copy(update=changes)


def suite_of(policy: NightlyPolicy, files: Sequence[Path] = ()) -> Suite:
    """The suite of `files`, else of the policy, else the one that travels with the package. Raises SuiteError."""
    chosen = tuple(files) or tuple(Path(name) for name in policy.suites)
    return load(read_files(chosen) if chosen else builtin())


def targets_of(settings: Settings, models: Sequence[str] = ()) -> list[Target]:
    """The models to ask: those named, else the policy's, else all. Raises UnknownModel."""
    topology = settings.topology()
    names = tuple(models) or settings.nightly.models or tuple(topology.models)
    if missing := [name for name in names if name not in topology.models]:
        raise UnknownModel(f"no model named {', '.join(missing)}; known: {', '.join(topology.models)}")
    return [
        Target(model=name, vendor=model.vendor or name, endpoint=model.endpoints[0], least_tokens=model.least_tokens)
        for name, model in ((name, topology.models[name]) for name in dict.fromkeys(names))
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What runs a suite, joined."""

    runs: SqlEvals
    nightly: NightlyRuns


def evaluation_of(
    settings: Settings,
    policy: NightlyPolicy,
    upstream: Asks,
    engine: AsyncEngine,
    clock: Clock,
    rng: Random,
    *,
    told: Callable[[Result, Progress], None] | None = None,
    as_sent: bool = False,
) -> Evaluation:
    """`as_sent`: structured calls go out as the suite has them, not made safe as the router does."""
    runs = SqlEvals(engine)
    prepare = None if as_sent else partial(_made_safe, temperature=settings.router.structured_temperature)
    asking = Asking(upstream, runs, policy, clock, rng, prepare=prepare, told=told)
    return Evaluation(runs=runs, nightly=NightlyRuns(asking, runs, policy, settings.breaker, clock))


def evaluate_job(service: Service) -> Job:
    """The nightly run. It may be cut short and begun again: it goes on where it stopped, and ends once."""
    settings, clock = service.settings, service.clock
    policy = policy_of(settings)

    def told(result: Result, _progress: Progress) -> None:
        outcome = ("ill" if result.ill else "good") if result.counted else "unjudged"
        service.counts.answers[result.model, outcome] += 1

    evaluation = evaluation_of(settings, policy, service.upstream, service.engine, clock, service.deps.rng, told=told)

    async def work(slot: Slot) -> None:
        # Half a second of parsing: not in the loop that serves clients.
        suite, targets = await asyncio.to_thread(suite_of, policy), targets_of(settings)
        fresh = begun(f"nightly-{slot.slot}", Trigger.NIGHTLY, suite, targets, policy, clock.now_s())
        run = await taken_up(evaluation.runs, fresh, clock.now_s())
        if run is None:
            return
        # A model that was added since the run began is asked from the next night on.
        night = await evaluation.nightly.ask(run, suite, [t for t in targets if t.model in run.models])
        await tell(night, service.evidence, service.desk, clock.now_s())
        await keep_report(night, service.engine, policy, settings.monitor.timezone, clock)
        await evaluation.nightly.finish(night)
        await evaluation.runs.forget(clock.now_s() - policy.kept_days * DAY_S)
        await evaluation.runs.forget_texts(clock.now_s() - policy.replies_days * DAY_S)

    return Job(name="evaluate", cron=Cron(policy.evaluate, settings.monitor.timezone), work=work, limit_s=LIMIT_S)


async def taken_up(runs: Runs, fresh: Run, now_s: float) -> Run | None:
    """The slot's run: new, or one that was cut short; None when it has ended. Raises StoreUnavailable.

    Where the suite, the parameters or the detector was changed in the middle, what was answered belongs to another
    measurement: that run ends as failed, and one under a longer name begins anew.
    """
    run = await runs.begin(fresh)
    if _measures(run) != _measures(fresh) and run.state is not RunState.DONE:
        await runs.finish(run.id, RunState.FAILED, now_s, "the suite or the detector was changed in the middle")
        run = await runs.begin(replace(fresh, id=f"{fresh.id}-{fresh.suite_version}-{fresh.detector_version}"[:64]))
    return run if run.state is RunState.RUNNING else None


def _measures(run: Run) -> tuple[str, str]:
    return run.suite_version, run.detector_version


def _made_safe(body: Mapping[str, Any], temperature: float | None) -> Mapping[str, Any]:
    return made_safe(body, temperature)[0]
