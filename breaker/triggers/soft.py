"""Replies that are no answer: empty, garbled, or not JSON where JSON was asked for.

Their denominator is the judged replies, of which they are part already (an empty reply was judged and did not repeat);
adding them to it would count them twice. Windows and minima are those of the repeats rules, lines are their own: a
healthy model has more empty replies than loops. Not among them: a reply whose limit was used up by reasoning, JSON that
was cut by the caller's limit, and JSON that breaks its schema, which no model may be able to keep.
"""

from breaker.levels import Level, Reason
from breaker.policy import BreakerPolicy
from breaker.seen import Tally, View
from breaker.triggers.low_traffic import last_replies
from breaker.triggers.reading import Reading, at_least
from breaker.triggers.rolling import streak


def soft_failures(view: View, policy: BreakerPolicy) -> Reading:
    """L1: >= 10 % in 10 minutes. L2: >= 20 % in 30. L3: >= 50 % for 15 minutes on end, or of the last 30 replies.

    The highest that fired; when none did, the reading of L1, which is the next to come.
    """
    warns = _read(
        Reason.SOFT_FAILURES,
        Level.WARN,
        view.soft_window(policy.warn_window_min),
        line=policy.soft_warn_ratio,
        minimum=policy.warn_min_judged,
        least=policy.warn_min_repeats,
    )
    if view.soft is None:
        return warns
    reduces = _read(
        Reason.SOFT_FAILURES,
        Level.REDUCED,
        view.soft.window(policy.reduce_window_min),
        line=policy.soft_reduce_ratio,
        minimum=policy.reduce_min_judged,
        least=policy.reduce_min_repeats,
    )
    asked = (_on_end(view, policy), _of_the_last(view, policy), reduces, warns)
    return next((reading for reading in asked if reading is not None and reading.fired), warns)


def unreadable_json(view: View, policy: BreakerPolicy) -> Reading:
    """L1: >= 20 % of the replies of 10 minutes that were asked for as JSON hold none.

    It warns and goes no further: the model's prose is well. Where such replies are a large part of all, they reach the
    lines of `soft_failures`.
    """
    return _read(
        Reason.UNREADABLE_JSON,
        Level.WARN,
        view.formed_window(policy.warn_window_min),
        line=policy.json_warn_ratio,
        minimum=policy.warn_min_judged,
        least=policy.warn_min_repeats,
    )


def _on_end(view: View, policy: BreakerPolicy) -> Reading | None:
    """15 minutes on end, read as the rolling rule reads repeats."""
    if view.soft is None or streak(view.soft, policy, policy.soft_open_ratio) < policy.rolling_evaluations:
        return None
    return _read(
        Reason.SOFT_FAILURES,
        Level.OPEN,
        view.soft.window(policy.open_window_min),
        line=policy.soft_open_ratio,
        minimum=policy.open_min_judged,
        least=policy.open_min_repeats,
    )


def _of_the_last(view: View, policy: BreakerPolicy) -> Reading | None:
    """The last 30 replies, where minutes are too thin to judge."""
    if view.soft is None:
        return None
    last, line = last_replies(view.soft, policy), policy.soft_open_ratio
    return Reading(
        reason=Reason.SOFT_FAILURES,
        level=Level.OPEN,
        value=last.ratio,
        line=line,
        n=last.n,
        minimum=policy.low_traffic_requests,
        known=last.known(policy),
        fired=last.bad(policy, line),
        numbers=(("ratio", last.ratio), ("k", last.k), ("n", last.n), ("line", line), ("span_min", last.span_min)),
    )


def _read(reason: Reason, level: Level, seen: Tally, *, line: float, minimum: int, least: int) -> Reading:
    known = seen.n >= minimum
    return Reading(
        reason=reason,
        level=level,
        value=seen.ratio,
        line=line,
        n=seen.n,
        minimum=minimum,
        known=known,
        fired=known and seen.k >= least and at_least(seen.k, line, seen.n),
        numbers=(("ratio", seen.ratio), ("k", seen.k), ("n", seen.n), ("line", line)),
    )
