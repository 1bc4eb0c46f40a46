"""The stream gate: what of a running reply may be sent now.

Driven without I/O or clock: `feed`, `tick`, `finish` return a Release. Everything is decided at fixed offsets of the
text (multiples of GRID), never at chunk borders, so the output is the same however the text was cut; only `hold_s`
looks at time. Why hold, cut and recover so: SPEC 2.5.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from detector.aftermath import Aftermath
from detector.classic import ClassicWatch
from detector.finding import Finding
from detector.outbox import Outbox
from detector.policy import GateMode, GatePolicy, RuleSet
from detector.profile import Profile, profile_of
from detector.score import figures_of, verdict_of
from detector.suspicion import Suspicion
from detector.text import width
from detector.verdict import CLEAN, GateState, Release, Verdict, passing
from detector.watch import STEP, Watch

GRID = 16  # a suspicion may begin at each of these; verdicts at each STEP = 2 * GRID
_STOPPING = frozenset({GateMode.SPLICE, GateMode.CUT, GateMode.RETRY})
_WORTH_SENDING = 16  # width of what comes after a loop at the very end, below which it is dropped with it


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
        self,
        policy: GatePolicy | None = None,
        profile: str | Profile | None = None,
        repetition_allowed: bool = False,
        timer: Callable[[], float] | None = None,
    ) -> None:
        """`timer` gives seconds, for the verdict's `cost_us`: of the looks alone, nearly all that a gate costs."""
        self.policy = policy or GatePolicy()
        self.profile = profile_of(profile, repetition_allowed=repetition_allowed)
        self.counters = Counters()
        self.verdict: Verdict = CLEAN
        self._timer, self._cost_s = timer or _no_time, 0.0
        self.state = GateState.PASSING
        self.stop_mode: GateMode | None = None
        self._blind = self.policy.mode is GateMode.OFF
        self._out = Outbox(self.policy.max_scan_chars)
        self._watch = self._new_watch()
        self._suspicion = Suspicion(self.profile.symbols)
        self._shift = 0  # offset of the text at which the present engine began
        self._loose: list[str] = []  # passed since the last look: not yet noted, nor seen by the engine
        self._parts: list[str] = []  # noted, not yet seen by the engine
        self._fed = 0
        self._grid = GRID  # offset of the next look
        self._edge = -1 if self._blind else GRID  # where something changes: the next look, or where a hold begins
        self._held = ""
        self._since = 0.0
        self._waived = False  # time ran out on this suspicion: not held again until it clears
        self._loop: Aftermath | None = None  # the loop being suppressed

    def _new_watch(self) -> Watch | ClassicWatch:
        if self.policy.rules is RuleSet.CLASSIC:
            return ClassicWatch(self.policy, self.profile)
        return Watch(self.profile)

    @property
    def shown(self) -> int:
        return self._out.shown + sum(map(len, self._loose))

    @property
    def cleaned(self) -> str:
        """The authoritative text: what was said without its loops; only the tail of very long ones (max_scan_chars)."""
        return self._out.text + "".join(self._loose) + self._held

    def feed(self, delta: str, now_s: float) -> Release:
        """Take the next piece of the reply; return what may be sent now. In healthy text that is `delta` itself."""
        fed = self._fed = self._fed + len(delta)
        if fed < self._edge and self.state is GateState.PASSING:
            self._loose.append(delta)
            return passing(delta)
        if self._blind:
            return passing(self._out.send(delta))
        if self.state is GateState.STOPPED:
            self.counters.suppressed_chars += len(delta)
            return Release(text="", state=GateState.STOPPED, verdict=self.verdict)
        began = self._timer()
        try:
            self._settle()
            text = self._walk(delta, now_s)
        except Exception:
            # A fault of ours never breaks a reply: the stream passes from here on, and the fault is counted.
            return self._give_up(delta)
        self._cost_s += self._timer() - began
        if self.state is GateState.PASSING:
            return passing(delta if text == delta else text)
        return self._answer(text)

    def passes(self, delta: str) -> bool:
        """Take a piece that may go as it is because no look is due yet, as most; False: nothing was taken, `feed` it."""
        fed = self._fed + len(delta)
        if fed >= self._edge or self.state is not GateState.PASSING:
            return False
        self._fed = fed
        self._loose.append(delta)
        return True

    def _settle(self) -> None:
        """Hand what passed between two looks to the engine and to the authoritative text."""
        if self._loose:
            text = "".join(self._loose)
            self._loose.clear()
            self._parts.append(self._out.send(text))

    def tick(self, now_s: float) -> Release:
        """Time went by without text; return what was held too long."""
        return self._answer(self._out.send(self._overdue(now_s)))

    def finish(self) -> Release:
        """The reply ended; return the rest that may be sent and the final verdict."""
        self.counters.fed_chars = self._fed
        text, began = "", self._timer()
        if not self._blind and self.state is not GateState.STOPPED:
            try:
                self._settle()
                text = self._end()
            except Exception:
                return self._give_up("")
        self._cost_s += self._timer() - began
        self.verdict = self._judged()
        return self._answer(self._out.send(text))._replace(verdict=self.verdict)

    def _judged(self) -> Verdict:
        """The verdict, with what it was judged by and what that cost."""
        rules, watch, metrics = self.profile, self._watch, self.verdict.metrics
        if not (self._blind or self.verdict.degenerate) and isinstance(watch, Watch):
            metrics = figures_of(watch)  # as of a whole reply
        return replace(
            self.verdict,
            metrics=metrics,
            profile=rules.name,
            thresholds=rules.thresholds,
            cost_us=self._cost_s * 1e6,
        )

    def _answer(self, text: str) -> Release:
        known = self.verdict if self.state in (GateState.STOPPED, GateState.SUPPRESSING) else None
        return Release(text=text, state=self.state, verdict=known)

    def _give_up(self, delta: str) -> Release:
        self.counters.errors += 1
        self._blind, self._edge = True, -1
        text = self._held + (self._loop.pending if self._loop else "") + delta
        self._held, self._loop, self.state = "", None, GateState.PASSING
        return self._answer(self._out.send(text))

    # -- from look to look ------------------------------------------------------------------------------------------

    def _walk(self, delta: str, now_s: float) -> str:
        """Go through the grid points inside this delta; return what goes out."""
        base = at = self._fed - len(delta)
        out: list[str] = []
        if self.state is GateState.PASSING and self._edge == self._grid:
            # The commonest way by far: one look, nothing seen.
            at = self._grid
            head, rest = delta[: at - base], delta[at - base :]
            self._parts.append(self._out.send(head))
            text = self._look(at, now_s)
            if not text and self.state is GateState.PASSING and self._fed < self._edge:
                self._parts.append(self._out.send(rest))
                return delta
            out += (head, text)
        else:
            out.append(self._out.send(self._overdue(now_s)))
        while at < self._fed:
            if self.state is GateState.STOPPED:
                self.counters.suppressed_chars += self._fed - at
                break
            stop = min(self._edge, self._fed)
            piece = delta[at - base : stop - base]
            out.append(self._out.send(self._carry(piece)))
            if stop == self._grid:
                out.append(self._look(stop, now_s))
            elif stop == self._edge:
                self._edge = self._grid
                self._hold(self._suspicion.still(self._watch.buf, "".join(self._parts)), stop, now_s)
            at = stop
        return "".join(out)

    def _look(self, at: int, now_s: float) -> str:
        """Decide at a grid point; return what goes out."""
        self._grid = self._edge = at + GRID
        return self._out.send(self._decide(at, now_s))

    def _carry(self, piece: str) -> str:
        """What of a piece before the next grid point goes out at once."""
        if self._loop is not None:
            self._loop.pending += piece
            return ""
        self._parts.append(piece)
        if self.state is GateState.PASSING:
            return piece
        self._held += piece
        over = len(self._held) - self.policy.hold_chars
        if over <= 0:
            return ""
        text, self._held = self._held[:over], self._held[over:]
        self.counters.over_held_chars += over
        return text

    def _decide(self, at: int, now_s: float) -> str:
        if self._loop is not None:
            return self._look_for_end(self._loop, at)
        watch, local = self._watch, at - self._shift
        watch.push("".join(self._parts))
        self._parts.clear()
        found = watch.check(local) if local % STEP == 0 else None
        if found is not None:
            return self._confirm(found, at)
        begin = self._suspicion.look(watch, local, GRID)
        watch.trim(local)
        if begin is None:
            self._waived = False
            return self._let_go(now_s)
        self._hold(begin, at, now_s)
        return ""

    # -- holding ----------------------------------------------------------------------------------------------------

    def _hold(self, begin: int | None, at: int, now_s: float) -> None:
        """Hold from `begin` (of the engine's text) on: at once, or when the text comes there."""
        if begin is None or self.state is not GateState.PASSING or self._waived or not self.policy.hold_chars:
            return
        if begin + self._shift > at:
            self._edge = min(self._grid, begin + self._shift)
            return
        self.state, self._since = GateState.HOLDING, now_s
        self.counters.holds += 1

    def _let_go(self, now_s: float | None = None) -> str:
        """The suspicion cleared: what was held goes out; `now_s` None: the reply ended."""
        if self.state is not GateState.HOLDING:
            return ""
        text, self._held, self.state = self._held, "", GateState.PASSING
        self.counters.held_chars += len(text)
        self.counters.hold_s += max(0.0, now_s - self._since) if now_s is not None else 0.0
        return text

    def _overdue(self, now_s: float) -> str:
        if self.state is not GateState.HOLDING or now_s - self._since < self.policy.hold_s:
            return ""
        self.counters.over_held_chars += len(self._held)
        self._waived = True
        return self._let_go(now_s)

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
        held, self._held, self._waived = self._held, "", False
        begin = at - len(held)
        safe = min(len(held), max(0, onset - begin))
        self.counters.suppressed_chars += len(held) - safe
        self._out.retract(max(0, begin - onset))
        if self.policy.mode in _STOPPING:
            self.state, self.stop_mode = GateState.STOPPED, self.policy.mode
        else:
            self.state = GateState.SUPPRESSING
            self._loop = Aftermath(found, watch.buf[max(0, found.start - watch.base) : seen], found.seen + shift)
        return held[:safe]

    def _look_for_end(self, loop: Aftermath, at: int) -> str:
        """While suppressing: has the reply found its way again?"""
        if len(loop.pending) < self.policy.escape_chars:
            return ""
        self.counters.suppressed_chars += loop.settle(at)
        if len(loop.pending) >= self.policy.escape_chars:
            return self._recover(loop.pending, at)
        if self.policy.hard_stop and loop.suppressed >= self.policy.hard_stop_chars:
            self.counters.hard_stops += 1
            self.state, self.stop_mode = GateState.STOPPED, self.policy.hard_stop_mode
        return ""

    def _recover(self, fresh: str, at: int) -> str:
        """Fresh content, which ends at `at`: a fresh engine judges it, and what it finds clean goes out."""
        self._loop = None
        self.counters.recoveries += 1
        # The new engine begins where the fresh text does, but on the gate's grid: its checks stand at multiples of STEP.
        lead = (at - len(fresh)) % GRID
        self._shift = at - len(fresh) - lead
        self._watch = watch = self._new_watch()
        self.state = GateState.PASSING
        watch.push("\n" * lead + fresh)
        for local in range(STEP, lead + len(fresh) + 1, STEP):
            found = watch.check(local)
            if found is not None:
                self._held = fresh
                return self._confirm(found, at)
        return fresh

    def _end(self) -> str:
        loop = self._loop
        if loop is not None:
            stale = loop.settle(self._fed)
            fresh, self._loop = loop.pending, None
            if width(fresh.strip()) < _WORTH_SENDING:
                self.counters.suppressed_chars += stale + len(fresh)
                return ""
            self.counters.suppressed_chars += stale
            self.counters.recoveries += 1
            return fresh
        self._watch.push("".join(self._parts))
        self._parts.clear()
        found = self._watch.check(self._fed - self._shift, final=True) if self._fed else None
        return self._confirm(found, self._fed) if found is not None else self._let_go()


def _no_time() -> float:
    return 0.0


def clean(text: str, *, profile: str | Profile | None = None, repetition_allowed: bool = False) -> str:
    """Return `text` without its loops, wherever they stand; one copy of each stays. Healthy text comes back whole."""
    gate = StreamGate(GatePolicy(mode=GateMode.SUPPRESS, hard_stop=False), profile, repetition_allowed)
    for at in range(0, len(text), 4096):
        gate.feed(text[at : at + 4096], 0.0)
    gate.finish()
    return gate.cleaned
