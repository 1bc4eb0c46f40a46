"""L2: one and the same loop comes out again and again, for several sessions (5-second buckets)."""

from collections import Counter

from breaker.levels import Level, Reason
from breaker.policy import BreakerPolicy
from breaker.seen import View
from breaker.triggers.reading import Reading, at_least


def burst(view: View, policy: BreakerPolicy) -> Reading:
    """One fingerprint >= 10 times in 5 minutes, >= half of the bad replies, from >= 3 sessions.

    The empty fingerprint stands for bad replies without one; it counts among the bad and is never the burst.
    """
    rows = view.fast_since(policy.burst_window_s)
    times: Counter[str] = Counter()
    sessions: dict[str, set[str]] = {}
    for row in rows:
        times.update(row.loops)
        for mark, who in row.loop_sessions.items():
            sessions.setdefault(mark, set()).update(who)
    bad = times.total()
    named = [(count, mark) for mark, count in times.items() if mark]
    most, mark = max(named, default=(0, ""))
    who_many = len(sessions.get(mark, ()))
    fired = (
        most >= policy.burst_repeats
        and at_least(most, policy.burst_bad_ratio, bad)
        and who_many >= policy.burst_sessions
    )
    return Reading(
        reason=Reason.BURST,
        level=Level.REDUCED,
        value=most,
        line=policy.burst_repeats,
        n=bad,
        minimum=policy.burst_repeats,
        known=bad >= policy.burst_repeats,
        fired=fired,
        numbers=(("same", most), ("bad", bad), ("sessions", who_many)),
    )
