"""Models that no rule can move now, so that a large fleet is passed over in a moment.

Decides; pure.  In: where a model stands and what was seen.  Out: whether `next_snapshot` would return it unchanged.
Every rule by counts asks for at least one repeat, soft or hard failure, loop or stuck stream, every other one for evidence, and
a healthy model in automatic mode waits for nothing: no clear line, no cool-down, no verdict, no expiry.
A test holds this against `next_snapshot` on drawn counts.
"""

from breaker.levels import Level, Mode
from breaker.seen import Seen
from breaker.snapshot import Snapshot


def is_quiet(here: Snapshot, seen: Seen) -> bool:
    """Healthy, and nothing bad was seen in any minute or bucket, watermark or not."""
    return (
        here.level is Level.HEALTHY
        and here.mode is Mode.AUTO
        and not seen.evidence
        and not any(row.hard or row.stuck or row.loops for row in seen.fast)
        and not any(row.counts.repeats or row.counts.soft for row in seen.minutes)
    )
