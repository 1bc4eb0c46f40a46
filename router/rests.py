"""Endpoints that are left alone for a while, known to the whole fleet: asked to wait, or forbidden to us.

In:  what attempts were told (429 with Retry-After; 401, 402, 403, 404).  Out: until when each endpoint rests.
The request path reads and writes memory; `share` tells the fleet in the background, once a second.
Posture when the store is gone: each process goes by what it knows, and tells it when the store is back.
Source: BREAKER.md, Hard failures: a deadline moves only to a later moment.
"""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import blake2b
from typing import Protocol

from base.clock import Clock
from breaker.ports import StoreUnavailable
from router.topology import Topology
from upstream.call import Endpoint

SHARE_S = 1.0
"""Real seconds: under compressed time the store must not be asked without pause."""
FORGOTTEN_S = 86_400.0
"""A refusal is believed for a day at most where nobody asks that endpoint again."""
SAID_S = 3_600.0
"""How long it is said that an endpoint answers again: longer than any process misses a look."""


class RestReason(StrEnum):
    RATE_LIMITED = "rate_limited"
    FORBIDDEN = "forbidden"  # 401, 402, 403, 404: our key or model name
    OVER = "over"  # it has answered since


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """`mark` stands for URL, key and model name: one that was mended is another endpoint. Moments: server time."""

    model: str
    mark: str
    reason: RestReason
    until: float
    at: float = 0.0
    """When we were told so."""
    status: int = 0

    @property
    def known_until(self) -> float:
        """When nobody needs to know of it any more."""
        kept_s = {RestReason.FORBIDDEN: FORGOTTEN_S, RestReason.OVER: SAID_S}.get(self.reason, 0.0)
        return max(self.until, self.at + kept_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forbidden:
    """One endpoint (an index, as in the model) that refuses us since `at`; `others` of its model do not."""

    model: str
    endpoint: int
    status: int
    at: float
    others: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Resting:
    """One endpoint (an index, as in the model) that is left alone until `until`; `since`: when it last told us so.

    One that refuses us goes on being told after `until`: the next request asks it, and until then nothing better is known.
    """

    model: str
    endpoint: int
    reason: RestReason
    status: int
    since: float
    until: float


class RestStore(Protocol):
    """What the fleet knows. Both methods raise StoreUnavailable."""

    async def load(self) -> Sequence[Rest]: ...

    async def put(self, rests: Sequence[Rest]) -> None: ...


def stronger(one: Rest, other: Rest) -> Rest:
    """What holds of two words about one endpoint: the longer rest; that it answers again ends only what was said before."""
    over = RestReason.OVER
    if one.reason is over or other.reason is over:
        # A tie means that nothing is known to have changed: the rest stands.
        return max(one, other, key=lambda rest: (rest.at, rest.reason is not over))
    longer = max(one, other, key=lambda rest: (rest.reason is RestReason.FORBIDDEN, rest.until, rest.at))
    return replace(longer, until=max(one.until, other.until), at=max(one.at, other.at))


def mark_of(endpoint: Endpoint) -> str:
    """16 hex digits that another key, URL or model name changes, and that tell none of them."""
    said = "\n".join((endpoint.base_url, endpoint.upstream_model, endpoint.api_key))
    return blake2b(said.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


class Rests:
    """As this process knows them. One event loop; no locks."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], Rest] = {}
        self._marks: Mapping[tuple[str, int], str] = {}
        self._topology: Topology | None = None

    def know(self, topology: Topology) -> None:
        """Whose endpoints these are; a mended one does not rest."""
        if topology is not self._topology:
            self._topology = topology
            self._marks = {
                (name, at): mark_of(endpoint)
                for name, model in topology.models.items()
                for at, endpoint in enumerate(model.endpoints)
            }

    def rest(
        self,
        model: str,
        endpoint: int,
        until_s: float,
        *,
        reason: RestReason = RestReason.RATE_LIMITED,
        at: float = 0.0,
        status: int = 0,
    ) -> None:
        """Never shortens a rest: calls that were under way may come back later with a shorter wait."""
        mark = self._mark(model, endpoint)
        self._hear(Rest(model=model, mark=mark, reason=reason, until=until_s, at=at, status=status))

    def answered(self, model: str, endpoint: int, began_at: float) -> None:
        """An attempt that began at `began_at` got a reply: what forbade it before then is mended."""
        kept = self._kept.get((model, self._mark(model, endpoint))) if self._kept else None
        if kept is not None and kept.reason is RestReason.FORBIDDEN and kept.at < began_at:
            self._hear(replace(kept, reason=RestReason.OVER, until=began_at, at=began_at))

    def lift(self, model: str, now_s: float) -> None:
        """Somebody says that what made the endpoints of `model` rest is mended: the next request asks them."""
        for (name, _), kept in list(self._kept.items()):
            if name == model and kept.reason is not RestReason.OVER:
                self._hear(replace(kept, reason=RestReason.OVER, until=now_s, at=now_s))

    def until(self, model: str, endpoint: int) -> float:
        if not self._kept:
            return 0.0
        kept = self._kept.get((model, self._mark(model, endpoint)))
        return kept.until if kept is not None else 0.0

    def paused_until(self, model: str, endpoint: int) -> float:
        """Until when it asked us to wait; 0.0 for one that does not rest, or that refuses us."""
        kept = self._kept.get((model, self._mark(model, endpoint))) if self._kept else None
        return kept.until if kept is not None and kept.reason is RestReason.RATE_LIMITED else 0.0

    def forbidden(self) -> tuple[Forbidden, ...]:
        """Endpoints of the settings in force that refused us when they were last asked."""
        refusing = {key for key, rest in self._kept.items() if rest.reason is RestReason.FORBIDDEN}
        out = []
        for (model, endpoint), mark in self._marks.items():
            if (model, mark) in refusing:
                rest = self._kept[model, mark]
                others = sum(n == model and (n, m) not in refusing for (n, _), m in self._marks.items())
                told = Forbidden(model=model, endpoint=endpoint, status=rest.status, at=rest.at, others=others)
                out.append(told)
        return tuple(out)

    def refused(self) -> frozenset[str]:
        """Models that every endpoint of theirs refuses to us: out, though no level says so."""
        return frozenset(one.model for one in self.forbidden() if not one.others)

    def resting(self, now_s: float) -> tuple[Resting, ...]:
        """Endpoints of the settings in force that nobody asks at `now_s`, or that refused us when last asked."""
        out = []
        for (model, endpoint), mark in self._marks.items():
            rest = self._kept.get((model, mark))
            if rest is None or rest.reason is RestReason.OVER:
                continue
            if rest.reason is RestReason.FORBIDDEN or now_s < rest.until:
                out.append(
                    Resting(
                        model=model,
                        endpoint=endpoint,
                        reason=rest.reason,
                        status=rest.status,
                        since=rest.at,
                        until=rest.until,
                    )
                )
        return tuple(out)

    async def exchange(self, store: RestStore, now_s: float) -> None:
        """Hear what the fleet knows, and tell it what it does not. Raises StoreUnavailable."""
        fleet = {(rest.model, rest.mark): rest for rest in await store.load()}
        for rest in fleet.values():
            self._hear(rest)
        self._kept = {key: rest for key, rest in self._kept.items() if now_s < rest.known_until}
        # Also what the store has lost, or what a shorter word of another process overwrote meanwhile.
        if told := [rest for key, rest in self._kept.items() if fleet.get(key) != rest]:
            await store.put(told)

    def _hear(self, rest: Rest) -> None:
        key = rest.model, rest.mark
        kept = self._kept.get(key)
        self._kept[key] = rest if kept is None else stronger(kept, rest)

    def _mark(self, model: str, endpoint: int) -> str:
        return self._marks.get((model, endpoint), str(endpoint))


async def share(rests: Rests, topology: Callable[[], Topology], store: RestStore, clock: Clock) -> None:
    """Keep `rests` as the fleet knows them, until cancelled. Runs in a task of its own."""
    while True:
        rests.know(topology())
        with contextlib.suppress(StoreUnavailable):
            await rests.exchange(store, clock.now_s())
        await clock.sleep(SHARE_S / clock.real_s(1.0))
