"""How one attempt counts for the model that served it.

In:  the fault of the attempt (or None) and the detector's verdict.  Out: an Outcome.
Source of the classes: BREAKER.md, "What counts".
"""

from enum import StrEnum

from base.faults import HARD, Fault
from detector.verdict import REPETITION_CLASSES, Verdict


class Outcome(StrEnum):
    GOOD = "good"
    DEGENERATE = "degenerate"
    FAILED = "failed"
    NOT_COUNTED = "not_counted"


def classify(
    fault: Fault | None,
    verdict: Verdict | None,
    *,
    repetition_wanted: bool = False,
    first_restatement: bool = False,
    late_reader: bool = False,
) -> Outcome:
    """Return how the attempt counts.

    A hard fault is FAILED; a caller's own fault, our own end of it, a refusal, a rate limit and a reply whose request declared
    repetition wanted are NOT_COUNTED; soft faults of form (empty, format, garble) are judged replies, not repeats.
    `first_restatement`: the reply restates the one before, which restated none; only a second in a row is a repeat.
    `late_reader`: the time ran out while the client took nothing.
    """
    if late_reader:
        return Outcome.NOT_COUNTED
    if fault in HARD:
        return Outcome.FAILED
    skipped = {Fault.REJECTED, Fault.CONTEXT_TOO_LONG, Fault.REFUSAL, Fault.LENGTH_IN_REASONING}
    if (
        fault in skipped | {Fault.ABANDONED, Fault.ENDED_BY_US, Fault.RATE_LIMITED, Fault.FORBIDDEN}
        or repetition_wanted
    ):
        return Outcome.NOT_COUNTED
    if first_restatement:
        return Outcome.GOOD
    if fault is Fault.REPETITION or (verdict and verdict.degenerate and verdict.loop_class in REPETITION_CLASSES):
        return Outcome.DEGENERATE
    return Outcome.GOOD


def proven(fault: Fault | None, outcome: Outcome, *, unreadable: bool = False) -> bool | None:
    """What an attempt says as a probe: True clean, False ill, None nothing about the model.

    Stricter than the counts: an empty or garbled reply is no repeat, and no proof of health either; nor is one without
    any JSON where JSON was asked for (`unreadable`). A reply whose tokens went to reasoning is: reachable and thinking (CASES.md, H7).
    """
    if fault in (Fault.EMPTY, Fault.GARBLE) or unreadable:
        return False
    if fault is Fault.LENGTH_IN_REASONING:
        return True
    return {Outcome.GOOD: True, Outcome.DEGENERATE: False, Outcome.FAILED: False}.get(outcome)
