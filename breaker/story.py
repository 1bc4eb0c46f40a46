"""A scenario's parts as the breaker's own records, and transitions in the words of a scenario.

Pure; the simulation and the replicas of the tests read a story by the same words.
"""

from collections.abc import Iterator, Sequence

from breaker.evidence import Evidence
from breaker.scenario import START_S, Expected, Found, Scenario, minute_of
from breaker.seen import Tally
from breaker.share import RouteCandidate
from breaker.snapshot import Transition
from breaker.window import Counts, FastRow, MinuteRow


def route_of(scenario: Scenario) -> tuple[RouteCandidate, ...]:
    """The one route of a scenario: its models with equal weights; a single one beside another that stays healthy."""
    models = scenario.models if len(scenario.models) > 1 else (*scenario.models, "(other)")
    return tuple(RouteCandidate(model=model, weight=1.0) for model in models)


def minute_rows(scenario: Scenario, model: str) -> Iterator[MinuteRow]:
    """The scenario's `traffic` as closed minutes of the whole model."""
    base = int(START_S // 60)
    for part in scenario.traffic:
        if scenario.of(part) == model:
            for said in part.by_minute():
                counts = Counts(
                    judged=said.n,
                    sentence_loop=said.k,
                    empty=said.empty,
                    structured=said.structured,
                    unreadable=said.unreadable,
                )
                yield MinuteRow(model=model, scope="", minute=base + said.minute, counts=counts)


def fast_rows(scenario: Scenario, model: str) -> Iterator[FastRow]:
    """The scenario's `fast` parts as 5-second buckets."""
    for part in scenario.fast:
        if scenario.of(part) == model:
            mark = {"f1": part.same} if part.same else {}
            yield FastRow(
                model=model,
                bucket=int(part.at_s // 5),
                attempts=part.attempts,
                hard=part.hard,
                streams=part.streams,
                stuck=part.stuck,
                stuck_sessions=part.sessions,
                loops=mark,
                loop_sessions=dict.fromkeys(mark, part.sessions),
            )


def evidence_of(scenario: Scenario, found: Found) -> Evidence:
    """A scenario's evidence as the record the monitor would file."""
    return Evidence(
        id=found.id,
        kind=found.kind,
        model=scenario.of(found),
        found_at=found.at_s,
        valid_until=found.at_s + 60.0 * found.valid_min,
        numbers=tuple(found.numbers.items()),
        scene=found.scene,
    )


def told_plainly(scenario: Scenario, told: Sequence[Transition]) -> list[Expected]:
    """Transitions in the words of a scenario file's `expect`; the first model goes without its name."""
    return [
        Expected(
            model=None if t.model == scenario.models[0] else t.model,
            minute=minute_of(t.at),
            **{"from": t.from_level, "to": t.to_level},
            reasons=t.reasons,
            enforced=t.enforced,
        )
        for t in told
    ]


def as_expected(scenario: Scenario) -> list[Expected]:
    """The scenario's `expect`, in the same words as `told_plainly`."""
    first = scenario.models[0]
    return [e.model_copy(update={"model": None}) if e.model == first else e for e in scenario.expect or ()]


def periods(rows: Sequence[MinuteRow], minute: int, span_min: int) -> tuple[Tally, Tally]:
    """n and k of the `span_min` minutes before `minute` of the scenario, and of those before them."""
    end = int(START_S // 60) + minute

    def of(first: int, last: int) -> Tally:
        counts = [row.counts for row in rows if row.scope == "" and first <= row.minute < last]
        return Tally(sum(c.judged for c in counts), sum(c.repeats for c in counts))

    return of(end - span_min, end), of(end - 2 * span_min, end - span_min)
