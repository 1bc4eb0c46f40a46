"""Counts attempts of model `m`, with what a test does not care about filled in."""

from breaker.counting import LocalCounters
from breaker.outcome import Outcome


def note_one(counters: LocalCounters, outcome: Outcome, now_s: float) -> None:
    """One attempt that ended at `now_s`, server time."""
    counters.note(
        model="m", scene="chat", endpoint=0, outcome=outcome, fault=None, verdict=None, stream=False, session="",
        tokens_in=0, tokens_out=0, elapsed_s=0.0, suppressed_chars=0, hard_stop=False, now_s=now_s,
    )  # fmt: skip
