"""Pins a run as a model's baseline: what later nights are held against, until a person pins another.

Decides. Never learned from a bad night: a run is pinned by name, whole, and only if enough of it was judged.
"""

from collections.abc import Sequence

from monitor.nightly.policy import NightlyPolicy
from monitor.nightly.records import Baseline, Result, Run, RunState
from monitor.nightly.tally import of_model


class NotPinnable(ValueError):
    """The run cannot be a baseline; the message says why and what to do."""


def baseline_of(
    run: Run, model: str, results: Sequence[Result], policy: NightlyPolicy, *, at: float, by: str, note: str = ""
) -> Baseline:
    """The baseline that `run` gives `model`; its version is set by the store. Raises NotPinnable."""
    if model not in run.models:
        raise NotPinnable(f"run {run.id} did not ask {model}; it asked {', '.join(run.models)}")
    if run.state is not RunState.DONE:
        raise NotPinnable(f"run {run.id} is {run.state}; let it end first: pointsman eval --resume {run.id}")
    if run.sampled:
        raise NotPinnable(f"run {run.id} asked a sample of {run.prompts} prompts; a baseline needs the whole suite")
    # Round 1 alone: the re-run is there only on nights that looked bad.
    found = of_model(model, [r for r in results if r.model == model and r.round == 1])
    if found.total.n < policy.min_judged:
        told = f"only {found.total.n} replies of {model} were judged in run {run.id}; nightly.min_judged asks for"
        raise NotPinnable(f"{told} {policy.min_judged}")
    return Baseline(
        model=model,
        suite_version=run.suite_version,
        detector_version=run.detector_version,
        version=0,
        run_id=run.id,
        n=found.total.n,
        k=found.total.k,
        classes=dict(found.classes),
        json_items=found.json.asked,
        json_valid=found.json.valid,
        ill_prompts=found.ill_prompts,
        served_model=found.served_model,
        pinned_at=at,
        pinned_by=by,
        note=note,
    )
