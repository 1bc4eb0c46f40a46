"""How often this process looks for reference cycles: seldom, and never again among what it made at its start.

Acts on the interpreter. Source of the numbers: a router under load spent 10 % of its processor time in the collector with
Python's own thresholds (a full pass over everything imported took 80 ms, on the loop that serves everybody); with
these 4 %. What a request leaves behind is freed by reference counting; cycles are rare (a task that failed).
"""

import gc

THRESHOLDS = (5_000, 10, 10)


def collect_seldom() -> None:
    """Call once everything is open."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
