"""Why a model stands where it stands and what would move it, in words, Chinese and English: for pages, JSON and terminals.

In:  readings and explanations of the breaker.  Out: one line each; the wording is in the locale files.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from breaker.explain import RATIO_RULES, Explanation
from breaker.levels import Level, Mode, Reason
from breaker.policy import BreakerPolicy
from breaker.recovery import is_hard, passes_after
from breaker.snapshot import Snapshot
from breaker.triggers import Reading
from console.render import pct
from console.words import Words, duration

FINDINGS = frozenset({Reason.NIGHTLY, Reason.SCENE, Reason.COMPLAINTS, Reason.HARD_IN_A_ROW})
"""Rules that read what others found; without a finding there is nothing to count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleLine:
    """One rule as a row: its name, its figure against its line, its sample, and `state`.

    `state`: fired, quiet, unknown (below the minimum sample), or none (nobody found anything).
    """

    reason: Reason
    name: str
    level: Level
    value: str
    line: str
    sample: str
    state: str
    ratio: float | None
    words: str


def rule_line(reading: Reading, t: Words) -> RuleLine:
    """The rule in one sentence, and in parts for a table."""
    missing = "none" if reading.reason in FINDINGS else "unknown"
    state = "fired" if reading.fired else "quiet" if reading.known else missing
    name, value, line = t(f"reason.{reading.reason}"), _figure(reading, reading.value), _figure(reading, reading.line)
    words = t(f"rule.{state}", name=name, value=value, line=line, n=reading.n, minimum=reading.minimum)
    return RuleLine(
        reason=reading.reason,
        name=name,
        level=reading.level,
        value=value if reading.n or reading.fired else "–",
        line=f"≥ {line}",
        sample=f"{reading.n} / {reading.minimum}" if reading.minimum else "–",
        state=state,
        ratio=reading.value if reading.reason in RATIO_RULES and reading.n else None,
        words=words,
    )


def _figure(reading: Reading, value: float) -> str:
    return pct(value) if reading.reason in RATIO_RULES else f"{value:g}"


def reasons(here: Snapshot, t: Words) -> str:
    """Why it is where it is: the reasons of its last move."""
    return t("join").join(t(f"reason.{reason}") for reason in here.reasons)


def next_lines(
    here: Snapshot, explained: Explanation | None, policy: BreakerPolicy, now_s: float, t: Words
) -> list[str]:
    """What happens next, soonest first; at most four lines."""
    if here.mode in (Mode.FORCED_OPEN, Mode.FORCED_NORMAL):
        left = duration(t, here.mode_until - now_s)
        return [t(f"next.{here.mode}", left=left) if here.mode_until else t("next.forced_for_good")]
    return [*_next(here, explained, policy, now_s, t), *_mixed(explained, t)]


def told(explained: Explanation, t: Words) -> list[str]:
    """All that can move it, a line each: what happens next, then every rule that would take it higher."""
    above = [line for line in why_not(explained, t) if line.state != "none"]
    return [
        *next_lines(explained.snapshot, explained, explained.policy, explained.at, t),
        *(t("next.up", level=t(f"level.{line.level}"), rule=line.words) for line in above),
    ]


def _mixed(explained: Explanation | None, t: Words) -> Iterator[str]:
    if explained is not None and len(explained.detectors) > 1:
        yield t("next.mixed", versions=t("join").join(explained.detectors))


def _next(
    here: Snapshot, explained: Explanation | None, policy: BreakerPolicy, now_s: float, t: Words
) -> Iterator[str]:
    match here.level:
        case Level.OPEN:
            yield t("next.open", left=duration(t, here.until - now_s))
        case Level.RECOVERING:
            yield _probing(here, explained, policy, now_s, t)
        case Level.REDUCED:
            dwell = here.since + policy.reduce_dwell_s - now_s
            row = explained.clear_row if explained else 0
            values = {"line": pct(policy.reduce_clear_ratio), "wanted": policy.reduce_clear_evaluations}
            values |= {"soft": pct(policy.soft_reduce_clear_ratio)}
            yield (
                t("next.reduced_watched", left=duration(t, dwell), row=row, **values)
                if dwell > 0
                else t("next.reduced", row=row, **values)
            )
            yield t("next.up_open", line=pct(policy.open_ratio, 0))
        case Level.WARN:
            row = explained.clear_row if explained else 0
            line, soft = pct(policy.warn_clear_ratio), pct(policy.soft_warn_clear_ratio)
            yield t("next.warn", line=line, soft=soft, wanted=policy.warn_clear_min, row=row)
            yield t("next.up_reduced", line=pct(policy.reduce_ratio, 0))
        case _:
            yield _healthy(explained, policy, t)
    if here.pinned_until > now_s and here.level in (Level.WARN, Level.REDUCED):
        yield t("next.pinned", left=duration(t, here.pinned_until - now_s))


def _healthy(explained: Explanation | None, policy: BreakerPolicy, t: Words) -> str:
    if explained is None:
        return t("next.not_read")
    if explained.unknown:
        return t("next.unknown", minimum=policy.warn_min_judged)
    return t("next.healthy", line=pct(policy.warn_ratio, 0))


def _probing(here: Snapshot, explained: Explanation | None, policy: BreakerPolicy, now_s: float, t: Words) -> str:
    done = explained.probes if explained else ()
    good = sum(done)
    left = duration(t, here.until - now_s)
    if is_hard(here.cause):
        return t("next.probing_hard", good=good, bad=len(done) - good, wanted=policy.probe_hard_good, left=left)
    clean, one, two = (passes_after(bad, policy) for bad in range(3))
    return t("next.probing", good=good, bad=len(done) - good, left=left, clean=clean, one=one, two=two)


def why_not(explained: Explanation, t: Words) -> list[RuleLine]:
    """The rules that would take the model higher and do not: the answer to "why was it not taken off?"."""
    return [
        rule_line(reading, t)
        for reading in explained.rules
        if not reading.fired and reading.level.severity > explained.snapshot.level.severity
    ]
