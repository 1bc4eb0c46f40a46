"""How a model that was opened comes back: how long it cools down, and what its probes say.

In:  opens so far, probe results.  Out: seconds; a verdict or None.  Source: BREAKER.md, Coming back.
"""

import math
from collections.abc import Iterable
from enum import StrEnum

from breaker.levels import Reason
from breaker.policy import BreakerPolicy

HARD_REASONS = frozenset({Reason.HARD_FAILURES, Reason.HARD_IN_A_ROW})


class ProbeVerdict(StrEnum):
    PASSED = "passed"
    FAILED = "failed"


def is_hard(cause: Iterable[Reason]) -> bool:
    """Whether a model was opened for hard failures alone: such a model is judged by whether it answers at all."""
    reasons = set(cause)
    return bool(reasons) and reasons <= HARD_REASONS


def cooldown_s(open_count: int, *, hard: bool, jitter: float, policy: BreakerPolicy) -> float:
    """Seconds of cool-down before the `open_count`-th try (from 1). `jitter` in -1..1 is drawn by the caller."""
    base, cap = (
        (policy.hard_cooldown_s, policy.hard_cooldown_cap_s) if hard else (policy.cooldown_s, policy.cooldown_cap_s)
    )
    return min(base * max(1, open_count), cap) * (1.0 + policy.cooldown_jitter * max(-1.0, min(1.0, jitter)))


def forgiven(open_count: int, healthy_s: float, policy: BreakerPolicy) -> int:
    """The multiplier after `healthy_s` seconds of health: one open less per healthy hour."""
    return max(0, open_count - int(healthy_s // policy.forgive_s))


def passes_after(bad: int, policy: BreakerPolicy) -> int:
    """How many probes it takes to pass when `bad` of them are bad: 13, 21, 29 by the defaults. For people; see `judge_probes`."""
    good_ratio, bad_ratio = policy.probe_good_ratio, policy.probe_bad_ratio
    passes = math.log(policy.probe_false_pass / (1.0 - policy.probe_false_fail))
    step_clean, step_bad = math.log((1.0 - bad_ratio) / (1.0 - good_ratio)), math.log(bad_ratio / good_ratio)
    return bad + math.ceil((passes - bad * step_bad) / step_clean)


def judge_probes(results: Iterable[bool], *, hard: bool, policy: BreakerPolicy) -> ProbeVerdict | None:
    """Sequential test (Wald 1945) of 5 % bad against 25 %, errors 5 %/5 %; None: go on probing.

    Passes after 13 clean, 21 with one bad, 29 with two. A spent budget without a verdict is a failure: no permit is
    left that could bring one. After hard failures 3 good probes in a row pass and 3 bad ones in a row fail.
    """
    taken = tuple(results)
    if hard:
        last = taken[-policy.probe_hard_good :]
        if len(last) == policy.probe_hard_good and len(set(last)) == 1:
            return ProbeVerdict.PASSED if last[0] else ProbeVerdict.FAILED
        return ProbeVerdict.FAILED if len(taken) >= policy.probe_budget else None
    good, bad = policy.probe_good_ratio, policy.probe_bad_ratio
    passes = math.log(policy.probe_false_pass / (1.0 - policy.probe_false_fail))
    fails = math.log((1.0 - policy.probe_false_pass) / policy.probe_false_fail)
    step_clean, step_bad = math.log((1.0 - bad) / (1.0 - good)), math.log(bad / good)
    evidence = 0.0
    for clean in taken:
        evidence += step_clean if clean else step_bad
        if evidence <= passes:
            return ProbeVerdict.PASSED
        if evidence >= fails:
            return ProbeVerdict.FAILED
    return ProbeVerdict.FAILED if len(taken) >= policy.probe_budget else None
