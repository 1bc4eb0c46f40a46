"""State documents, probe budgets, leases and evidence in Redis.

All keys share the hash tag `{state}`: one MGET a second per replica works on Redis Cluster (BREAKER.md, Redis).
Each change is one script in store/lua/, because compare and set must not be parted. Scripts are given `now`, the
fleet's server time, and read no clock: the same scripts run in lock-step virtual time.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from base.clock import Clock
from breaker.evidence import Evidence, EvidenceStore
from breaker.ports import Lease, ProbeStore, ProbeTally, StateStore, StoreUnavailable
from breaker.snapshot import SCHEMA, Snapshot
from store.documents import from_json, to_json, understood
from store.redis_link import RedisLink, forgiven

log = logging.getLogger(__name__)

PROBES_KEPT_S = 600.0
"""Put off by whoever leases, settles or gives back; so long after the last of them nobody is at it any more, and what is
known of it must not stand in the way of a fleet that lost its documents and counts epochs from the beginning. A recovery
ends after 10 min without a verdict (BREAKER.md, Coming back)."""
EVIDENCE_KEPT_S = 172_800.0
"""Twice the longest validity, 24 h (BREAKER.md, Set and clear)."""


DOCUMENT_KEPT_S = 90 * 86_400.0
"""A removed model's document goes after a quarter; a living one that never moved is put back from memory."""
MOST = 2**53
"""Beyond it Lua, which compares epochs and fences, counts no more by one."""
LEASE_KEPT_S = 7 * 86_400.0


class RedisStates:
    """One JSON document per model at `{state}:doc:<model>`."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link
        self._read: dict[str, tuple[bytes, Snapshot | None]] = {}
        """By model, what was read last and what it says; None: nothing that this release understands."""

    async def load(self, models: Sequence[str]) -> Mapping[str, Snapshot]:
        """The documents that this release can read; one that it cannot concerns its own model alone."""
        if not models:
            return {}
        keys = [f"{{state}}:doc:{model}" for model in models]
        documents: list[bytes | None] = await self._link.ask(lambda client: client.mget(keys))
        found = ((m, self._understood(m, d)) for m, d in zip(models, documents, strict=True) if d is not None)
        return {model: snapshot for model, snapshot in found if snapshot is not None}

    def _understood(self, model: str, document: bytes) -> Snapshot | None:
        """The document as it was understood before, if it is the same: a thousand of them come each second, hardly any new."""
        known = self._read.get(model)
        if known is None or known[0] != document:
            known = self._read[model] = (document, _snapshot(model, document))
        return known[1]

    async def compare_and_set(self, snapshot: Snapshot, expected_epoch: int) -> bool:
        ttl_ms = int(DOCUMENT_KEPT_S * 1000)
        args: list[str | int | float | bytes] = [expected_epoch, to_json(snapshot).decode(), snapshot.fence, ttl_ms]
        read, known = self._read.get(snapshot.model, (b"", None))
        if known is None and read and not _is_newer(read):
            # Valid JSON and no document of ours: its epoch, if it has one, must not keep the model where it is for good.
            args.append(read)
        return bool(await self._link.run("compare_and_set", [f"{{state}}:doc:{snapshot.model}"], args))


class _Schema(msgspec.Struct):
    schema: int = 0


def _is_newer(document: bytes) -> bool:
    kept = understood(_Schema, document)
    return kept is not None and kept.schema > SCHEMA


def _snapshot(model: str, document: bytes) -> Snapshot | None:
    """What it says, if this release can read it: one of a newer schema is as good as gone, and never overwritten."""
    try:
        snapshot = from_json(Snapshot, document)
    except StoreUnavailable as error:
        log.error("state of %s: %s; what was last known of it stands", model, error)
        return None
    if snapshot.schema > SCHEMA:
        log.error("state of %s has schema %d, this release reads %d", model, snapshot.schema, SCHEMA)
        return None
    if snapshot.model != model or not (0 <= snapshot.epoch <= MOST and 0 <= snapshot.fence <= MOST):
        log.error("state of %s is none: model %r, epoch %d", model, snapshot.model, snapshot.epoch)
        return None
    return snapshot


class RedisProbes:
    """The budget of one model at `{state}:probe:<model>` (store/lua/probe.lua)."""

    def __init__(self, link: RedisLink, clock: Clock) -> None:
        self._link = link
        self._clock = clock

    async def lease(self, model: str, epoch: int, want: int, budget: int, lease_s: float) -> int:
        until = repr(self._clock.now_s() + lease_s)
        granted, _, _ = await self._run("lease", model, epoch, want, budget, until, kept_s=max(PROBES_KEPT_S, lease_s))
        return granted

    async def give_back(self, model: str, epoch: int, count: int) -> None:
        await self._run("give_back", model, epoch, count)

    async def settle(self, model: str, epoch: int, clean: bool) -> None:
        await self._run("settle", model, epoch, "1" if clean else "0")

    async def tally(self, model: str, epoch: int) -> ProbeTally:
        _, granted, results = await self._run("tally", model, epoch)
        return ProbeTally(epoch=epoch, granted=granted, results=tuple(result == ord("1") for result in results))

    async def _run(
        self, what: str, model: str, epoch: int, *rest: str | int, kept_s: float = PROBES_KEPT_S
    ) -> tuple[int, int, bytes]:
        ttl_ms = max(1, int(self._clock.real_s(kept_s) * 1000))
        args: list[str | int | float] = [what, epoch, repr(self._clock.now_s()), ttl_ms, *rest]
        granted, taken, results = await self._link.run("probe", [f"{{state}}:probe:{model}"], args)
        return int(granted), int(taken), results


class RedisLease:
    """Who holds `{state}:hold:<name>` (store/lua/hold.lua). The key outlives the holder: it keeps the fence."""

    def __init__(self, link: RedisLink, clock: Clock) -> None:
        self._link = link
        self._clock = clock

    async def hold(self, name: str, owner: str, ttl_s: float) -> int | None:
        now_s = self._clock.now_s()
        args: list[str | int | float] = ["hold", owner, repr(now_s), repr(now_s + ttl_s), int(LEASE_KEPT_S * 1000)]
        fence = await self._link.run("hold", [f"{{state}}:hold:{name}"], args)
        return None if fence is None else int(fence)

    async def release(self, name: str, owner: str) -> None:
        await self._link.run("hold", [f"{{state}}:hold:{name}"], ["release", owner])

    async def held(self, name: str) -> bool:
        """Whether anybody holds it now: the monitor's heartbeat. Raises StoreUnavailable."""
        key = f"{{state}}:hold:{name}"
        owner, until = await self._link.ask(lambda client: client.hmget(key, "owner", "until"))
        return bool(owner) and float(until) > self._clock.now_s()


class RedisEvidence:
    """Records by id in the hash `{state}:evidence:<model>`; the first record of an id stands."""

    def __init__(self, link: RedisLink, clock: Clock) -> None:
        self._link = link
        self._clock = clock

    async def add(self, evidence: Evidence) -> bool:
        """File one record; False when its id is already known. Raises StoreUnavailable."""
        key = f"{{state}}:evidence:{evidence.model}"
        is_new = bool(await self._link.ask(lambda client: client.hsetnx(key, evidence.id, to_json(evidence))))
        ttl_ms = max(1, int(self._clock.real_s(EVIDENCE_KEPT_S) * 1000))
        await self._link.ask(lambda client: client.pexpire(key, ttl_ms))
        return is_new

    async def evidence(self, model: str) -> Sequence[Evidence]:
        return (await self.evidence_of([model]))[model]

    async def evidence_of(self, models: Sequence[str]) -> Mapping[str, Sequence[Evidence]]:
        async def ask(client: Any) -> list[dict[bytes, bytes]]:
            pipe = client.pipeline(transaction=False)
            for model in models:
                pipe.hgetall(f"{{state}}:evidence:{model}")
            return forgiven(await pipe.execute(raise_on_error=False), {})

        kept = await self._link.ask(ask) if models else []
        return {model: await self._valid(model, fields) for model, fields in zip(models, kept, strict=True)}

    async def _valid(self, model: str, kept: Mapping[bytes, bytes]) -> list[Evidence]:
        """What is still valid, oldest first; what is not goes."""
        if not kept:
            return []
        key = f"{{state}}:evidence:{model}"
        found = {id: understood(Evidence, document) for id, document in kept.items()}
        now_s = self._clock.now_s()
        records = [record for record in found.values() if record is not None]
        # What is no record goes as well: it would be read in vain until the key ends.
        stale = [id for id, record in found.items() if record is None or not record.valid_until > now_s]
        if stale:
            await self._link.ask(lambda client: client.hdel(key, *stale))
        return sorted((it for it in records if it.valid_until > now_s), key=lambda it: (it.found_at, it.id))


_states: type[StateStore] = RedisStates
_probes: type[ProbeStore] = RedisProbes
_lease: type[Lease] = RedisLease
_evidence: type[EvidenceStore] = RedisEvidence
