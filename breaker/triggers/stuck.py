"""L3 at once: streams stuck on a large scale, on 5-second buckets.

Sessions are asked for because one client that retries one prompt is not the model's illness.
"""

from breaker.levels import Level, Reason
from breaker.policy import BreakerPolicy
from breaker.seen import View
from breaker.triggers.reading import Reading, at_least


def stuck_streams(view: View, policy: BreakerPolicy) -> Reading:
    """>= 5 streams stopped hard within 2 minutes, from >= 3 sessions, and >= 20 % of streams."""
    rows = view.fast_since(policy.stuck_window_s)
    stuck = sum(row.stuck for row in rows)
    streams = max(stuck, sum(row.streams for row in rows))
    sessions = len({session for row in rows for session in row.stuck_sessions})
    enough = stuck >= policy.stuck_streams and sessions >= policy.stuck_sessions
    return Reading(
        reason=Reason.STUCK_STREAMS,
        level=Level.OPEN,
        value=stuck,
        line=policy.stuck_streams,
        n=streams,
        minimum=policy.stuck_streams,
        known=streams >= policy.stuck_streams,
        fired=enough and at_least(stuck, policy.stuck_stream_ratio, streams),
        numbers=(("stuck", stuck), ("streams", streams), ("sessions", sessions)),
    )
