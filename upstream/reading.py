"""An upstream's reply as bytes, under four limits: connect, first text, gap, total.

Acts: asks, reads, closes. One timer serves a whole reply: it is moved on when it fires, because setting a time-out anew
at every read costs more than the read (measured: a quarter of what a streamed event costs).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

from base.cancels import end
from base.clock import Clock
from base.faults import Fault
from upstream.call import Timeouts
from upstream.errors import CAUGHT, TimedOut
from upstream.peer import Reply

TICK = b"tick"
TICK_S = 0.25
"""How often a gate that holds text is asked again; a sixth of the longest hold (1.5 s)."""
LINGER_S = 0.02
"""How long after [DONE] the closing chunk is awaited, so that the connection can serve the next call."""
_LEAST_S = 0.001


class Limits:
    """When a stream has been silent, or has lasted, too long. Seconds of the clock handed in."""

    def __init__(self, timeouts: Timeouts, clock: Clock) -> None:
        self.began = clock.monotonic_s()
        self._clock = clock
        self._idle_s = timeouts.idle_s
        self._total_at = self.began + max(0.0, timeouts.total_s)
        self.quiet_since = self.began
        """When words came last; who knows that some came before may set it."""
        self._patience_s = timeouts.first_text_s
        self._spoke = False
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: asyncio.Task[object] | None = None
        self._cancelled_before = 0
        self._expired = False

    def heard(self, now: float) -> None:
        """Words came: the gap is counted from here."""
        self.quiet_since = now
        if not self._spoke:
            self._spoke, self._patience_s = True, self._idle_s
            self._sooner()

    @property
    def _silent_at(self) -> float:
        return self.quiet_since + self._patience_s

    def check(self, now: float) -> None:
        """Raises TimedOut when a limit has passed although bytes keep coming: keep-alives do."""
        if now >= self._silent_at or now >= self._total_at:
            raise self.timed_out()

    def left_s(self) -> float:
        """Until the nearest limit. Raises TimedOut when it has passed."""
        left = min(self._total_at, self._silent_at) - self._clock.monotonic_s()
        if left <= 0:
            raise self.timed_out()
        return left

    def fresh_s(self) -> float:
        """As `left_s`, but a gap that passed while nobody read is the client's slowness: what came meanwhile is read first."""
        now = self._clock.monotonic_s()
        if self._spoke and self._silent_at <= now:
            self.quiet_since = now
        return self.left_s()

    def timed_out(self) -> TimedOut:
        if self._total_at <= self._silent_at:
            return TimedOut(Fault.TIMEOUT_TOTAL, "total")
        return TimedOut(Fault.TIMEOUT_IDLE, "gap") if self._spoke else TimedOut(Fault.TIMEOUT_FIRST_TEXT, "first text")

    def waiting(self) -> None:
        """The current task is about to wait. It is cancelled when a limit passes: `passed` then says so. Raises TimedOut."""
        task = self._waiting = asyncio.current_task()
        assert task is not None
        self._cancelled_before = task.cancelling()
        if self._timer is None:
            self._arm(self.fresh_s())

    def done(self) -> None:
        self._waiting = None

    def passed(self) -> bool:
        """Whether the cancellation just caught was ours alone; somebody else's goes on."""
        task, self._waiting = self._waiting, None
        if not self._expired or task is None:
            return False
        self._expired = False
        return task.uncancel() <= self._cancelled_before

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _sooner(self) -> None:
        """The limit moved to an earlier moment, as the first words may move it: an armed timer only ever moves on by itself."""
        if self._timer is None:
            return
        self._timer.cancel()
        self._timer = None
        if self._waiting is not None:
            self._arm(min(self._total_at, self._silent_at) - self._clock.monotonic_s())

    def _arm(self, left_s: float) -> None:
        wait_s = max(_LEAST_S, self._clock.real_s(left_s))
        self._timer = asyncio.get_running_loop().call_later(wait_s, self._fire)

    def _fire(self) -> None:
        self._timer = None
        if self._waiting is None:
            return  # the next wait sets it anew
        left = min(self._total_at, self._silent_at) - self._clock.monotonic_s()
        if left > 0:
            self._arm(left)
            return
        self._expired = True
        self._waiting.cancel()


class Reading:
    """`open` once, `next` until None; `close` at any time."""

    def __init__(self, ask: Callable[[], Awaitable[Reply]], limits: Limits, clock: Clock) -> None:
        self.reply: Reply | None = None
        self._ask = ask
        self._limits = limits
        self._clock = clock
        self._parts: AsyncIterator[bytes] | None = None
        self.task: asyncio.Task[bytes | None] | None = None
        """The next read, where it is a task of its own."""

    async def open(self) -> Reply:
        limits = self._limits
        limits.left_s()  # passed already: nothing is begun that nobody would await
        limits.waiting()
        try:
            self.reply = reply = await self._ask()
        except asyncio.CancelledError:
            if limits.passed():
                raise limits.timed_out() from None
            raise
        finally:
            limits.done()
        self._parts = reply.parts()
        return reply

    def tap(self, take: Callable[[bytes], bytes | None], straight: Callable[[bytes], bytes | None]) -> None:
        """See upstream/peer.py; once open."""
        if self.reply is not None:
            self.reply.tap(take, straight)

    async def next(self, *, holding: bool) -> bytes | None:
        """The next bytes; None at the end; TICK when a gate that holds text wants to be asked. Raises TimedOut."""
        if not holding and self.task is None:
            return await self._part()
        # A read that is cancelled kills the body's generator, so while a gate holds the read is a task of its own
        # that outlives the tick.
        assert self._parts is not None
        if self.task is None:
            left = self._limits.fresh_s()
            self.task = asyncio.ensure_future(self._one())
        else:
            left = self._limits.left_s() if not self.task.done() else TICK_S
        wait = min(left, TICK_S) if holding else left
        done, _ = await asyncio.wait({self.task}, timeout=self._clock.real_s(wait))
        if done:
            task, self.task = self.task, None
            return task.result()
        if wait >= left:
            raise self._limits.timed_out()
        return TICK

    async def close(self, *, whole: bool) -> None:
        """Let the upstream go: kept for the next call when its reply is complete (`whole`), else closed."""
        self._limits.close()
        task, self.task = self.task, None
        try:
            if task is not None:
                await end((task,))
            elif whole and self._parts is not None:
                with suppress(TimeoutError, *CAUGHT):
                    async with asyncio.timeout(LINGER_S):
                        await anext(self._parts, None)
        finally:
            if self.reply is not None:
                with suppress(*CAUGHT):
                    await self.reply.aclose()

    async def _part(self) -> bytes | None:
        assert self._parts is not None
        limits = self._limits
        limits.waiting()
        try:
            return await self._parts.__anext__()
        except StopAsyncIteration:
            return None
        except asyncio.CancelledError:
            if limits.passed():
                raise limits.timed_out() from None
            raise
        finally:
            limits.done()

    async def _one(self) -> bytes | None:
        assert self._parts is not None
        return await anext(self._parts, None)
