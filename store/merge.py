"""How the counts of several writers become the fleet's, and how long they are kept.

Decides; pure. In: rows of single writers.  Out: one row per (minute, scope) or bucket, oldest first.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from breaker.window import Counts, FastRow, MinuteRow, total

KEPT_S = 7_800.0
"""2 h 10 min (BREAKER.md, Redis): the longest window plus room for back-fill."""
FAST_KEPT_S = 300.0
"""5 min (BREAKER.md, Redis)."""
AHEAD_S = 5.0
"""A row from further ahead than this comes from a broken clock and is refused (BREAKER.md, Redis)."""
SESSIONS_CAP = 64
FINGERPRINTS_CAP = 16
"""Top fingerprints kept in one merged row; the burst rule asks for one that makes half of the bad replies."""


def acceptable(starts_at: float, now_s: float, kept_s: float = KEPT_S) -> bool:
    """Whether a minute or bucket that began at `starts_at` may be written at `now_s`, both server time."""
    return now_s - kept_s <= starts_at <= now_s + AHEAD_S


def merge_minutes(rows: Iterable[MinuteRow]) -> list[MinuteRow]:
    """Sum the writers up; rows that counted nothing are left out."""
    groups: dict[tuple[int, str], list[MinuteRow]] = {}
    for row in rows:
        groups.setdefault((row.minute, row.scope), []).append(row)
    merged = [
        MinuteRow(
            model=group[0].model,
            scope=scope,
            minute=minute,
            counts=total(row.counts for row in group),
            fingerprints=dict(_add_up(row.fingerprints for row in group).most_common(FINGERPRINTS_CAP)),
            detectors=group[0].detectors if len(group) == 1 else _versions(group),
        )
        for (minute, scope), group in sorted(groups.items())
    ]
    return [row for row in merged if row.counts != Counts()]


def merge_fast(rows: Iterable[FastRow]) -> list[FastRow]:
    """Add the writers' buckets up; sessions are united, because distinct counts do not add up."""
    groups: dict[int, list[FastRow]] = {}
    for row in rows:
        groups.setdefault(row.bucket, []).append(row)
    return [_one_bucket(bucket, group) for bucket, group in sorted(groups.items())]


def _one_bucket(bucket: int, group: list[FastRow]) -> FastRow:
    fingerprints = {name for row in group for name in row.loop_sessions}
    return FastRow(
        model=group[0].model,
        bucket=bucket,
        attempts=sum(row.attempts for row in group),
        hard=sum(row.hard for row in group),
        streams=sum(row.streams for row in group),
        stuck=sum(row.stuck for row in group),
        stuck_sessions=_union(row.stuck_sessions for row in group),
        loops=dict(sorted(_add_up(row.loops for row in group).items())),
        loop_sessions={name: _union(row.loop_sessions.get(name, ()) for row in group) for name in sorted(fingerprints)},
        detectors=_versions(group),
    )


def _versions(rows: Iterable[MinuteRow | FastRow]) -> tuple[str, ...]:
    return tuple(sorted({version for row in rows for version in row.detectors}))


def _add_up(parts: Iterable[Mapping[str, int]]) -> Counter[str]:
    sums: Counter[str] = Counter()
    for part in parts:
        sums.update(part)
    return sums


def _union(parts: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(sorted({session for part in parts for session in part})[:SESSIONS_CAP])
