"""Switches over a route or the whole fleet: detector to observe, phrases only, bypass; each with an end and a reason."""

from starlette.responses import Response
from starlette.routing import Route

from base.switch import FLEET, Switch, SwitchMode
from console.csv_out import records
from console.fleet_ports import AuditTrail
from console.forms import reason_of
from console.site import Site, Visit, acts, looks
from console.switch_ports import Switches

MINUTES = 60.0
LONGEST_MINUTES = 7 * 24 * 60.0


def switch_pages(site: Site, switches: Switches, audit: AuditTrail) -> list[Route]:
    async def page(visit: Visit) -> Response:
        now_s = switches.now_s()
        held = {switch.route: switch for switch in await switches.switches() if switch.holds(now_s)}
        return visit.page(
            "switches.html",
            rows=[(route, held.get(route)) for route in (FLEET, *switches.routes())],
            modes=[mode.value for mode in SwitchMode if mode is not SwitchMode.NORMAL],
            minutes=MINUTES,
            sheets={"switches": records(held.values(), *Switch.__dataclass_fields__)},
        )

    async def turn(visit: Visit) -> Response:
        form, now_s = visit.form, switches.now_s()
        route = form.one_of("route", [FLEET, *switches.routes()])
        mode, reason = SwitchMode(form.one_of("mode", [mode.value for mode in SwitchMode])), reason_of(form)
        minutes = form.number("minutes", least=1, most=LONGEST_MINUTES, default=MINUTES)
        switch = Switch(
            route=route, mode=mode, until=now_s + minutes * 60, actor=visit.actor, reason=reason, set_at=now_s
        )
        await audit.record(
            actor=visit.actor,
            role=visit.role.value,
            action="switch",
            target=route or "fleet",
            reason=reason,
            details={"mode": mode.value, "until": switch.until},
        )
        await switches.set(switch)
        return visit.away("/switches", said="switched")

    return [looks(site, "/switches", page), acts(site, "/switches/turn", turn)]
