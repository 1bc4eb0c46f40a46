"""Days of a service in minutes: one process assembled as it is, on a clock that moves only when told to.

Time goes by minutes: traffic is counted as the router counts it, and each background step is done once in a while: often
where something happens, seldom elsewhere. Redis, SQL, the models that are asked and the robots are real; nobody sleeps.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from sqlalchemy import text

from breaker.levels import Level
from breaker.outcome import Outcome
from detector.verdict import Health, LoopClass, Verdict
from monitor.alerts.notify import Notifier
from monitor.alerts.sender import AlertSender
from monitor.probes.runner import EVERY_S, ProbeRunner
from monitor.schedule import Schedule
from pointsman.assemble import Service, assembled
from pointsman.breaker_alerts import ConditionWatch
from pointsman.clockwork import schedule_of
from pointsman.operators import probed_of
from pointsman.settings import load
from pointsman.telling import ack_key, alert_client, renderer_of
from store.sql_notices import SqlDossiers, SqlNotices
from store.sql_outbox import SqlOutbox
from tests.support.clock import ManualClock

MINUTE_S = 60.0
HOUR_S = 3_600.0
DAY_S = 86_400.0
FLUSH_MIN = 20
PROBE_ROUNDS = 60
"""A recovery is decided by at most thirty probes, two at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One minute of one model: `n` judged replies, `k` of them repeating, in `scene`, of `arm` in a gray release."""

    n: int
    k: float = 0.0
    scene: str = "chat"
    arm: str = ""


Traffic = Callable[[float], Mapping[str, Load]]
"""Seconds since the week began → each model's minute."""


@dataclass(kw_only=True)
class Week:
    service: Service
    clock: ManualClock
    schedule: Schedule
    conditions: ConditionWatch
    probes: ProbeRunner
    notifier: Notifier
    sender: AlertSender
    rng: Random
    began: float

    @property
    def at(self) -> float:
        """Seconds since it began."""
        return self.clock.now_s() - self.began

    @property
    def calm(self) -> bool:
        """Whether every model is healthy."""
        return all(level is Level.HEALTHY for level in self.service.guard.levels().values())

    async def live(self, until: float, traffic: Traffic, stride: Callable[[float], int] = lambda _: 1) -> None:
        """Until `until` seconds after the beginning; the background steps come every `stride(at)` minutes."""
        while self.at < until:
            for minute in range(1, stride(self.at) + 1):
                for model, load_ in traffic(self.at).items():
                    self._count(model, load_)
                self.clock.tick(MINUTE_S)
                if minute % FLUSH_MIN == 0:
                    await self.service.guard.flush()
            await self._background()

    def _count(self, model: str, load_: Load) -> None:
        # Chance decides where a rate falls between two counts, so that a rate of 1 % is no steady beat.
        bad = int(load_.k) + (self.rng.random() < load_.k % 1)
        for index in range(load_.n):
            ill = index < bad
            mark = self.rng.getrandbits(63)
            verdict = Verdict(health=Health.DEGENERATE, loop_class=LoopClass.SENTENCE_LOOP, fingerprint=mark)
            self.service.guard.note(
                model=model,
                scene=load_.scene,
                endpoint=0,
                outcome=Outcome.DEGENERATE if ill else Outcome.GOOD,
                verdict=verdict if ill else Verdict(),
                session=f"s{self.rng.randrange(500)}",
                arm=load_.arm,
            )

    async def _background(self) -> None:
        guard, gray = self.service.guard, self.service.deps.gray
        if self.service.deps.feedback is not None:
            await self.service.deps.feedback.flush()  # type: ignore[attr-defined]
        await guard.flush()
        await guard.evaluate()
        await self._probe()
        await self.conditions.once()
        await self.schedule.beat()
        await self._jobs()
        # Its alarms ring by the machine's time: nobody leads between two steps, else a job would begin there.
        await self.schedule.stop()
        if gray is not None:
            await gray.poll()  # type: ignore[attr-defined]
        await self.notifier.once()
        await self.sender.once()

    async def _probe(self) -> None:
        """Ask recovering models, until it is decided where they stand."""
        guard = self.service.guard
        for _ in range(PROBE_ROUNDS):
            if Level.RECOVERING not in guard.levels().values():
                return
            await guard.lease_permits()
            await self.probes.once()
            self.clock.tick(EVERY_S)
            await guard.evaluate()

    async def _jobs(self) -> None:
        """Let what the schedule started run to its end; the clock goes on only as far as it waits for it."""
        idle = asyncio.ensure_future(self.schedule.idle())
        while not idle.done():
            await asyncio.wait({idle}, timeout=0.02)
            if not idle.done():
                await self.clock.advance(0.05, turns=1)
        await idle

    async def rows(self, query: str) -> list[dict[str, Any]]:
        async with self.service.engine.connect() as connection:
            return [dict(row) for row in (await connection.execute(text(query))).mappings().all()]


@asynccontextmanager
async def week(file: Path, now_s: float, seed: int = 7) -> AsyncIterator[Week]:
    """The service of the settings in `file`, from `now_s` on."""
    settings, clock = load(file, {}), ManualClock(now_s)
    async with assembled(settings, clock) as service, alert_client(settings.network) as client:
        alerts = settings.alerts
        notifier = Notifier(
            SqlNotices(service.engine), service.lease, service.boot_id, alerts.routing(), clock, alerts.policy,
            dossiers=SqlDossiers(service.engine), breaker=settings.breaker,
        )  # fmt: skip
        sender = AlertSender(
            SqlOutbox(service.engine), service.desk, service.lease, service.boot_id, alerts.all_channels(),
            alerts.routing(), renderer_of(service, ack_key(settings.data_dir, "")), client, clock, alerts.policy,
        )  # fmt: skip
        yield Week(
            service=service,
            clock=clock,
            schedule=schedule_of(service),
            probes=ProbeRunner(
                service.upstream,
                service.guard,
                lambda: probed_of(service.deps.topology),
                clock,
                service.deps.rng,
            ),
            conditions=ConditionWatch(service.guard, lambda: service.deps.topology, service.desk, clock),
            notifier=notifier,
            sender=sender,
            rng=Random(seed),
            began=now_s,
        )
