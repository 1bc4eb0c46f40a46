"""One tick of the breaker: whoever holds the lease reads the counts and moves the documents; and why nothing moved.

In:  counts, probe results and evidence, read through the ports.  Out: transitions, explanations.
The moves are decided by the pure machine (breaker/machine.py) and by what all models together tell (breaker/fleet.py).
While the store is gone, levels rise by this process's own counts and never fall.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from breaker.conditions import Condition, conditions
from breaker.evidence import PROBES_ASKED_EVERY_S, EvidenceKind, probes_asked
from breaker.explain import Explanation, explain
from breaker.fleet import Move, allowed, as_evidence, begun_hold, cap_evidence
from breaker.levels import Level, Mode
from breaker.machine import next_snapshot
from breaker.quiet import is_quiet
from breaker.seen import Seen
from breaker.share import RouteCandidate, without
from breaker.snapshot import Snapshot
from breaker.standing import Standing

log = logging.getLogger(__name__)

LEASE_NAME = "breaker-evaluate"
FAST_AT_ONCE = 50
FULL_AT_ONCE = 10
"""Models read and judged together: a few milliseconds, then the event loop is free for requests again."""


class Evaluating(Standing):
    """The part of a guard that decides."""

    @property
    def detector_suspect(self) -> bool:
        """Moves by ratio are held, because all models breached at once."""
        return self._hold is not None and self._server_now() < self._hold.until

    def conditions(
        self, routes: Mapping[str, Sequence[RouteCandidate]], *, refused: Collection[str] = ()
    ) -> tuple[Condition, ...]:
        """What holds now and must be told to people: see breaker/conditions.py. `refused`: who takes nothing from us."""
        now_s, levels = self._server_now(), without(self.levels(), refused)
        return conditions(self._snapshots, levels, routes, self._hold, self._silent_since, now_s)

    async def evaluate(self) -> None:
        """One tick: whoever holds the lease reads the counts and moves the documents. Raises StoreUnavailable."""
        await self._log_missed()
        fence = await self._lease.hold(LEASE_NAME, self._boot_id, self.policy.lease_s)
        if fence is None:
            self.explanations.clear()  # another replica knows better
            await self._propose_streaks()
            return
        await self.poll()
        now_s = self._server_now()
        # Also when the fleet's clock was set back behind the last one.
        full = not 0 <= now_s - self._full_at < self.policy.full_s and await self._reader.prepare(self.models, now_s)
        proposed: list[Move] = []
        at_once = FULL_AT_ONCE if full else FAST_AT_ONCE
        for start in range(0, len(self.models), at_once):
            some = self.models[start : start + at_once]
            proposed += await self._proposals([m for m in some if m in self._snapshots], now_s, full=full)
        # All are read before the first is moved: whether the detector is suspect is a question about all of them.
        await self._suspect(proposed, now_s)
        for here, moved in proposed:
            await self._move(here, moved, now_s, fence)
        if full:
            self._full_at = now_s

    async def _suspect(self, proposed: Sequence[Move], now_s: float) -> None:
        begun = begun_hold(self._snapshots, proposed, self._hold, self.policy, now_s)
        if begun is None:
            return
        self._hold = begun
        log.warning("detector suspect: %d models breached at once; moves by ratio are held", begun.models)
        if self._evidence is not None:
            await self._evidence.add(as_evidence(begun, self.policy))

    async def _proposals(self, models: Sequence[str], now_s: float, *, full: bool) -> list[Move]:
        """Where these models ask to go. Each question to the store leaves the event loop to others."""
        proposed: list[Move] = []
        read = await self._reader.read_of([self._snapshots[model] for model in models], now_s, full=full)
        for model, seen in read.items():
            here, jitter = self._snapshots.get(model), self._rng.uniform(-1.0, 1.0)
            if here is None:
                continue  # a reload took it away meanwhile
            if full:
                self.explanations[model] = told = explain(here, seen, self.policy, now_s)
                if told.probes_wanted and told.unknown and here.mode is Mode.AUTO:
                    await self._ask_for_probes(here, now_s)
            if is_quiet(here, seen):
                continue
            moved = next_snapshot(here, seen, self.policy, now_s, jitter)
            if moved is not here:
                proposed.append((here, moved))
        return proposed

    async def _ask_for_probes(self, here: Snapshot, now_s: float) -> None:
        slot = int(now_s // PROBES_ASKED_EVERY_S)
        if self._evidence is None or here.level is Level.RECOVERING or self._asked_probes.get(here.model) == slot:
            return
        self._asked_probes[here.model] = slot
        await self._evidence.add(probes_asked(here.model, slot, now_s))

    async def probes_wanted(self) -> Collection[str]:
        """Models that look ill on too few replies, as the evaluator found. Raises StoreUnavailable."""
        if self._evidence is None:
            return ()
        found = await self._evidence.evidence_of(self.models)
        return [m for m, records in found.items() if any(r.kind is EvidenceKind.PROBES_WANTED for r in records)]

    async def _propose_streaks(self) -> None:
        """A replica without the lease still proposes what only it can see: its own row of hard failures."""
        now_s = self._server_now()
        for model in self._standing():
            here = self._snapshots[model]
            if evidence := self._reader.streak(here, now_s):
                seen = Seen(evidence=evidence)
                moved = next_snapshot(here, seen, self.policy, now_s, self._rng.uniform(-1.0, 1.0))
                if moved is not here:
                    await self._move(here, moved, now_s, here.fence)

    async def _move(self, here: Snapshot, moved: Snapshot, now_s: float, fence: int) -> None:
        verdict = allowed(self._snapshots, here, moved, self._hold, self._keep_last, self.policy, now_s)
        if verdict.capped:
            await self._count_cap(here, now_s)
        if verdict.move is not None:
            await self._write(here, replace(verdict.move, fence=max(here.fence, fence)))

    async def _count_cap(self, here: Snapshot, now_s: float) -> None:
        if (here.model, here.watermark) in self._capped:
            return
        self._capped.add((here.model, here.watermark))
        if self._evidence is None or await self._evidence.add(cap_evidence(here, now_s)):
            self.open_cap_hits += 1

    def evaluate_locally(self) -> None:
        """While the store is gone: raise levels by this replica's own counts, for 15 minutes; never lower one."""
        self._local.evaluate(self._snapshots, self._hold, self.policy, self._server_now())

    async def _read(self, model: str, now_s: float, *, full: bool) -> Seen:
        return await self._reader.read(self._snapshots[model], now_s, full=full)

    async def explain(self, model: str) -> Explanation:
        """Each rule with its numbers, and what the next change waits for. Raises StoreUnavailable, KeyError."""
        return (await self.study(model))[0]

    async def study(self, model: str) -> tuple[Explanation, Seen]:
        """The explanation, and the counts it was read off. Raises StoreUnavailable, KeyError."""
        now_s = self._server_now()
        seen = await self._read(model, now_s, full=True)
        return explain(self._snapshots[model], seen, self.policy, now_s), seen
