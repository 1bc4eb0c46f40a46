"""The tables of one model's page as they are taken away: figures as they were counted, without rounding and without words."""

from collections.abc import Mapping, Sequence

from breaker.snapshot import Transition
from console.csv_out import Sheet, records
from console.fleet_now import Row
from console.model_now import Kind, Loop, Part
from console.record_ports import Hour


def model_sheets(
    row: Row,
    *,
    kinds: Sequence[Kind],
    scenes: Sequence[Part],
    endpoints: Sequence[Part],
    loops: Sequence[Loop],
    moves: Sequence[Transition],
    past: Sequence[Hour],
) -> Mapping[str, Sheet]:
    """By the name that a link asks for. Times in seconds since the epoch, durations in milliseconds, ratios 0..1."""
    return {
        "rules": rules(row),
        "classes": records(kinds, "name", "count"),
        "scenes": Sheet(
            columns=("scene", "judged", "repeats", "ratio"),
            rows=((p.name, p.counts.judged, p.counts.repeats, p.counts.ratio) for p in scenes),
        ),
        "endpoints": Sheet(
            columns=("endpoint", "attempts", "hard_failures", "mean_ms"),
            rows=((p.name, p.attempts, p.counts.hard, p.mean_ms) for p in endpoints),
        ),
        "loops": Sheet(
            columns=("fingerprint", "count_2h", "class", "request_id", "at", "onset", "excerpt"),
            rows=(_loop(one) for one in loops),
        ),
        "hours": records(past, "at", "judged", "repeats"),
        "transitions": transitions(moves),
    }


def _loop(one: Loop) -> Sequence[object]:
    kept = one.sample
    known = (kept.loop_class, kept.request_id, kept.at, kept.onset, kept.excerpt) if kept else ()
    return (one.fingerprint, one.count, *known)


def rules(row: Row) -> Sheet:
    """Every rule as it reads now."""
    names = ("reason", "level", "value", "line", "n", "minimum", "known", "fired")
    readings = row.explanation.rules if row.explanation else []
    return records(readings, *names)


def transitions(moves: Sequence[Transition]) -> Sheet:
    """Every move with the figures it was made on."""
    return Sheet(
        columns=("at", "model", "from", "to", "reasons", "numbers", "actor", "note", "enforced"),
        rows=(
            (
                move.at,
                move.model,
                move.from_level,
                move.to_level,
                [reason.value for reason in move.reasons],
                [f"{name}={value:g}" for name, value in move.numbers],
                move.actor,
                move.note,
                move.enforced,
            )
            for move in moves
        ),
    )
