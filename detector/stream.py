"""The stream gate: what of a running reply may be sent now.

Driven without I/O or clock: `feed`, `tick`, `finish` return a Release. Everything is decided at fixed offsets of the
text (multiples of GRID), never at chunk borders, so the output is the same however the text was cut; only `hold_s`
looks at time. Why hold, cut and recover so: SPEC 2.5.
"""

from dataclasses import asdict, dataclass, replace

from detector.classic import ClassicWatch
from detector.finding import Finding
from detector.policy import GateMode, GatePolicy, RuleSet
from detector.profile import profile_of
from detector.score import fresh_from, loop_trigrams, verdict_of
from detector.tail import periods, run_length
from detector.text import width
from detector.verdict import CLEAN, GateState, Release, Verdict
from detector.watch import STEP, Watch

GRID = 16  # a suspicion may begin at each of these; verdicts at each STEP = 2 * GRID
_MARGIN = 1  # the first copy often lacks the blank the others begin with
_STOPPING = frozenset({GateMode.SPLICE, GateMode.CUT, GateMode.RETRY})


@dataclass(slots=True)
class Counters:
    """What one gate did; sizes in characters, `hold_s` in seconds."""

    fed_chars: int = 0
    trips: int = 0
    recoveries: int = 0
    hard_stops: int = 0
    suppressed_chars: int = 0
    cleaned: int = 0
    errors: int = 0
    holds: int = 0
    held_chars: int = 0
    over_held_chars: int = 0
    hold_s: float = 0.0

    def as_dict(self) -> dict[str, float]:
        return asdict(self)


class StreamGate:
    """Guards one channel of one stream.

    `cleaned` is the authoritative text so far, `shown` counts the characters released, `verdict` what is known.
    An exception inside the detector turns the stream into pass-through and is counted; nothing raises.
    """

    def __init__(
        self, policy: GatePolicy | None = None, profile: str | None = None, repetition_allowed: bool = False
    ) -> None:
        self.policy = policy or GatePolicy()
        self.profile = profile_of(profile, repetition_allowed=repetition_allowed)
        self.counters = Counters()
        self.shown = 0
        self.verdict: Verdict = CLEAN
        self.state = GateState.PASSING
        self.stop_mode: GateMode | None = None
        self._blind = self.policy.mode is GateMode.OFF
        self._watch = self._new_watch()
        self._shift = 0  # offset of the text at which the present engine began
        self._parts: list[str] = []  # fed, not yet seen by the engine
        self._fed = 0
        self._grid = GRID  # offset of the next look
        self._edge = GRID  # offset where something changes: the next look, or where a hold begins
        self._clean: list[str] = []
        self._clean_chars = 0
        self._held = ""
        self._suspects: list[tuple[int, int]] = []  # (where a hold would begin, period; 0: in any case)
        self._since: float | None = None
        self._waived = False  # time ran out on this suspicion: not held again until it clears
        self._pending = ""  # what came while suppressing and may prove fresh
        self._known: frozenset[tuple[str, str, str]] = frozenset()
        self._finding: Finding | None = None
        self._suppressed_now = 0

    def _new_watch(self) -> Watch | ClassicWatch:
        return ClassicWatch(self.policy) if self.policy.rules is RuleSet.CLASSIC else Watch(self.profile)

    @property
    def cleaned(self) -> str:
        """The authoritative text: what was said without its loops; only the tail of very long ones (max_scan_chars)."""
        return "".join(self._clean) + self._held

    def feed(self, delta: str, now_s: float) -> Release:
        """Take the next piece of the reply; return what may be sent now. In healthy text that is `delta` itself."""
        fed = self._fed = self._fed + len(delta)
        if self.state is GateState.PASSING and (fed < self._edge or self._blind):
            if not self._blind:
                self._parts.append(delta)
            return Release(text=self._record(delta), state=GateState.PASSING)
        if self.state is GateState.STOPPED:
            self.counters.suppressed_chars += len(delta)
            return Release(text="", state=GateState.STOPPED, verdict=self.verdict)
        try:
            text = self._walk(delta, now_s)
        except Exception:
            # A fault of ours never breaks a reply: the stream passes from here on, and the fault is counted.
            return self._give_up(delta)
        return self._answer(delta if text == delta else text)

    def tick(self, now_s: float) -> Release:
        """Time went by without text; return what was held too long."""
        return self._answer(self._record(self._overdue(now_s)))

    def finish(self) -> Release:
        """The reply ended; return the rest that may be sent and the final verdict."""
        self.counters.fed_chars = self._fed
        text = ""
        if not self._blind and self.state is not GateState.STOPPED:
            try:
                text = self._end()
            except Exception:
                return self._give_up("")
        return replace(self._answer(self._record(text)), verdict=self.verdict)

    # -- sending ----------------------------------------------------------------------------------------------------

    def _answer(self, text: str) -> Release:
        known = self.verdict if self.state in (GateState.STOPPED, GateState.SUPPRESSING) else None
        return Release(text=text, state=self.state, verdict=known)

    def _record(self, text: str) -> str:
        """Note what goes out; the authoritative text is kept in bounded memory."""
        if text:
            self.shown += len(text)
            self._clean.append(text)
            self._clean_chars += len(text)
            if self._clean_chars > 2 * self.policy.max_scan_chars:
                tail = "".join(self._clean)[-self.policy.max_scan_chars :]
                self._clean, self._clean_chars = [tail], len(tail)
        return text

    def _retract(self, drop: int) -> None:
        """Take from the authoritative text what was shown of a loop after its first copy."""
        while self._clean and drop > 0:
            last = self._clean.pop()
            keep = last[: max(0, len(last) - drop)]
            drop -= len(last) - len(keep)
            self._clean_chars -= len(last) - len(keep)
            if keep:
                self._clean.append(keep)

    def _give_up(self, delta: str) -> Release:
        self.counters.errors += 1
        self._blind = True
        text, self._held, self._pending = self._held + self._pending + delta, "", ""
        self.state = GateState.PASSING
        return self._answer(self._record(text))

    # -- walking ----------------------------------------------------------------------------------------------------

    def _walk(self, delta: str, now_s: float) -> str:
        """Go through the grid points inside this delta; return what goes out."""
        out = [self._record(self._overdue(now_s))]
        base = self._fed - len(delta)
        at = base
        while at < self._fed:
            if self.state is GateState.STOPPED:
                self.counters.suppressed_chars += self._fed - at
                break
            stop = min(self._edge, self._fed)
            piece = delta[at - base : stop - base]
            self._parts.append(piece)
            out.append(self._record(self._carry(piece)))
            if stop == self._grid:
                self._grid = self._edge = stop + GRID
                out.append(self._record(self._decide(stop, now_s)))
            elif stop == self._edge:
                self._reach(stop, now_s)
            at = stop
        return "".join(out)

    def _carry(self, piece: str) -> str:
        """What of a piece before the next grid point goes out at once."""
        if self.state is GateState.PASSING:
            return piece
        if self.state is GateState.SUPPRESSING:
            self._pending += piece
            return ""
        self._held += piece
        over = len(self._held) - self.policy.hold_chars
        if over <= 0:
            return ""
        text, self._held = self._held[:over], self._held[over:]
        self.counters.over_held_chars += over
        return text

    def _decide(self, at: int, now_s: float) -> str:
        if self.state is GateState.SUPPRESSING:
            self._parts.clear()
            return self._look_for_end(at)
        watch = self._watch
        watch.push("".join(self._parts))
        self._parts.clear()
        local = at - self._shift
        found = watch.check(local) if local % STEP == 0 else None
        if found is not None:
            return self._confirm(found, at)
        begin = self._hold_from(local)
        watch.trim(local)
        if begin is None:
            self._waived = False
            return self._let_go(now_s)
        if self.state is GateState.PASSING and not self._waived and self.policy.hold_chars:
            self._edge = min(self._grid, max(at, begin + self._shift))
            if self._edge == at:
                self._hold(now_s)
        return ""

    def _reach(self, at: int, now_s: float) -> None:
        """Between two looks a hold was to begin here: it does if the text went on with one of its periods."""
        new, buf = "".join(self._parts), self._watch.buf
        going = [
            (begin, period) for begin, period in self._suspects if (buf[len(buf) - period :] + new).startswith(new)
        ]
        self._suspects = going
        later = min((begin + self._shift for begin, _ in going), default=self._grid)
        if later <= at:
            self._hold(now_s)
        else:
            self._edge = min(self._grid, later)

    def _hold(self, now_s: float) -> None:
        self.state, self._since, self._edge = GateState.HOLDING, now_s, self._grid
        self.counters.holds += 1

    def _let_go(self, now_s: float) -> str:
        if self.state is not GateState.HOLDING:
            return ""
        text, self._held, self.state = self._held, "", GateState.PASSING
        self.counters.held_chars += len(text)
        if self._since is not None:
            self.counters.hold_s += max(0.0, now_s - self._since)
        self._since = None
        return text

    def _overdue(self, now_s: float) -> str:
        if self.state is not GateState.HOLDING or self._since is None or now_s - self._since < self.policy.hold_s:
            return ""
        self.counters.over_held_chars += len(self._held)
        self._waived = True
        return self._let_go(now_s)

    def _hold_from(self, local: int) -> int | None:
        """Where a hold must begin so that no more of a loop is shown than may be; None: nothing looks periodic."""
        watch = self._watch
        begin = watch.hold_at if local % STEP == 0 else None
        buf, end = watch.buf, local - watch.base
        self._suspects = [] if begin is None else [(begin, 0)]
        if end < 24:
            return begin
        for period in periods(buf, end, anchor=6, least=1, most=100, tries=3):
            run = run_length(buf, end, period)
            allowed = local - run + max(32, 2 * period) - _MARGIN
            if allowed < local + GRID and run - period >= max(8, period // 2 - 8):
                self._suspects.append((allowed, period))
        return min((allowed for allowed, _ in self._suspects), default=None)

    # -- looping ----------------------------------------------------------------------------------------------------

    def _confirm(self, found: Finding, at: int) -> str:
        """A loop is certain: what stands before its onset goes out, the rest is dropped."""
        shift, watch = self._shift, self._watch
        onset = found.onset + shift
        self.counters.trips += 1
        self.counters.cleaned = 1
        seen = found.seen - watch.base
        if not self.verdict.degenerate:
            engine = watch if isinstance(watch, Watch) else None
            verdict = verdict_of(found, found.seen, engine, self.profile, watch.buf[max(0, seen - 4800) : seen])
            self.verdict = replace(verdict, start=found.start + shift, onset=onset, end=found.seen + shift)
        self._finding = found
        self._known = loop_trigrams(watch.buf[max(found.start - watch.base, seen - 8000, 0) : seen])
        held, self._held, self._since, self._waived = self._held, "", None, False
        begin = at - len(held)
        safe = min(len(held), max(0, onset - begin))
        self.counters.suppressed_chars += len(held) - safe
        self._retract(max(0, begin - onset))
        stops = self.policy.mode in _STOPPING
        self.state = GateState.STOPPED if stops else GateState.SUPPRESSING
        self.stop_mode = self.policy.mode if stops else None
        self._suppressed_now, self._pending = 0, ""
        return held[:safe]

    def _fresh_start(self, at: int) -> int:
        """Where in what is pending (it ends at `at`) the text stops saying what the loop said."""
        pending, found = self._pending, self._finding
        fresh = fresh_from(pending, self._known)
        if found is None or not found.period:
            return fresh
        size = found.period
        phase = (at - len(pending) - self._shift - found.start) % size
        ring = found.unit * ((len(pending) + phase) // size + 1)
        expect = ring[phase : phase + len(pending)]
        low, high = 0, len(pending)
        while low < high:
            middle = (low + high + 1) >> 1
            low, high = (middle, high) if pending[:middle] == expect[:middle] else (low, middle - 1)
        return max(fresh, low)

    def _look_for_end(self, at: int) -> str:
        """While suppressing: has the reply found its way again?"""
        if len(self._pending) < self.policy.escape_chars:
            return ""
        start = self._fresh_start(at)
        self.counters.suppressed_chars += start
        self._suppressed_now += start
        self._pending = self._pending[start:]
        if len(self._pending) >= self.policy.escape_chars:
            return self._recover(at)
        if self.policy.hard_stop and self._suppressed_now >= self.policy.hard_stop_chars:
            self.counters.hard_stops += 1
            self.state, self.stop_mode = GateState.STOPPED, self.policy.hard_stop_mode
        return ""

    def _recover(self, at: int) -> str:
        """Fresh content: a fresh engine judges it, and what it finds clean goes out."""
        fresh, self._pending, self._finding = self._pending, "", None
        self.counters.recoveries += 1
        # The new engine begins where the fresh text does, but on the gate's grid: its checks stand at multiples of STEP.
        lead = (at - len(fresh)) % GRID
        self._shift = at - len(fresh) - lead
        self._watch = watch = self._new_watch()
        self.state = GateState.PASSING
        watch.push("\n" * lead + fresh)
        local, size = 0, lead + len(fresh)
        while local + STEP <= size:
            local += STEP
            found = watch.check(local)
            if found is not None:
                self._held = fresh
                return self._confirm(found, at)
        return fresh

    def _end(self) -> str:
        if self.state is GateState.SUPPRESSING:
            self._parts.clear()
            start = self._fresh_start(self._fed)
            fresh, self._pending = self._pending[start:], ""
            if width(fresh.strip()) < 16:
                self.counters.suppressed_chars += start + len(fresh)
                return ""
            self.counters.suppressed_chars += start
            self.counters.recoveries += 1
            return fresh
        self._watch.push("".join(self._parts))
        self._parts.clear()
        found = self._watch.check(self._fed - self._shift, final=True) if self._fed else None
        return self._confirm(found, self._fed) if found is not None else self._let_go(self._since or 0.0)


def clean(text: str, *, profile: str | None = None, repetition_allowed: bool = False) -> str:
    """Return `text` without its loops, wherever they stand; one copy of each stays. Healthy text comes back whole."""
    gate = StreamGate(GatePolicy(mode=GateMode.SUPPRESS, hard_stop=False), profile, repetition_allowed)
    for at in range(0, len(text), 4096):
        gate.feed(text[at : at + 4096], 0.0)
    gate.finish()
    return gate.cleaned
