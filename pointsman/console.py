"""Joins the operators' pages to a service: what they read, who may log in, and the key their cookies are signed with."""

import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import httpx
from starlette.types import ASGIApp

from base.clock import Clock
from console.access import Doorkeeper
from console.accounted import Accounted
from console.alerts_ports import AlertRoom
from console.anomalies_api import Anomalies
from console.app import Desk, build_console
from console.assets import Assets
from console.config_ports import Configuration
from console.feed import Feed
from console.gray_api import Grays
from console.jobs_api import ClockJobs
from console.key_ports import KeyRing, KeyRow
from console.render import environment
from console.session import Sealer
from console.site import Site
from console.sso import IdentityProvider
from console.switch_ports import Switches
from console.watch_api import Watched
from console.words import load as load_words
from pointsman.assemble import Service, StartError
from pointsman.fleet import GuardedFleet, SqlAudit
from pointsman.kept_reports import KeptReports
from pointsman.network import Way
from pointsman.phrases import SavedPhrases
from pointsman.trial import HttpProber
from store.redis_windows import RedisCounts
from store.sql_admin import SqlAdminLog
from store.sql_console import SqlHours, SqlRecords
from store.sql_keys import SqlKeys

PROMPT_TIMEOUT_S = 180.0
KEY_FILE, KEY_VARIABLE, KEY_BYTES = "console_key", "POINTSMAN_CONSOLE_KEY", 32


def fleet_of(service: Service) -> GuardedFleet:
    """The fleet as this process knows it."""
    counts = RedisCounts(service.link, service.clock)
    return GuardedFleet(guard=service.guard, deps=service.deps, clock=service.clock, counts=counts, calls=service.calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class Others:
    """What other parts of the monitor show and let people do."""

    alerts: AlertRoom
    configuration: Configuration
    grays: Grays
    anomalies: Anomalies
    watched: Watched
    switches: Switches


def operators_app(
    service: Service, fleet: GuardedFleet, tokens: Doorkeeper, jobs: ClockJobs, others: Others, admin: ASGIApp
) -> ASGIApp:
    """Pages and admin JSON behind one door; the view of the fleet is kept fresh in the background. Raises StartError."""
    settings = service.settings
    audit = Accounted(SqlAudit(log=SqlAdminLog(service.engine), clock=service.clock))
    feed = Feed(fleet, audit, service.clock)
    service.background(feed.run(), "fleet view")
    sealer = Sealer(signing_key(settings.data_dir, os.environ))
    # Our own door: a proxy meant for the way to vendors has no part in it.
    client = httpx.AsyncClient(timeout=PROMPT_TIMEOUT_S, trust_env=False)
    service.stack.push_async_callback(client.aclose)

    identities = identities_of(service)

    def site(nav: Sequence[str]) -> Site:
        return Site(
            sealer=sealer,
            doorkeeper=tokens,
            templates=environment(),
            assets=Assets(),
            words=load_words(),
            clock=service.clock,
            prefix=settings.console.prefix,
            secure_cookies=settings.console.https,
            nav=tuple(nav),
            sso=identities is not None,
        )

    def routes() -> Sequence[str]:
        return list(service.deps.topology.routes)

    desk = Desk(
        yard=fleet,
        audit=audit,
        history=service.transitions,
        feed=feed,
        records=SqlRecords(service.engine),
        zone=ZoneInfo(settings.monitor.timezone),
        prober=HttpProber(client, lambda: data_url(service), routes, service.clock),
        keys=SqlKeyRing(
            keys=SqlKeys(service.engine), clock=service.clock, known=routes, asked_for=settings.require_keys
        ),
        jobs=jobs,
        alerts=others.alerts,
        configuration=others.configuration,
        grays=others.grays,
        anomalies=others.anomalies,
        watched=others.watched,
        switches=others.switches,
        identities=identities,
        reports=KeptReports(engine=service.engine),
        hours=SqlHours(service.engine),
        phrases=SavedPhrases(kept=service.phrases, store=service.phrases.store, clock=service.clock),
        # Asked of the router: a reload hands us a copy of the service, which nobody tells that it is to drain.
        stopping=lambda: not service.deps.ready(),
    )
    return build_console(site, desk, admin)


def identities_of(service: Service) -> IdentityProvider | None:
    """The identity provider, if one is set. Raises StartError where the extra is missing."""
    settings = service.settings.console
    if settings.oidc is None:
        return None
    try:
        from pointsman.oidc import OidcProvider
    except ImportError as error:
        raise StartError("console.oidc needs Authlib: pip install 'pointsman[oidc]'") from error
    back = f"{str(settings.url).rstrip('/')}{settings.prefix}/login/sso/back"
    provider = OidcProvider(settings.oidc, back, Way(service.settings.network))
    service.stack.push_async_callback(provider.close)
    return provider


def data_url(service: Service) -> str:
    """Where test prompts go: as set, else this process's own door for clients, else the address it would have."""
    if service.settings.console.data_url is not None:
        return str(service.settings.console.data_url)
    if service.data_door:
        return service.data_door
    host, port = service.settings.address()
    return f"http://{host}:{port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlKeyRing:
    """The console's port over the table of keys."""

    keys: SqlKeys
    clock: Clock
    known: Callable[[], Sequence[str]]
    asked_for: bool = False

    def required(self) -> bool:
        return self.asked_for

    def routes(self) -> Sequence[str]:
        return self.known()

    async def all(self) -> Sequence[KeyRow]:
        rows = await self.keys.keys(revoked=True)
        return [KeyRow(**{name: getattr(row, name) for name in KeyRow.__dataclass_fields__}) for row in rows]

    async def make(self, app: str, *, by: str, **limits: Any) -> str:
        _, key = await self.keys.create(app, by=by, now_s=self.clock.now_s(), **limits)
        return key

    async def revoke(self, id: str) -> bool:
        return await self.keys.revoke(id, self.clock.now_s())


_ring: type[KeyRing] = SqlKeyRing


def signing_key(folder: Path, environment_: Mapping[str, str]) -> bytes:
    """From the environment, so that several monitors take each other's cookies, else drawn once and kept in `folder`.

    Raises StartError.
    """
    if given := environment_.get(KEY_VARIABLE):
        if len(given) < KEY_BYTES:
            raise StartError(f"{KEY_VARIABLE} needs {KEY_BYTES} characters or more")
        return given.encode()
    file = folder / KEY_FILE
    folder.mkdir(parents=True, exist_ok=True)
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        key = file.read_bytes()
        if len(key) < KEY_BYTES:
            raise StartError(
                f"{file.absolute()} is too short to sign with: delete it, and everybody logs in anew"
            ) from None
        return key
    key = secrets.token_bytes(KEY_BYTES)
    with os.fdopen(handle, "wb") as out:
        out.write(key)
    return key
