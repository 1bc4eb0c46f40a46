"""Joins the operators' pages to a service: what they read, who may log in, and the key their cookies are signed with."""

import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from starlette.types import ASGIApp

from console.access import Doorkeeper
from console.app import Desk, build_console
from console.assets import Assets
from console.feed import Feed
from console.render import environment
from console.session import Sealer
from console.site import Site
from console.words import load as load_words
from pointsman.assemble import Service, StartError
from pointsman.fleet import GuardedFleet, SqlAudit
from store.redis_windows import RedisCounts
from store.sql_admin import SqlAdminLog

KEY_FILE, KEY_VARIABLE, KEY_BYTES = "console_key", "POINTSMAN_CONSOLE_KEY", 32


def fleet_of(service: Service) -> GuardedFleet:
    """The fleet as this process knows it."""
    counts = RedisCounts(service.link, service.clock)
    return GuardedFleet(guard=service.guard, deps=service.deps, clock=service.clock, counts=counts)


def operators_app(service: Service, fleet: GuardedFleet, tokens: Doorkeeper, admin: ASGIApp) -> ASGIApp:
    """Pages and admin JSON behind one door; the view of the fleet is kept fresh in the background. Raises StartError."""
    settings = service.settings.console
    audit = SqlAudit(log=SqlAdminLog(service.engine), clock=service.clock)
    feed = Feed(fleet, audit, service.clock)
    service.background(feed.run(), "fleet view")
    sealer = Sealer(signing_key(service.settings.data_dir, os.environ))

    def site(nav: Sequence[str]) -> Site:
        return Site(
            sealer=sealer,
            doorkeeper=tokens,
            templates=environment(),
            assets=Assets(),
            words=load_words(),
            clock=service.clock,
            prefix=settings.prefix,
            secure_cookies=settings.https,
            nav=tuple(nav),
        )

    desk = Desk(
        yard=fleet,
        audit=audit,
        history=service.transitions,
        feed=feed,
        stopping=lambda: service.draining,
    )
    return build_console(site, desk, admin)


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
            raise StartError(f"{file} is too short to sign with: delete it, and everybody logs in anew") from None
        return key
    key = secrets.token_bytes(KEY_BYTES)
    with os.fdopen(handle, "wb") as out:
        out.write(key)
    return key
