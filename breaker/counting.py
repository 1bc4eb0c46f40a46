"""What this process counted: absolute counts per model, scope and minute, kept until they are written.

Synchronous and cheap: the request path calls `note` and goes on.  One writer, one event loop; no locks.
Counts are absolute, so a flush that is sent twice changes nothing (HINCRBY with two lost replies ended at 300 for +100).
"""

from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass

from base.faults import Fault
from breaker.outcome import Outcome
from breaker.window import COUNT_NAMES, FAST_BUCKET_S, KEPT_FAST_S, KEPT_MIN, MINUTE_S, Counts, FastRow, MinuteRow
from detector.verdict import LoopClass, Verdict
from detector.version import DETECTOR_VERSION

SETTLE_S = 30.0
"""A closed minute is written once more when it has been still for so long: a failover may have lost the last writes."""
TOP_MARKS = 64
CAPPED_SESSIONS = 64
KEPT_FAILURES = 100
"""Moments kept of a row of hard failures; the policy asks for no more."""

AT = {name: index for index, name in enumerate(COUNT_NAMES)}
JUDGED, STREAMS, HARD_STOPS, SUPPRESSED = AT["judged"], AT["streams"], AT["hard_stops"], AT["suppressed_chars"]
TOKENS_IN, TOKENS_OUT, ELAPSED = AT["tokens_in"], AT["tokens_out"], AT["elapsed_ms"]
PHRASE_LOOP, STRUCTURED, REPAIRED = AT["phrase_loop"], AT["structured"], AT["repaired"]
UNREADABLE = AT["unreadable"]
BY_CLASS = {loop: AT[loop.value] for loop in LoopClass if loop.value in AT}
BY_FAULT = {
    Fault.CONNECT_FAILED: AT["connect_failed"],
    Fault.TIMEOUT_CONNECT: AT["timeouts"],
    Fault.TIMEOUT_FIRST_TEXT: AT["timeouts"],
    Fault.TIMEOUT_IDLE: AT["timeouts"],
    Fault.TIMEOUT_TOTAL: AT["timeouts"],
    Fault.SERVER_ERROR: AT["server_errors"],
    Fault.BROKEN_STREAM: AT["broken_streams"],
    Fault.GARBLED_PROTOCOL: AT["broken_streams"],
    Fault.RATE_LIMITED: AT["rate_limited"],
    Fault.FORBIDDEN: AT["forbidden"],
    Fault.ABANDONED: AT["abandoned"],
    Fault.ENDED_BY_US: AT["abandoned"],  # as little a word on the model as a client that left
    Fault.REFUSAL: AT["refused"],
    Fault.EMPTY: AT["empty"],
    Fault.GARBLE: AT["garble"],
    Fault.INVALID_FORMAT: AT["invalid_format"],
}
SOFT = frozenset({Fault.EMPTY, Fault.GARBLE, Fault.INVALID_FORMAT})
"""Faults that are part of the judged replies, so they count where those do (not where repetition was wanted)."""

MinuteKey = tuple[int, str, str]  # minute, model, scope
FastKey = tuple[int, str]  # bucket, model


class _Minute:
    __slots__ = ("counts", "marks")

    def __init__(self) -> None:
        self.counts = [0] * len(COUNT_NAMES)
        self.marks: dict[str, int] = {}


class _Fast:
    __slots__ = ("attempts", "hard", "loop_sessions", "loops", "streams", "stuck", "stuck_sessions")

    def __init__(self) -> None:
        self.attempts = self.hard = self.streams = self.stuck = 0
        self.stuck_sessions: set[str] = set()
        self.loops: dict[str, int] = {}
        self.loop_sessions: dict[str, set[str]] = {}


class _Row:
    """Hard failures in a row of one model on this replica, and when an attempt last succeeded."""

    __slots__ = ("failed_at", "first_at", "success_at")

    def __init__(self) -> None:
        self.failed_at: deque[float] = deque(maxlen=KEPT_FAILURES)
        self.first_at = 0.0
        self.success_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HardStreak:
    """A running row of hard failures: how many, when the first and the last of it were, since when nothing succeeded."""

    failures: int
    first_at: float
    last_at: float
    quiet_since: float


class LocalCounters:
    """Counts of this process. `boot_id` names the writer; every `now_s` is server time."""

    def __init__(self, boot_id: str) -> None:
        self.boot_id = boot_id
        self._minutes: OrderedDict[MinuteKey, _Minute] = OrderedDict()
        self._fast: OrderedDict[FastKey, _Fast] = OrderedDict()
        self._dirty_minutes: set[MinuteKey] = set()
        self._dirty_fast: set[FastKey] = set()
        self._sent_minutes: set[MinuteKey] = set()
        self._sent_fast: set[FastKey] = set()
        self._streaks: dict[str, _Row] = {}
        self._settled_to = 0
        # What a look through all rows would tell: at a thousand models there are half a million of them.
        self._trimmed_to = (0.0, 0.0)
        self._newest: dict[str, MinuteKey] = {}
        self._bad_at: dict[str, float] = {}
        self.written: set[str] = set()
        """Models whose counts the store has taken from this writer before."""

    def note(
        self,
        *,
        model: str,
        scene: str,
        endpoint: int | str,
        outcome: Outcome,
        fault: Fault | None,
        verdict: Verdict | None,
        stream: bool,
        session: str,
        tokens_in: int,
        tokens_out: int,
        elapsed_s: float,
        suppressed_chars: int,
        hard_stop: bool,
        now_s: float,
        arm: str = "",
        structured: bool = False,
        repaired: bool = False,
        unreadable: bool = False,
    ) -> None:
        """Count one attempt in the minute it ended, for the model, its scene, its endpoint and its gray arm."""
        bad = outcome is Outcome.DEGENERATE
        judged = bad or outcome is Outcome.GOOD
        adds = [(TOKENS_IN, tokens_in), (TOKENS_OUT, tokens_out), (ELAPSED, int(elapsed_s * 1_000))]
        if judged:
            adds.append((JUDGED, 1))
        if bad:
            loop = verdict.loop_class if verdict is not None else None
            # An upstream that ended with a repetition finish reason names no class; it still is one bad reply.
            adds.append((BY_CLASS.get(loop, PHRASE_LOOP) if loop is not None else PHRASE_LOOP, 1))
        soft = judged and fault in SOFT
        if fault is not None and (column := BY_FAULT.get(fault)) is not None and (soft or fault not in SOFT):
            adds.append((column, 1))
        if stream:
            adds.append((STREAMS, 1))
        if hard_stop:
            adds.append((HARD_STOPS, 1))
        if suppressed_chars:
            adds.append((SUPPRESSED, suppressed_chars))
        if structured:
            adds.append((STRUCTURED, 1))
        if repaired:
            adds.append((REPAIRED, 1))
        if unreadable and soft:
            adds.append((UNREADABLE, 1))
        mark = f"{verdict.fingerprint:016x}" if bad and verdict is not None and verdict.fingerprint is not None else ""
        minute = int(now_s // MINUTE_S)
        if bad or soft or outcome is Outcome.FAILED:
            self._bad_at[model] = now_s
        for scope in ("", f"scene:{scene}", f"endpoint:{endpoint}"):
            self._add(minute, model, scope, adds, mark)
        if arm:
            self._add(minute, model, f"arm:{arm}", adds, mark)
        if outcome is not Outcome.NOT_COUNTED:
            self._add_fast(int(now_s // FAST_BUCKET_S), model, outcome, stream, hard_stop, session, mark)
            self._add_streak(model, outcome is Outcome.FAILED, now_s)

    def _add(self, minute: int, model: str, scope: str, adds: list[tuple[int, int]], mark: str) -> None:
        key = (minute, model, scope)
        cell = self._minutes.get(key)
        if cell is None:
            cell = self._minutes[key] = _Minute()
            self._newest[model] = max(key, self._newest.get(model, key))
        counts = cell.counts
        for column, amount in adds:
            counts[column] += amount
        if mark and (mark in cell.marks or len(cell.marks) < TOP_MARKS):
            cell.marks[mark] = cell.marks.get(mark, 0) + 1
        self._dirty_minutes.add(key)

    def _add_fast(
        self, bucket: int, model: str, outcome: Outcome, stream: bool, hard_stop: bool, session: str, mark: str
    ) -> None:
        key = (bucket, model)
        cell = self._fast.get(key)
        if cell is None:
            cell = self._fast[key] = _Fast()
        cell.attempts += 1
        cell.streams += stream
        cell.hard += outcome is Outcome.FAILED
        if outcome is Outcome.DEGENERATE:
            if stream and hard_stop:
                cell.stuck += 1
                if session and len(cell.stuck_sessions) < CAPPED_SESSIONS:
                    cell.stuck_sessions.add(session)
            if mark not in cell.loops and len(cell.loops) >= TOP_MARKS:
                mark = ""  # counts among the bad; a burst has its mark again and again, so among the first it is
            cell.loops[mark] = cell.loops.get(mark, 0) + 1
            sessions = cell.loop_sessions.setdefault(mark, set())
            if session and len(sessions) < CAPPED_SESSIONS:
                sessions.add(session)
        self._dirty_fast.add(key)

    def _add_streak(self, model: str, failed: bool, now_s: float) -> None:
        row = self._streaks.get(model)
        if row is None:
            row = self._streaks[model] = _Row()
        if not failed:
            row.failed_at.clear()
            row.success_at = now_s
            return
        if not row.failed_at:
            row.first_at = now_s
        row.failed_at.append(now_s)

    def streak(self, model: str, since: float = 0.0) -> HardStreak | None:
        """The running row of hard failures, those before `since` left out; None when there is none.

        Without `since` failures from before a recovery, which another replica proved, would count once more.
        """
        row = self._streaks.get(model)
        failed_at = [at for at in row.failed_at if at >= since] if row is not None else []
        if row is None or not failed_at:
            return None
        quiet_since = row.first_at if row.success_at is None else row.success_at
        return HardStreak(
            failures=len(failed_at), first_at=row.first_at, last_at=failed_at[-1], quiet_since=quiet_since
        )

    def dirty(self, limit: int | None = None) -> tuple[list[MinuteRow], list[FastRow]]:
        """Rows that changed since they were last written, oldest first, at most `limit` minutes.

        Call `flushed` once they are kept; without it they come again.
        """
        self._sent_minutes |= self._dirty_minutes
        self._sent_fast |= self._dirty_fast
        self._dirty_minutes, self._dirty_fast = set(), set()
        due = sorted(key for key in self._sent_minutes if key in self._minutes)
        if limit is not None and len(due) > limit:
            # The running minute first: levels are decided on it while the older ones still follow.
            due = due[-limit:]
        minutes = [self._minute_row(key) for key in due]
        fast = [self._fast_row(key) for key in sorted(self._sent_fast) if key in self._fast]
        return minutes, fast

    def resend(self) -> None:
        """Everything kept counts as unwritten: the store may have lost any of it."""
        self._sent_minutes |= self._minutes.keys()
        self._sent_fast |= self._fast.keys()

    def touch(self, model: str) -> None:
        """Let the model's newest row be written again, if there is one."""
        newest = self._newest.get(model)
        if newest is not None and newest in self._minutes:
            self._sent_minutes.add(newest)

    def settle(self, now_s: float) -> None:
        """Let each minute that closed `SETTLE_S` ago be written once more."""
        closed = int((now_s - SETTLE_S) // MINUTE_S)
        if closed > self._settled_to:
            self._sent_minutes |= {key for key in self._minutes if self._settled_to <= key[0] < closed}
            self._settled_to = closed

    def flushed(self, minutes: Sequence[MinuteRow], fast: Sequence[FastRow]) -> None:
        """The rows of the last `dirty` are kept; what changed meanwhile stays dirty."""
        self._sent_minutes -= {(row.minute, row.model, row.scope) for row in minutes}
        self._sent_fast -= {(row.bucket, row.model) for row in fast}
        self._sent_minutes &= self._minutes.keys()
        self._sent_fast &= self._fast.keys()

    def trim(self, now_s: float) -> None:
        """Drop what is older than 130 minutes (5 minutes for the buckets): no rule looks that far."""
        oldest, oldest_fast = now_s // MINUTE_S - KEPT_MIN + 1, (now_s - KEPT_FAST_S) // FAST_BUCKET_S
        minutes_to, fast_to = self._trimmed_to
        self._trimmed_to = (oldest, oldest_fast)
        if oldest != minutes_to:
            for key in [key for key in self._minutes if key[0] < oldest]:
                del self._minutes[key]
        if oldest_fast != fast_to:
            for bucket in [key for key in self._fast if key[0] < oldest_fast]:
                del self._fast[bucket]

    def local(self, model: str) -> tuple[list[MinuteRow], list[FastRow]]:
        """This process's own rows of one model, for evaluating while the store is gone."""
        newest = self._newest.get(model)
        if newest is None:
            return [], []
        minutes = [(minute, model, "") for minute in range(newest[0] - KEPT_MIN, newest[0] + 1)]
        end = (newest[0] + 1) * MINUTE_S // FAST_BUCKET_S
        fast = [(bucket, model) for bucket in range(end - (KEPT_FAST_S + 2 * MINUTE_S) // FAST_BUCKET_S, end)]
        return (
            [self._minute_row(key) for key in minutes if key in self._minutes],
            [self._fast_row(bucket) for bucket in fast if bucket in self._fast],
        )

    def had_bad(self, model: str, now_s: float) -> bool:
        """Whether any reply of the rows kept here was degenerate, empty, malformed or failed; without one no rule by counts can fire."""
        return now_s - self._bad_at.get(model, float("-inf")) <= KEPT_MIN * MINUTE_S

    def _minute_row(self, key: MinuteKey) -> MinuteRow:
        minute, model, scope = key
        cell = self._minutes[key]
        counts = Counts(**dict(zip(COUNT_NAMES, cell.counts, strict=True)))
        return MinuteRow(
            model=model,
            scope=scope,
            minute=minute,
            counts=counts,
            fingerprints=dict(cell.marks),
            detectors=(DETECTOR_VERSION,),
        )

    def _fast_row(self, key: FastKey) -> FastRow:
        bucket, model = key
        cell = self._fast[key]
        return FastRow(
            model=model,
            bucket=bucket,
            attempts=cell.attempts,
            hard=cell.hard,
            streams=cell.streams,
            stuck=cell.stuck,
            stuck_sessions=tuple(sorted(cell.stuck_sessions)),
            loops=dict(cell.loops),
            loop_sessions={mark: tuple(sorted(who)) for mark, who in cell.loop_sessions.items()},
            detectors=(DETECTOR_VERSION,),
        )
