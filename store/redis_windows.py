"""Rolling counters in Redis: exact over replicas, and the same however often a write is repeated.

Keys  `rep:{model}:<minute>`   hash, field `<boot id>|<scope>` -> JSON of Counts and top fingerprints
      `fast:{model}:<minute>`  hash, field `<boot id>|<bucket>` -> JSON of a 5-second bucket with its capped session sets
      `writers:{model}`        hash, field `<boot id>` -> when it last wrote; missing: the store has forgotten this writer
      `dead:{model}`           hash of boot ids whose old minutes were folded (store/redis_folding.py)
Each field belongs to one process start and holds absolute counts, so a retried HSET changes nothing, where an HINCRBY
with a lost reply counts twice (BREAKER.md, Redis). Sums are made on read.
"""

import logging
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, TypeVar

from base.clock import Clock
from breaker.ports import CountStore
from breaker.window import COUNT_NAMES, FAST_BUCKET_S, MINUTE_S, Counts, FastRow, MinuteRow
from store.documents import to_json, understood
from store.merge import FAST_KEPT_S, KEPT_S, acceptable, merge_fast, merge_minutes
from store.redis_link import RedisLink, forgiven

log = logging.getLogger(__name__)

BUCKETS_A_MINUTE = MINUTE_S // FAST_BUCKET_S
WRITERS_KEPT_S = KEPT_S + MINUTE_S
LIVE_S = 900.0
"""Older minutes are a back-fill after an outage: written by a script that refuses a writer declared dead (BREAKER.md)."""
MOST = 10**15
"""No process counts so far in a minute, and sums of such numbers are exact everywhere."""
KEYS_AT_ONCE = 100
"""Read in one pipeline: a few milliseconds of this process's time to ask and to understand the answers."""

Row = TypeVar("Row", MinuteRow, FastRow)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Minute:
    """What a field of `rep:` holds; counts of zero are left out. `by`: the versions of the detector that judged."""

    counts: Mapping[str, int] = field(default_factory=dict)
    fingerprints: Mapping[str, int] = field(default_factory=dict)
    by: tuple[str, ...] = ()


class RedisCounts:
    """`clock` is the fleet's server time (store/server_time.py). Rows with an impossible time are refused and counted."""

    def __init__(self, link: RedisLink, clock: Clock) -> None:
        self._link = link
        self._clock = clock
        self.refused = 0
        self.unreadable = 0
        """Fields passed over because they hold no counts: one must not blind the breaker for all models."""

    async def flush(self, boot_id: str, minutes: Sequence[MinuteRow], fast: Sequence[FastRow]) -> Set[str]:
        now_s = self._clock.now_s()
        fitting = [row for row in minutes if acceptable(row.minute * MINUTE_S, now_s)]
        self.refused += len(minutes) - len(fitting)
        live = [row for row in fitting if row.minute * MINUTE_S >= now_s - LIVE_S]
        buckets = [row for row in fast if acceptable(row.bucket * FAST_BUCKET_S, now_s, FAST_KEPT_S)]
        new = await self._flush_live(boot_id, live, buckets, now_s)
        old: dict[str, list[MinuteRow]] = {}
        for row in fitting:
            if row.minute * MINUTE_S < now_s - LIVE_S:
                old.setdefault(row.model, []).append(row)
        for model, rows in old.items():
            new |= await self._back_fill(boot_id, model, rows, now_s)
        return new

    async def _flush_live(
        self, boot_id: str, minutes: Sequence[MinuteRow], fast: Sequence[FastRow], now_s: float
    ) -> set[str]:
        writes: dict[str, dict[str, bytes]] = {}
        ends: dict[str, float] = {}
        for row in minutes:
            key = minute_key(row.model, row.minute)
            ends[key] = (row.minute + 1) * MINUTE_S + KEPT_S
            writes.setdefault(key, {})[f"{boot_id}|{row.scope}"] = _minute_json(row)
        for bucket in fast:
            key = _fast_key(bucket.model, bucket.bucket // BUCKETS_A_MINUTE)
            ends[key] = (bucket.bucket // BUCKETS_A_MINUTE + 1) * MINUTE_S + FAST_KEPT_S
            writes.setdefault(key, {})[f"{boot_id}|{bucket.bucket}"] = to_json(bucket)
        models = sorted({row.model for row in minutes} | {bucket.model for bucket in fast})
        for model in models:
            key = writers_key(model)
            ends[key] = now_s + WRITERS_KEPT_S
            writes[key] = {boot_id: repr(now_s).encode()}
        if not writes:
            return set()
        new_fields = await self._link.ask(lambda client: self._write(client, writes, ends, now_s))
        return {model for model in models if new_fields[writers_key(model)]}

    async def _back_fill(self, boot_id: str, model: str, rows: Sequence[MinuteRow], now_s: float) -> set[str]:
        keys = [dead_key(model), writers_key(model), *(minute_key(model, row.minute) for row in rows)]
        args: list[Any] = [boot_id, repr(now_s), self._ttl_ms(WRITERS_KEPT_S)]
        for row in rows:
            ends_in_s = (row.minute + 1) * MINUTE_S + KEPT_S - now_s
            args += [f"{boot_id}|{row.scope}", _minute_json(row), self._ttl_ms(ends_in_s)]
        new = int(await self._link.run("backfill", keys, args))
        if new < 0:
            self.refused += len(rows)
        return {model} if new > 0 else set()

    def _ttl_ms(self, seconds: float) -> int:
        return max(1, int(self._clock.real_s(seconds) * 1000))

    async def _write(
        self, client: Any, writes: Mapping[str, Mapping[str, bytes]], ends: Mapping[str, float], now_s: float
    ) -> dict[str, int]:
        """How many fields each key did not have before."""
        pipe = client.pipeline(transaction=False)
        for key, fields in writes.items():
            pipe.hset(key, mapping=fields)
            pipe.pexpire(key, self._ttl_ms(ends[key] - now_s))
        answers = forgiven(await pipe.execute(raise_on_error=False), None)
        self.refused += sum(answer is None for answer in answers[::2])
        return {key: answer or 0 for key, answer in zip(writes, answers[::2], strict=True)}

    async def minutes(self, model: str, first: int, last: int) -> Sequence[MinuteRow]:
        return (await self.minutes_of([model], first, last))[model]

    async def fast(self, model: str, first: int, last: int) -> Sequence[FastRow]:
        return (await self.fast_of([model], first, last))[model]

    async def minutes_of(
        self, models: Sequence[str], first: int, last: int, *, scope: str | None = None
    ) -> Mapping[str, Sequence[MinuteRow]]:
        span = range(first, last + 1)
        suffix = None if scope is None else f"|{scope}".encode()

        def merged(model: str, hashes: Sequence[Mapping[bytes, bytes]]) -> Sequence[MinuteRow]:
            found = (
                self._known(_minute_row(model, minute, name, document))
                for minute, fields in zip(span, hashes, strict=True)
                for name, document in fields.items()
                if suffix is None or name[name.find(b"|") :] == suffix
            )
            return merge_minutes(row for row in found if row is not None)

        return await self._of(models, lambda model: [minute_key(model, minute) for minute in span], merged)

    async def fast_of(self, models: Sequence[str], first: int, last: int) -> Mapping[str, Sequence[FastRow]]:
        span = range(first // BUCKETS_A_MINUTE, last // BUCKETS_A_MINUTE + 1)

        def merged(model: str, hashes: Sequence[Mapping[bytes, bytes]]) -> Sequence[FastRow]:
            found = (
                self._known(_fast_row(model, name, document)) for fields in hashes for name, document in fields.items()
            )
            return merge_fast(row for row in found if row is not None and first <= row.bucket <= last)

        return await self._of(models, lambda model: [_fast_key(model, minute) for minute in span], merged)

    def _known(self, row: Row | None) -> Row | None:
        if row is None:
            if not self.unreadable:
                log.error(
                    "counts in Redis that cannot be read are passed over; who writes into this database besides us?"
                )
            self.unreadable += 1
        return row

    async def _of(
        self,
        models: Sequence[str],
        keys_of: Callable[[str], list[str]],
        merged: Callable[[str, Sequence[Mapping[bytes, bytes]]], Sequence[Row]],
    ) -> dict[str, Sequence[Row]]:
        """Some models a pipeline, so that no answer holds the event loop for long; between two of them it is free."""
        out: dict[str, Sequence[Row]] = {}
        waiting: list[tuple[str, list[str]]] = []
        for index, model in enumerate(models):
            waiting.append((model, keys_of(model)))
            if sum(len(keys) for _, keys in waiting) < KEYS_AT_ONCE and index < len(models) - 1:
                continue
            hashes = iter(await self._read([key for _, keys in waiting for key in keys]))
            for owner, keys in waiting:
                out[owner] = merged(owner, [next(hashes) for _ in keys])
            waiting = []
        return out

    async def _read(self, keys: Sequence[str]) -> list[dict[bytes, bytes]]:
        async def ask(client: Any) -> list[dict[bytes, bytes]]:
            pipe = client.pipeline(transaction=False)
            for key in keys:
                pipe.hgetall(key)
            return forgiven(await pipe.execute(raise_on_error=False), {})

        return await self._link.ask(ask) if keys else []


def minute_key(model: str, minute: int) -> str:
    return f"rep:{{{model}}}:{minute}"


def _fast_key(model: str, minute: int) -> str:
    return f"fast:{{{model}}}:{minute}"


def dead_key(model: str) -> str:
    return f"dead:{{{model}}}"


def writers_key(model: str) -> str:
    return f"writers:{{{model}}}"


def _minute_json(row: MinuteRow) -> bytes:
    counts = {name: value for name in COUNT_NAMES if (value := getattr(row.counts, name))}
    return to_json(_Minute(counts=counts, fingerprints=row.fingerprints, by=row.detectors))


def _minute_row(model: str, minute: int, name: bytes, document: bytes) -> MinuteRow | None:
    kept = understood(_Minute, document)
    if kept is None or not all(0 <= count <= MOST for count in (*kept.counts.values(), *kept.fingerprints.values())):
        return None
    # A counter that only a newer release knows is skipped, so that a rolling upgrade can read its neighbours.
    counts = Counts(**{name: value for name, value in kept.counts.items() if name in COUNT_NAMES})
    scope = name.decode(errors="replace").partition("|")[2]
    return MinuteRow(
        model=model, scope=scope, minute=minute, counts=counts, fingerprints=kept.fingerprints, detectors=kept.by
    )


def _fast_row(model: str, name: bytes, document: bytes) -> FastRow | None:
    row = understood(FastRow, document)
    if row is None or row.model != model or name.rpartition(b"|")[2] != str(row.bucket).encode():
        return None
    numbers = (row.attempts, row.hard, row.streams, row.stuck, *row.loops.values())
    return row if all(0 <= number <= MOST for number in numbers) else None


_counts: type[CountStore] = RedisCounts
