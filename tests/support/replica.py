"""One replica of the breaker that obeys orders: the same for a test's own process and for a process of its own.

Time is what each order says, so that all replicas stand in the same moment. The replica's own clock may be wrong: the
fleet's time reaches it as in life, through store/server_time.py, from a server whose clock is the orders'.
"""

import asyncio
from collections.abc import Mapping
from random import Random
from typing import Any

from base.clock import Clock
from base.faults import Fault
from breaker.edges import RefusedMove, enter
from breaker.evidence import Evidence, EvidenceStore
from breaker.guard import Guard
from breaker.levels import Level, Mode, Reason
from breaker.outcome import Outcome
from breaker.policy import BreakerPolicy
from breaker.ports import CountStore, Lease, ProbeStore, StateStore, TransitionLog
from breaker.share import RouteCandidate
from detector.verdict import Health, LoopClass, Verdict
from store.server_time import ServerTime
from tests.support.clock import ManualClock


class OrdersTime:
    """Stands where a link to Redis would, and answers TIME with the moment of the last order."""

    def __init__(self, now_s: float) -> None:
        self.now_s = now_s

    async def ask(self, question: Any) -> Any:
        return await question(self)

    async def time(self) -> tuple[int, int]:
        return int(self.now_s), round(self.now_s % 1.0 * 1e6)


class Replica:
    """`build` gives it its stores; they are handed `clock`, the fleet's time."""

    def __init__(self, boot_id: str, now_s: float, *, skew_s: float = 0.0) -> None:
        self.boot_id = boot_id
        self._server = OrdersTime(now_s)
        self.local = ManualClock(now_s + skew_s)
        self._skewed_s = skew_s
        self.clock: Clock = ServerTime(self._server, self.local)  # type: ignore[arg-type]

    def build(
        self,
        models: tuple[str, ...],
        policy: Mapping[str, Any],
        keep_last: tuple[tuple[str, ...], ...],
        counts: CountStore,
        states: StateStore,
        probes: ProbeStore,
        lease: Lease,
        log: TransitionLog,
        evidence: EvidenceStore | None,
    ) -> None:
        self.counts, self.evidence, self.probes = counts, evidence, probes
        self.guard = Guard(
            models,
            BreakerPolicy(**({"cooldown_jitter": 0.0} | dict(policy))),
            counts,
            states,
            probes,
            lease,
            log,
            self.clock,
            Random(1),
            self.boot_id,
            self.clock.now_s,
            evidence=evidence,
            keep_last=keep_last,
        )

    async def obey(self, order: Mapping[str, Any]) -> Any:
        """Move to the order's moment, refresh the fleet's time, do it. The answer is plain JSON."""
        fields = dict(order)
        await self._stand_at(fields.pop("at", self._server.now_s))
        return await getattr(self, fields.pop("do"))(**fields)

    async def _stand_at(self, now_s: float) -> None:
        self.local.tick(max(0.0, now_s - self._server.now_s))
        self._server.now_s = max(now_s, self._server.now_s)
        await self.clock.refresh()  # type: ignore[attr-defined]

    # -- orders ---------------------------------------------------------------------------------------------------

    async def skew(self, seconds: float) -> None:
        """The replica's own clock is stepped: its wall time jumps, the monotonic one does not."""
        self.local.step(seconds - self._skewed_s)
        self._skewed_s = seconds

    async def note(self, notes: list[dict[str, Any]]) -> None:
        """`notes`: fields of Guard.note; `times` of each."""
        for one in notes:
            fields = dict(one)
            times, mark = fields.pop("times", 1), fields.pop("mark", None)
            fields["outcome"] = Outcome(fields["outcome"])
            if "fault" in fields:
                fields["fault"] = Fault(fields["fault"])
            if mark is not None:
                fields["verdict"] = _looped(mark)
            for _ in range(times):
                self.guard.note(endpoint=0, **fields)

    async def flush(self) -> None:
        await self.guard.attempt(self.guard.flush)

    async def evaluate(self) -> None:
        await self.guard.attempt(self.guard.evaluate)

    async def poll(self) -> dict[str, Any]:
        """The last step of a tick; answers what this replica then knows."""
        await self.guard.attempt(self.guard.poll)
        await self.guard.attempt(self.guard.lease_permits)
        return await self.stands()

    async def stands(self) -> dict[str, Any]:
        guard = self.guard
        route = {"route": [RouteCandidate(model=model, weight=1.0) for model in self._route()]}
        return {
            "documents": {
                model: {
                    "epoch": (here := guard.snapshot(model)).epoch,
                    "level": here.level.value,
                    "mode": here.mode.value,
                    "until": here.until,
                    "open_count": here.open_count,
                    "would_be": here.would_be.value if here.would_be else None,
                }
                for model in guard.models
            },
            "conditions": [[c.kind.value, c.subject] for c in guard.conditions(route)],
            "overflow": guard.open_cap_hits,
        }

    def _route(self) -> tuple[str, ...]:
        return self.guard.models if len(self.guard.models) > 1 else (*self.guard.models, "(other)")

    async def probe(self, model: str, result: str) -> bool:
        """Take a permit and use it: `c`, `b`, or `q` for refused. False when none is at hand."""
        await self.guard.attempt(self.guard.lease_permits)  # once a second in life: leases of the last tick may be over
        with self.guard.permit(model) as permit:
            if permit is None:
                return False
            if result != "q":
                permit.settle(result == "c")
        await self.guard.attempt(self.guard.settle_permits)
        return True

    async def force(self, model: str, mode: str, until: float, times: int = 1) -> None:
        for _ in range(times):
            await self.guard.force(model, Mode(mode), "op", "scenario", until)

    async def reset(self, model: str) -> None:
        await self.guard.reset(model, "op", "scenario")

    async def policy(self, changes: dict[str, Any]) -> None:
        self.guard.policy = self.guard.policy.model_copy(update=changes)

    async def propose(self, model: str, level: str) -> bool:
        """Whether the machine knows the edge; the guard's own writer is used, as its evaluation would."""
        try:
            moved = enter(
                self.guard.snapshot(model), Level(level), self.clock.now_s(), (Reason.OPERATOR,), self.guard.policy
            )
        except RefusedMove:
            return False
        return await self.guard._write(self.guard.snapshot(model), moved)

    async def found(self, **record: Any) -> None:
        if self.evidence is None:
            raise AssertionError("this replica has no evidence store")
        numbers = tuple((name, value) for name, value in record.pop("numbers").items())
        await self.evidence.add(Evidence(numbers=numbers, **record))

    async def judged(self, minutes: int) -> dict[str, list[list[int]]]:
        """By model: minute, n and k of the last `minutes` minutes, this one included, as the store adds them up."""
        last = int(self.clock.now_s() // 60)
        out = {}
        for model in self.guard.models:
            rows = await self.counts.minutes(model, last - minutes + 1, last)
            out[model] = [[row.minute, row.counts.judged, row.counts.repeats] for row in rows if row.scope == ""]
        return out

    async def lease(self, model: str, asks: int, budget: int) -> int:
        """Ask for one permit `asks` times at once."""
        asked = (self.probes.lease(model, 1, 1, budget, 60.0) for _ in range(asks))
        return sum(await asyncio.gather(*asked))

    async def add(self, tasks: int, adds: int) -> int:
        """`tasks` tasks at once, each `adds` replies of the first model, while flushes go on beside them."""

        async def one() -> None:
            for index in range(adds):
                self.guard.note(model=self.guard.models[0], scene="chat", endpoint=0, outcome=Outcome.GOOD)
                if index % 40 == 0:
                    await asyncio.sleep(0)

        adding = asyncio.gather(*(one() for _ in range(tasks)))
        # Not a task to be cancelled: a shared connection would be left in the middle of an answer.
        while not adding.done():
            await self.guard.flush()
            await asyncio.sleep(0)
        await adding
        await self.guard.flush()
        return tasks * adds


def _looped(mark: int) -> Verdict:
    return Verdict(health=Health.DEGENERATE, loop_class=LoopClass.SENTENCE_LOOP, fingerprint=mark)
