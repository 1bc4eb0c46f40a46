"""What is kept of a request: numbers of its verdict, and a redacted excerpt of each reply that failed.

A log that does not take a row is counted and logged; the answer is not held up.
"""

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from detector.verdict import Verdict
from router.ladder import Tried
from router.metrics import RouterMetrics
from router.ports import CallRow, FailedReply
from router.redact import excerpt
from router.tale import Tale
from upstream.attempt import Attempt

log = logging.getLogger("pointsman.router")
_Row = TypeVar("_Row", CallRow, FailedReply)
VERSION_CHARS = 128
"""A vendor's name for its model; more is no name."""


def handed_over(add: Callable[[_Row], None], row: _Row, metrics: RouterMetrics) -> None:
    """Give one row to the call log, whatever state that is in."""
    try:
        add(row)
    except Exception:
        metrics.log_failures.inc()
        log.exception("the call log did not take a row", extra={"request_id": row.request_id})


def failed_reply(attempt: Attempt, *, request_id: str, at: float, model: str, scene: str, limit: int) -> FailedReply:
    """The row of a reply that failed; at most `limit` characters of its text, 0 for none."""
    verdict = attempt.verdict
    onset = verdict.onset if verdict else None
    known = verdict is not None and verdict.fingerprint is not None
    return FailedReply(
        request_id=request_id,
        at=at,
        model=model,
        scene=scene,
        fault=attempt.fault.value if attempt.fault else "",
        loop_class=verdict.loop_class.value if verdict and verdict.loop_class else "",
        rules=tuple(r.value for r in verdict.rules) if verdict else (),
        metrics=numbers(verdict),
        fingerprint=f"{verdict.fingerprint:016x}" if verdict and known else "",
        onset=onset,
        excerpt=excerpt(attempt.raw_text or attempt.text, onset, limit),
    )


def with_version(told: dict[str, Any], tried: Tried) -> dict[str, Any]:
    """An attempt for the log: as told, and who the vendor says answered, so that a silent change is seen."""
    attempt = tried.attempt
    return told | {
        name: value[:VERSION_CHARS]
        for name, value in (("served", attempt.served_model), ("fingerprint", attempt.system_fingerprint))
        if value
    }


def call_row(tale: Tale, status: int, elapsed_s: float) -> CallRow:
    """The request's one row: no text."""
    verdict, usage = tale.verdict(), tale.usage()
    return CallRow(
        request_id=tale.id,
        at=tale.at,
        app=tale.caller.app,
        route=tale.route.name,
        scene=tale.scene,
        session=tale.request.session,
        served_model=tale.served.name if tale.served else "",
        fallback=tale.fallback,
        status=status,
        code=tale.code,
        verdict=tale.verdict_word(),
        loop_class=verdict.loop_class.value if verdict and verdict.loop_class else "",
        attempts=tuple(map(with_version, tale.attempts(), tale.tried)),
        metrics=numbers(verdict),
        stream=tale.request.stream,
        elapsed_ms=round(elapsed_s * 1000),
        first_text_ms=None if tale.first_text_s is None else round(tale.first_text_s * 1000),
        tokens_in=usage.prompt_tokens,
        tokens_out=usage.completion_tokens,
    )


def numbers(verdict: Verdict | None) -> dict[str, float]:
    """The figures of a verdict by name; empty when nothing was judged."""
    if verdict is None:
        return {}
    m = verdict.metrics
    return {
        "trigram_repeat": m.trigram_repeat,
        "char_repeat": m.char_repeat,
        "context_sim": m.context_sim,
        "cycle_count": float(m.cycle_count),
        "repeats": float(verdict.repeats),
        "cost_us": verdict.cost_us,
    }
