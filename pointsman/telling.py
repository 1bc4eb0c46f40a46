"""Joins telling to a service: the notifier, the sender with its robots, the daily heartbeat, the key of the ack links."""

import os
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from base.clock import Clock
from breaker.snapshot import Transition
from monitor.alerts import acklink
from monitor.alerts.alert import Alert, AlertKind, Severity
from monitor.alerts.notify import Notifier
from monitor.alerts.render import Renderer
from monitor.alerts.sender import AlertSender
from monitor.alerts.templates import Templates
from monitor.alerts.urgent import Urgent
from monitor.jobs import Run
from pointsman.assemble import Service
from pointsman.network import NetworkSettings, Way
from store.sql_notices import SqlDossiers, SqlNotices
from store.sql_outbox import SqlOutbox

ALERT_TIMEOUT_S = 5.0
KEY_FILE = "ack.key"
KEY_BYTES = 32
DAY_S = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """What tells, running; the parts that the operators' door needs as well."""

    renderer: Renderer
    client: httpx.AsyncClient
    ack_key: bytes
    clock: Clock

    def incident_of(self, token: str) -> int | None:
        """The incident that a link's token names."""
        return acklink.read(self.ack_key, token, self.clock.now_s())


async def start_telling(service: Service) -> Telling:
    """Decide and send in the background until the service closes."""
    alerts, client = (
        service.settings.alerts,
        await service.stack.enter_async_context(alert_client(service.settings.network)),
    )
    key = ack_key(service.settings.data_dir, alerts.link_secret.get_secret_value())
    renderer, routing = renderer_of(service, key), alerts.routing()
    zone = service.settings.monitor.timezone
    channels = alerts.all_channels()

    def moves() -> Iterable[Transition]:
        return [move for model in service.guard.models for move in service.guard.snapshot(model).transitions]

    urgent = Urgent(
        moves, service.lease, service.boot_id, channels, renderer, client, service.clock, alerts.policy, service.counts
    )
    notifier = Notifier(
        SqlNotices(service.engine),
        service.lease,
        service.boot_id,
        routing,
        service.clock,
        alerts.policy,
        windows=tuple(window.window(zone) for window in alerts.maintenance),
        dossiers=SqlDossiers(service.engine),
        breaker=service.settings.breaker,
        urgent=urgent.once,
        unfiled=lambda: service.moves.waits_since,
        counts=service.counts,
    )
    sender = AlertSender(
        SqlOutbox(service.engine),
        service.desk,
        service.lease,
        service.boot_id,
        channels,
        routing,
        renderer,
        client,
        service.clock,
        alerts.policy,
        service.counts,
        urgent.note,
    )
    service.background(notifier.run(), "alerts: decide")
    service.background(sender.run(), "alerts: send")
    return Telling(renderer=renderer, client=client, ack_key=key, clock=service.clock)


def alert_client(network: NetworkSettings) -> httpx.AsyncClient:
    """The way of the settings. Webhook URLs are secrets: no redirect may carry a message elsewhere."""
    return httpx.AsyncClient(timeout=ALERT_TIMEOUT_S, follow_redirects=False, transport=Way(network), trust_env=False)


def renderer_of(service: Service, key: bytes) -> Renderer:
    """Messages in words of the settings in force."""
    settings = service.settings
    base, clock = settings.alerts.base(), service.clock

    def ack_link(incident_id: int) -> str:
        return f"{base}/ack/{acklink.make(key, incident_id, clock.now_s())}"

    return Renderer(
        Templates(settings.alerts.templates, settings.monitor.timezone),
        clock,
        settings.breaker.model_dump(),
        link_base=base,
        ack_link=ack_link,
        listed=settings.alerts.policy.listed,
    )


def ack_key(folder: Path, secret: str) -> bytes:
    """The key that signs links: the configured one, else one of this folder's own, made at the first start."""
    if secret:
        return secret.encode()
    file, new = folder / KEY_FILE, secrets.token_hex(KEY_BYTES)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return file.read_text(encoding="ascii").strip().encode()
    with os.fdopen(handle, "w", encoding="ascii") as out:
        out.write(new + "\n")
    return new.encode()


def heartbeat(service: Service) -> Callable[[Run], Any]:
    """The daily message by which a dead pipe is noticed: it did not come."""
    notices, outbox = SqlNotices(service.engine), SqlOutbox(service.engine)

    async def work(run: Run) -> None:
        sent, failed = await outbox.tally(service.clock.now_s() - DAY_S)
        open_ = sum(1 for one in await notices.waiting() if one.firing)
        levels = {model: service.guard.snapshot(model).effective.value for model in service.guard.models}
        facts = {"open": open_, "told": sent, "failed": failed, "levels": levels}
        await service.desk.fire(heartbeat_alert(run, facts, service.clock))

    return work


def heartbeat_alert(run: Run, facts: Mapping[str, Any], clock: Clock) -> Alert:
    # Its moment is that of the slot: a run that died and came again tells nothing twice.
    at = run.due_at or clock.now_s()
    return Alert(kind=AlertKind.HEARTBEAT, subject="pipe", severity=Severity.INFO, at=at, facts=facts)
