"""The console over records in memory: what a page shows and refuses, without a store and without a socket."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import httpx

from breaker.explain import Explanation, explain
from breaker.levels import Level, Mode
from breaker.machine import force, reset
from breaker.policy import BreakerPolicy
from breaker.ports import StoreUnavailable
from breaker.seen import Seen
from breaker.snapshot import Snapshot, Transition
from breaker.window import MinuteRow
from console.access import Identity, Role
from console.accounted import Accounted
from console.app import Desk, build_console
from console.assets import Assets
from console.feed import Feed
from console.fleet_ports import NOT_DONE, Act, Known, Refusal, Share
from console.record_ports import Asked, Failed, Sought, Try
from console.render import environment
from console.session import Sealer, mark_of
from console.site import Site
from console.words import load
from tests.support.clock import ManualClock

TOKENS = {"pma-admin": Role.ADMIN, "pma-operator": Role.OPERATOR, "pma-viewer": Role.VIEWER}
WORDS = load()
ASSETS = Assets()


HOSTILE = "<script>alert(1)</script> again and again and again and again and again and again and again and again"


def failed(**fields: object) -> Failed:
    whole = {
        "id": "f1", "request_id": "pm-1", "at": 1_000.0, "model": "alpha", "scene": "qa", "fault": "repetition_detected",
        "loop_class": "phrase_loop", "rules": ("cycle",), "metrics": {"trigram_repeat": 0.9}, "fingerprint": "00b2",
        "onset": 30, "excerpt": HOSTILE, "marked": "",
    }  # fmt: skip
    return Failed(**{**whole, **fields})  # type: ignore[arg-type]


@dataclass(kw_only=True)
class World:
    """Fleet, audit and history in memory; `store_gone` and `sql_gone` take them away, `rows_wait` says why none are written."""

    clock: ManualClock = field(default_factory=ManualClock)
    kept: dict[str, Snapshot] = field(default_factory=lambda: {n: Snapshot(model=n) for n in ("alpha", "acme/large")})
    rows: dict[str, list[MinuteRow]] = field(default_factory=dict)
    policy: BreakerPolicy = field(default_factory=BreakerPolicy)
    acted: list[Act] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    replies: list[Failed] = field(default_factory=list)
    sought: list[Sought] = field(default_factory=list)
    store_gone: bool = False
    sql_gone: bool = False
    rows_wait: str = ""
    phrase_only: tuple[str, ...] = ()
    errors_only: tuple[str, ...] = ()
    suspect: bool = False
    refused: dict[str, list[Refusal]] = field(default_factory=dict)
    withdrawn: set[str] = field(default_factory=set)

    @property
    def models(self) -> Sequence[str]:
        return list(self.kept)

    def known(self, model: str) -> Known:
        self.kept[model]
        return Known(model=model, vendor="acme" if "/" in model else "beta", routes=("chat",), scenes=("qa",))

    def snapshot(self, model: str) -> Snapshot:
        return self.kept[model]

    def shares(self, model: str) -> Sequence[Share]:
        return [Share(route="chat", configured=0.5, effective=0.5)]

    def all_shares(self) -> Mapping[str, Sequence[Share]]:
        return {model: self.shares(model) for model in self.models}

    def refusals(self) -> Mapping[str, Sequence[Refusal]]:
        return self.refused

    def store_down(self) -> bool:
        return self.store_gone

    def database_fails(self) -> str:
        return self.rows_wait

    def phrase_only_routes(self) -> Sequence[str]:
        return self.phrase_only

    def errors_only_routes(self) -> Sequence[str]:
        return self.errors_only

    def detector_suspect(self) -> bool:
        return self.suspect

    async def study(self, model: str) -> tuple[Explanation, Seen]:
        if self.store_gone:
            raise StoreUnavailable("gone")
        seen = Seen(minutes=self.rows.get(model, []))
        return explain(self.kept[model], seen, self.policy, self.now_s()), seen

    async def explain(self, model: str) -> Explanation:
        return (await self.study(model))[0]

    async def minutes(self, model: str, first: int, last: int) -> Sequence[MinuteRow]:
        if self.store_gone:
            raise StoreUnavailable("gone")
        return [row for row in self.rows.get(model, []) if first <= row.minute <= last]

    async def force(self, model: str, mode: Mode, actor: str, reason: str, until: float) -> Snapshot:
        self.kept[model] = force(self.kept[model], mode, actor, reason, until, self.now_s(), self.policy)
        return self.kept[model]

    async def reset(self, model: str, actor: str, reason: str) -> Snapshot:
        self.kept[model] = reset(self.kept[model], actor, reason, self.now_s())
        return self.kept[model]

    def now_s(self) -> float:
        return self.clock.now_s()

    async def record(
        self, *, actor: str, action: str, target: str, reason: str, details: Mapping[str, Any], role: str = "admin"
    ) -> int:
        if self.sql_gone:
            raise StoreUnavailable("sql gone")
        act = Act(at=self.now_s(), actor=actor, role=role, action=action, target=target, reason=reason, details=details)
        self.acted.insert(0, act)
        return len(self.acted)

    async def turned_away(self, number: int, status: int) -> None:
        at = len(self.acted) - number
        act = self.acted[at]
        self.acted[at] = replace(act, details={**act.details, NOT_DONE: status})

    async def acts(
        self, *, actor: str = "", action: str = "", target: str = "", before: float | None = None, limit: int = 100
    ) -> Sequence[Act]:
        if self.sql_gone:
            raise StoreUnavailable("sql gone")
        found = [a for a in self.acted if actor in ("", a.actor) and action in ("", a.action)]
        return [a for a in found if target in ("", a.target) and (before is None or a.at < before)][:limit]

    async def transitions(
        self, model: str | None = None, *, since: float = 0.0, limit: int = 200
    ) -> Sequence[Transition]:
        return [t for s in self.kept.values() for t in s.transitions if model in (None, t.model)][:limit]

    async def requests(self, sought: Sought, limit: int) -> Sequence[Asked]:
        self.sought.append(sought)
        if self.sql_gone:
            raise StoreUnavailable("sql gone")
        found = [a for a in self.asked if a.request_id.startswith(sought.request_id) and a.at >= sought.since]
        return [a for a in found if sought.route in ("", a.route) and (not sought.trouble or a.troubled)][:limit]

    async def failed(
        self, *, request_id: str = "", model: str = "", fingerprint: str = "", limit: int = 50
    ) -> Sequence[Failed]:
        if self.sql_gone:
            raise StoreUnavailable("sql gone")
        return [f for f in self.replies if request_id in ("", f.request_id) and model in ("", f.model)][:limit]

    async def mark(self, failed_id: str, word: str) -> bool:
        found = [at for at, one in enumerate(self.replies) if one.id == failed_id]
        for at in found:
            self.replies[at] = replace(self.replies[at], marked=word)
        return bool(found)

    def identify(self, token: str) -> Identity | None:
        if token not in TOKENS or token in self.withdrawn:
            return None
        return Identity(digest=_digest(token), role=TOKENS[token])

    def still_valid(self, mark: str) -> Role | None:
        return next((r for t, r in TOKENS.items() if mark_of(_digest(t)) == mark and t not in self.withdrawn), None)

    def stands(self, model: str, level: Level, **fields: Any) -> None:
        self.kept[model] = Snapshot(model=model, epoch=3, level=level, since=self.now_s() - 600, **fields)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


class Browser:
    """A client that keeps cookies and takes form tokens from the page, as a person's browser does."""

    def __init__(self, world: World, *, prefix: str = "", language: str = "en", **desk: Any) -> None:
        self.world = world
        feed = Feed(world, world, world.clock)

        def site(nav: Sequence[str]) -> Site:
            return Site(
                sealer=Sealer(b"k" * 32),
                doorkeeper=world,
                templates=environment(),
                assets=ASSETS,
                words=WORDS,
                clock=world.clock,
                prefix=prefix,
                nav=tuple(nav),
                sso="identities" in desk,
            )

        async def admin(scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        self.app = build_console(
            site, Desk(yard=world, audit=Accounted(world), history=world, feed=feed, records=world, **desk), admin
        )
        self.client = httpx.AsyncClient(
            transport=httpx.ASGITransport(self.app),
            base_url="http://console",
            headers={"accept-language": language, "accept": "text/html"},
        )
        self.prefix = prefix

    async def __aenter__(self) -> "Browser":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.aclose()

    async def get(self, path: str, **more: Any) -> httpx.Response:
        return await self.client.get(self.prefix + path, **more)

    async def post(self, path: str, *, seen_on: str = "/", token: str | None = None, **fields: str) -> httpx.Response:
        """Send a form as found on the page `seen_on`."""
        if token is None:
            token = form_token(await self.get(seen_on))
        return await self.client.post(self.prefix + path, data={"form_token": token, **fields})

    async def login(self, token: str = "pma-admin", actor: str = "Min", **fields: str) -> httpx.Response:
        given = form_token(await self.get("/login"))
        data = {"form_token": given, "token": token, "actor": actor, **fields}
        return await self.client.post(self.prefix + "/login", data=data)


def form_token(page: httpx.Response) -> str:
    found = re.search(r'name="form_token" value="([^"]+)"', page.text)
    assert found, page.text[:500]
    return found.group(1)


def asked(**fields: Any) -> Asked:
    """A request that failed over once."""
    tries = (
        Try(
            model="alpha", endpoint=0, fault="repetition_detected", status=200, begun_ms=0, elapsed_ms=900,
            loop_class="phrase_loop", held_chars=40, suppressed_chars=300,
        ),
        Try(model="acme/large", endpoint=0, fault="", status=200, begun_ms=930, elapsed_ms=1_100),
    )  # fmt: skip
    whole: dict[str, Any] = {
        "request_id": "pm-1", "at": 1_700_000_000.0 - 60, "app": "shop", "route": "chat", "scene": "qa",
        "session": "s1", "served_model": "acme/large", "fallback": "model", "status": 200, "code": "",
        "verdict": "clean", "loop_class": "", "tries": tries, "metrics": {}, "stream": True, "elapsed_ms": 2_030,
        "first_text_ms": 1_200, "tokens_in": 10, "tokens_out": 20,
    }  # fmt: skip
    return Asked(**{**whole, **fields})
