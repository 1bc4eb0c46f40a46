"""Replies that are no answer: empty, garbled, or not JSON where JSON was asked for.

Their denominator is the judged replies, of which they are part already (an empty reply was judged and did not repeat);
adding them to it would count them twice. Windows and minima are those of the repeats rules, lines are their own: a
healthy model has more empty replies than loops. Not among them: a reply whose limit was used up by reasoning, JSON that
was cut by the caller's limit, and JSON that breaks its schema, which no model may be able to keep.
"""

from breaker.levels import Level, Reason
from breaker.policy import BreakerPolicy
from breaker.seen import View
from breaker.triggers.low_traffic import last_replies, of_the_last
from breaker.triggers.reading import Reading, of_ratio
from breaker.triggers.rolling import streak


def soft_failures(view: View, policy: BreakerPolicy) -> Reading:
    """L1: >= 10 % in 10 minutes. L2: >= 20 % in 30. L3: >= 50 % for 15 minutes on end, or of the last 30 replies.

    The highest that fired; when none did, the reading of L1, which is the next to come.
    """
    warns = of_ratio(
        Reason.SOFT_FAILURES,
        Level.WARN,
        view.soft_window(policy.warn_window_min),
        line=policy.soft_warn_ratio,
        minimum=policy.warn_min_judged,
        least=policy.warn_min_repeats,
    )
    if view.soft is None:
        return warns
    reduces = of_ratio(
        Reason.SOFT_FAILURES,
        Level.REDUCED,
        view.soft.window(policy.reduce_window_min),
        line=policy.soft_reduce_ratio,
        minimum=policy.reduce_min_judged,
        least=policy.reduce_min_repeats,
    )
    last = of_the_last(Reason.SOFT_FAILURES, last_replies(view.soft, policy), policy.soft_open_ratio, policy)
    asked = (_on_end(view, policy), last, reduces, warns)
    return next((reading for reading in asked if reading is not None and reading.fired), warns)


def unreadable_json(view: View, policy: BreakerPolicy) -> Reading:
    """L1: >= 20 % of the replies of 10 minutes that were asked for as JSON hold none.

    It warns and goes no further: the model's prose is well. Where such replies are a large part of all, they reach the
    lines of `soft_failures`.
    """
    return of_ratio(
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
    return of_ratio(
        Reason.SOFT_FAILURES,
        Level.OPEN,
        view.soft.window(policy.open_window_min),
        line=policy.soft_open_ratio,
        minimum=policy.open_min_judged,
        least=policy.open_min_repeats,
    )
