"""Admin JSON of alerts: what holds and what is over, taking it, silencing it, and whether the robots answer."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends
from pydantic import Field, model_validator

from console.access import Identity
from console.alerts_ports import MATCHERS, AlertRoom, IncidentRow, SilenceAsked
from console.api import Act, Actor, Line, Reason
from console.fleet_ports import Audit
from console.gatekeeper import AdminError, Gate, actor_of
from console.silencing import running, unmatched

MOST_MINUTES = 30 * 24 * 60.0
Limit = Annotated[int, Field(ge=1, le=1000)]
Pattern = Annotated[str, Field(max_length=128), Line]


class Take(Act):
    """Nobody writes prose at three in the morning: taking an alert needs no reason."""

    reason: Reason = "taken"
    actor: Actor = ""


class Hush(Act):
    """What is not to be heard. Names may be globs; an empty field matches all, and one must be given or `everything`."""

    kind: Pattern = ""
    model: Pattern = ""
    subject: Annotated[str, Field(max_length=256), Line] = ""
    scene: Pattern = ""
    everything: bool = False
    minutes: Annotated[float, Field(gt=0, le=MOST_MINUTES)] = 60.0
    starts_at: Annotated[float, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _says_what(self) -> "Hush":
        if not self.everything and not any(getattr(self, name) for name in MATCHERS):
            raise ValueError(f"say what to silence: one of {', '.join(MATCHERS)}, or everything: true")
        if self.everything and (named := [name for name in MATCHERS if getattr(self, name)]):
            raise ValueError(f"everything: true and {', '.join(named)} say two things: give one of them")
        return self


def alert_routes(room: AlertRoom, audit: Audit, gate: Gate) -> APIRouter:
    """Routes below /admin."""
    routes = APIRouter(prefix="/admin", dependencies=[Depends(gate.viewer)])
    Operator = Annotated[Identity, Depends(gate.operator)]

    async def written(who: Identity, act: Act, action: str, target: str, details: Mapping[str, object]) -> str:
        """Into the audit log before it is done; who does it."""
        actor = actor_of(who, act.actor)
        role = who.role.value
        await audit.record(actor=actor, role=role, action=action, target=target, reason=act.reason, details=details)
        return actor

    async def found(ref: str) -> IncidentRow:
        here = await room.incident(incident_id(ref))
        if here is None:
            raise AdminError(404, "alert_not_found", f"no alert {ref!r}", "id")
        return here

    @routes.get("/alerts")
    async def listed(
        state: Literal["open", "resolved", "all"] = "open",
        model: str = "",
        kind: str = "",
        before: float | None = None,
        limit: Limit = 100,
    ) -> dict[str, Any]:
        if kind and kind not in room.kinds():
            raise AdminError(422, "invalid_field", f"kind: one of {', '.join(room.kinds())}", "kind")
        wanted = {"open": True, "resolved": False, "all": None}[state]
        rows = await room.incidents(open=wanted, model=model, kind=kind, before=before, limit=limit)
        return {"alerts": [asdict(row) for row in rows]}

    @routes.get("/alerts/{ref}")
    async def one(ref: str) -> dict[str, Any]:
        here = await found(ref)
        events, letters = await room.events(here.id), await room.deliveries(incident=here.id)
        return {
            "alert": asdict(here),
            "events": [asdict(event) for event in events],
            "deliveries": [asdict(letter) for letter in letters],
        }

    @routes.post("/alerts/{ref}/ack")
    async def ack(ref: str, act: Take, who: Operator) -> dict[str, Any]:
        here = await found(ref)
        actor = await written(who, act, "ack_incident", here.ref, {"key": here.subject})
        return await _after(room, here, await room.ack(here.id, actor, act.reason))

    @routes.post("/alerts/{ref}/unack")
    async def unack(ref: str, act: Take, who: Operator) -> dict[str, Any]:
        here = await found(ref)
        actor = await written(who, act, "unack_incident", here.ref, {})
        return await _after(room, here, await room.unack(here.id, actor, act.reason))

    @routes.post("/alerts/{ref}/note")
    async def note(ref: str, act: Act, who: Operator) -> dict[str, Any]:
        here = await found(ref)
        await room.note(here.id, await written(who, act, "note_incident", here.ref, {}), act.reason)
        return await _after(room, here, True)

    @routes.post("/alerts/{ref}/close")
    async def close(ref: str, act: Act, who: Operator) -> dict[str, Any]:
        here = await found(ref)
        actor = await written(who, act, "close_incident", here.ref, {})
        return await _after(room, here, await room.close(here.id, actor, act.reason))

    @routes.get("/deliveries")
    async def deliveries(state: str = "", channel: str = "", limit: Limit = 100) -> dict[str, Any]:
        rows = await room.deliveries(state=state, channel=channel, limit=limit)
        return {"deliveries": [asdict(row) for row in rows]}

    @routes.get("/silences")
    async def silences(past: bool = False) -> dict[str, Any]:
        return {"silences": [asdict(row) for row in await room.silences(past=past)]}

    @routes.post("/silences", status_code=201)
    async def silence(hush: Hush, who: Operator) -> dict[str, Any]:
        asked = SilenceAsked(
            kind=hush.kind,
            model=hush.model,
            subject=hush.subject,
            scene=hush.scene,
            author=actor_of(who, hush.actor),
            reason=hush.reason,
            minutes=hush.minutes,
            starts_at=hush.starts_at,
        )
        unknown = unmatched(asked, room.known)
        if "kind" in unknown:
            raise AdminError(422, "invalid_field", f"kind: one of {', '.join(room.kinds())}, or a glob", "kind")
        if (here := running(asked, await room.silences())) is not None:
            told = f"silence {here.id} of {asked.target} by {here.author} runs already: end it to set another time"
            raise AdminError(409, "silence_runs", told, None)
        await written(who, hush, "silence", asked.target, {"minutes": hush.minutes})
        return {"silence": asdict(await room.silence(asked)), "unknown": unknown}

    @routes.post("/silences/{id}/end")
    async def unsilence(id: int, act: Take, who: Operator) -> dict[str, Any]:
        actor = await written(who, act, "unsilence", str(id), {})
        if not await room.unsilence(id, actor):
            raise AdminError(404, "silence_not_found", f"no silence {id} that is not over already", "id")
        return {"id": id, "state": "over"}

    @routes.get("/alert-channels")
    async def channels() -> dict[str, Any]:
        return {"channels": [asdict(row) for row in await room.channels()]}

    @routes.post("/alert-channels/{name}/test")
    async def test(name: str, act: Take, who: Operator) -> dict[str, Any]:
        if name not in room.channel_names():
            known = ", ".join(room.channel_names()) or "none is configured"
            raise AdminError(404, "channel_not_found", f"no channel {name!r}: {known}", "name")
        actor = await written(who, act, "test_channel", name, {})
        return {"channel": name, **asdict(await room.test(name, actor))}

    return routes


def incident_id(ref: str) -> int:
    """`A17` or `17`. Raises AdminError for what is neither."""
    digits = ref[1:] if ref[:1] in ("A", "a") else ref
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 9):
        raise AdminError(404, "alert_not_found", f"{ref!r} is no alert: write it as in the message, A17", "id")
    return int(digits)


async def _after(room: AlertRoom, here: IncidentRow, done: bool) -> dict[str, Any]:
    if not done:
        raise AdminError(409, "alert_over", f"{here.ref} is {here.state}: nothing to do", "id")
    return {"alert": asdict(await room.incident(here.id) or here)}
