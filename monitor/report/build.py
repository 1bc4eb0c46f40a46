"""One night's findings → the daily report.

Pure. In: the night, the nights before it, yesterday's live counts.  Out: Report.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from breaker.seen import Tally
from monitor.nightly.compare import Comparison, Standing, interval
from monitor.nightly.night import Night
from monitor.nightly.policy import NightlyPolicy
from monitor.nightly.records import Baseline, Result
from monitor.nightly.tally import JsonTally, ModelTally
from monitor.report.document import Change, JsonPart, ModelPart, Part, Point, Report, Sample

TREND_DAYS = 14
MOST_SAMPLES = 12
SAMPLES_A_MODEL, SAMPLES_ALONE = 4, 6
"""Each model's, where many share the page; and where it has the page to itself: one of each class."""
BEFORE_CHARS, LOOP_CHARS, AFTER_CHARS = 160, 420, 80
ASKED_CHARS = 240
SEVERITY = {"doubled": 0, "worse": 1, "too_few": 2, "no_baseline": 3, "sampled": 3, "same": 4, "better": 5}


def report_of(
    night: Night,
    policy: NightlyPolicy,
    *,
    day: str,
    timezone: str,
    now_s: float,
    trend: Sequence[Point] = (),
    live: Mapping[str, Tally] | None = None,
) -> Report:
    """The report of `night`. `trend`: the nights before, oldest first, this one not included."""
    models = [
        _model(found, night.comparisons[model], night.baselines.get(model), night.run.sampled)
        for model, found in night.tallies.items()
    ]
    models.sort(key=lambda model: (SEVERITY.get(model.standing, 9), -model.total.ratio, model.model))
    today = [Point(day=day, model=model.model, total=_first_round(night, model.model)) for model in models]
    run = night.run
    return Report(
        day=day,
        made_at=now_s,
        timezone=timezone,
        run_id=run.id,
        suite=run.suite,
        suite_version=run.suite_version,
        detector_version=run.detector_version,
        prompts=run.prompts,
        started_at=run.started_at,
        ended_at=max((result.at for result in night.results), default=run.started_at),
        currency=policy.currency,
        priced=any(policy.price_of(model.model) for model in models),
        models=tuple(models),
        trend=(*trend, *today),
        live={model: part(tally) for model, tally in (live or {}).items()},
        samples=tuple(worst(night.results)),
        detail=run.detail,
        sampled=run.sampled,
    )


def part(tally: Tally) -> Part:
    return Part(n=tally.n, k=tally.k)


def _first_round(night: Night, model: str) -> Part:
    rows = [r for r in night.results if r.model == model and r.round == 1 and r.counted]
    return Part(n=len(rows), k=sum(r.ill for r in rows))


def _model(found: ModelTally, one: Comparison, pinned: Baseline | None, sampled: bool) -> ModelPart:
    low, high = interval(found.total)
    before = set(pinned.ill_prompts) if pinned else set()
    return ModelPart(
        model=found.model,
        total=part(found.total),
        low=low,
        high=high,
        standing="sampled" if sampled and one.standing is Standing.NO_BASELINE else one.standing.value,
        growth=one.growth,
        chance=one.chance,
        confirmed=one.confirmed,
        baseline=part(one.pinned) if one.pinned else None,
        baseline_rate=one.baseline,
        baseline_run=pinned.run_id if pinned and one.pinned else "",
        baseline_version=pinned.version if pinned and one.pinned else 0,
        classes=dict(found.classes),
        lures={name: part(tally) for name, tally in found.by_lure.items() if tally.n},
        languages={name: part(tally) for name, tally in found.by_language.items() if tally.n},
        json=_json(found.json),
        changes=tuple(
            Change(loop_class=s.loop_class, tonight=part(s.tonight), baseline=part(s.baseline), chance=s.chance)
            for s in one.shifts
        ),
        newly_ill=tuple(p for p in found.ill_prompts if p not in before) if pinned else (),
        no_longer_ill=len(before - set(found.ill_prompts)),
        faults=dict(found.faults),
        asked=found.asked,
        tokens_in=found.tokens_in,
        tokens_out=found.tokens_out,
        cost=found.cost,
        mean_s=found.elapsed_s / found.asked if found.asked else 0.0,
        served=tuple(sorted(found.served)),
        served_before=pinned.served_model if pinned else "",
    )


def _json(found: JsonTally) -> JsonPart:
    return JsonPart(
        asked=found.asked,
        parsed=found.parsed,
        valid=found.valid,
        right=found.right,
        steps=dict(found.steps or {}),
        reasons=dict(found.reasons or {}),
    )


def worst(results: Sequence[Result], most: int = MOST_SAMPLES) -> list[Sample]:
    """The worst reply of each class of loops, then those that repeat the most; each loop once, models in turn."""
    ill = [result for result in results if result.ill and result.reply]
    alike = Counter((result.model, result.fingerprint) for result in ill)
    by_model: dict[str, list[Result]] = {}
    for result in sorted(ill, key=lambda r: (-(r.end - r.start), -r.repeats, r.prompt_id)):
        by_model.setdefault(result.model, []).append(result)
    each = max(SAMPLES_A_MODEL, min(SAMPLES_ALONE, most // len(by_model))) if by_model else 0
    shown = [_of_every_class(theirs)[:each] for theirs in by_model.values()]
    turns = [theirs[turn] for turn in range(each) for theirs in shown if turn < len(theirs)]
    return [_sample(result, alike[result.model, result.fingerprint] - 1) for result in turns[:most]]


def _of_every_class(theirs: Sequence[Result]) -> list[Result]:
    """One model's bad replies without those of the same loop; the first of each class in front, common classes first."""
    unlike = list({result.fingerprint: result for result in reversed(theirs)}.values())[::-1]
    often = Counter(result.loop_class for result in theirs)
    first = {result.loop_class: result for result in reversed(unlike)}
    front = sorted(first.values(), key=lambda result: (-often[result.loop_class], result.loop_class))
    return [*front, *(result for result in unlike if result is not first[result.loop_class])]


def _sample(result: Result, alike: int) -> Sample:
    text, start, end = result.reply, min(result.start, len(result.reply)), min(result.end, len(result.reply))
    before, loop, after = text[:start], text[start:end], text[end:]
    if len(loop) > LOOP_CHARS:
        loop = f"{loop[: LOOP_CHARS - 100]} … {loop[-100:]}"
    return Sample(
        model=result.model,
        prompt_id=result.prompt_id,
        lure=result.lure,
        language=result.language,
        loop_class=result.loop_class,
        repeats=result.repeats,
        chars=result.reply_chars,
        fingerprint=result.fingerprint,
        asked=result.asked if len(result.asked) <= ASKED_CHARS else f"{result.asked[:ASKED_CHARS]} …",
        before=before if len(before) <= BEFORE_CHARS else f"… {before[-BEFORE_CHARS:]}",
        loop=loop,
        after=after if len(after) <= AFTER_CHARS else f"{after[:AFTER_CHARS]} …",
        alike=alike,
    )
