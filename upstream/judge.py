"""What one finished conversation amounts to: which fault, in the order in which replies are checked.

empty → refusal → repetition. A tool-only turn is fine; `length` with nothing but reasoning is the caller's limit, not an illness.
Pure.
"""

from base.faults import Fault
from detector.verdict import CLEAN, Health, LoopClass, Rule, Verdict

REPETITION_FINISH = frozenset({"repetition", "repetition_truncation", "repetitive", "repetition_detected"})
"""Finish reasons by which an upstream itself says that it looped (vLLM's and SGLang's detectors among them)."""
REFUSAL_FINISH = frozenset({"content_filter", "refusal", "sensitive", "safety"})

UPSTREAM_LOOP = Verdict(health=Health.DEGENERATE, rules=(Rule.UPSTREAM,))


def fault_of(
    *,
    text: str,
    reasoning: str,
    tools: bool,
    refusal: bool,
    finish_reason: str | None,
    verdict: Verdict,
    recovered: bool = False,
) -> Fault | None:
    """The fault of a reply that came to its end, or None. `recovered`: it looped, came back, and was cleaned on the way."""
    if finish_reason in REPETITION_FINISH:
        return Fault.REPETITION
    if refusal or finish_reason in REFUSAL_FINISH:
        return Fault.REFUSAL
    if verdict.degenerate and not recovered:
        return Fault.GARBLE if verdict.loop_class in (LoopClass.GARBLE, LoopClass.RARE) else Fault.REPETITION
    if not text.strip() and not tools:
        return Fault.LENGTH_IN_REASONING if finish_reason == "length" and reasoning.strip() else Fault.EMPTY
    return None


def verdict_with_finish(verdict: Verdict | None, finish_reason: str | None) -> Verdict:
    """The detector's verdict, or the upstream's own word that it repeated itself."""
    verdict = verdict or CLEAN
    return UPSTREAM_LOOP if finish_reason in REPETITION_FINISH and not verdict.degenerate else verdict
