"""Incidents from firing to resolved: taken, silenced, noted, closed; and whether the robots that tell of them answer."""

from collections.abc import Awaitable, Callable

from starlette.responses import Response
from starlette.routing import Route

from console.access import Role
from console.alerts_ports import (
    MATCHERS,
    AlertRoom,
    ChannelRow,
    DeliveryRow,
    EventRow,
    IncidentRow,
    SilenceAsked,
    SilenceRow,
)
from console.csv_out import records
from console.fleet_ports import AuditTrail
from console.forms import BadForm, reason_of
from console.render import moment, pct
from console.silencing import running, unmatched
from console.site import Site, Visit, acts, looks
from console.words import Words

PAGE = 100
LONGEST_MINUTES = 30 * 24 * 60.0
LARGEST_ID = 2**31 - 1
STATES = ("open", "over", "all")


def _id(visit: Visit) -> int:
    """The incident of the address. Raises KeyError for a number that no database column holds."""
    id_ = int(visit.request.path_params["id"])
    if id_ > LARGEST_ID:
        raise KeyError(f"A{id_}")
    return id_


class IncidentPages:
    def __init__(self, room: AlertRoom, audit: AuditTrail) -> None:
        self._room, self._audit = room, audit

    def routes(self, site: Site) -> list[Route]:
        return [
            looks(site, "/incidents", self.page),
            looks(site, "/incidents/{id:int}", self.one),
            acts(site, "/incidents/{id:int}/ack", self.ack),
            acts(site, "/incidents/{id:int}/unack", self.unack),
            acts(site, "/incidents/{id:int}/note", self.note),
            acts(site, "/incidents/{id:int}/close", self.close),
            acts(site, "/silences/make", self.silence),
            acts(site, "/silences/end", self.unsilence),
            acts(site, "/channels/test", self.test, Role.OPERATOR),
        ]

    async def _found(self, visit: Visit, limit: int) -> list[IncidentRow]:
        state = self._state(visit)
        wanted = {"open": True, "over": False, "all": None}[state]
        before = visit.asked("before", most=32)
        return list(
            await self._room.incidents(
                open=wanted,
                model=visit.asked("model"),
                kind=visit.asked("kind"),
                before=float(before) if before.replace(".", "", 1).isdigit() else None,
                limit=limit,
            )
        )

    def _state(self, visit: Visit) -> str:
        state = visit.asked("state")
        return state if state in STATES else "open"

    async def page(self, visit: Visit) -> Response:
        found = await self._found(visit, visit.most(PAGE + 1))
        silences, channels = await self._room.silences(), await self._room.channels()
        query = {name: visit.asked(name) for name in ("state", "model", "kind") if visit.asked(name)}
        return visit.page(
            "incidents_body.html" if visit.partial else "incidents.html",
            found=found[:PAGE],
            older={**query, "before": repr(found[PAGE - 1].opened_at)} if len(found) > PAGE else None,
            query=query,
            state=self._state(visit),
            states=STATES,
            kinds=self._room.kinds(),
            silences=silences,
            silenced=lambda one: silenced(one, visit.words),
            channels=channels,
            sheets={
                "incidents": records(found, *IncidentRow.__dataclass_fields__),
                "silences": records(silences, *SilenceRow.__dataclass_fields__),
                "channels": records(channels, *ChannelRow.__dataclass_fields__),
            },
        )

    async def one(self, visit: Visit) -> Response:
        id_ = _id(visit)
        found = await self._room.incident(id_)
        if found is None:
            raise KeyError(f"A{id_}")
        events = await self._room.events(id_)
        letters = await self._room.deliveries(incident=id_, limit=visit.most(PAGE))
        return visit.page(
            "incident.html",
            one=found,
            events=events,
            letters=letters,
            sheets={
                "events": records(events, *EventRow.__dataclass_fields__),
                "letters": records(letters, *DeliveryRow.__dataclass_fields__),
            },
            facts=facts_of(found, visit),
            sample=str(found.facts.get("sample") or ""),
        )

    async def ack(self, visit: Visit) -> Response:
        text = visit.form.text("reason", most=500, prose=True)  # nobody writes prose at three in the morning
        return await self._act(visit, "ack", text, lambda id_: self._room.ack(id_, visit.actor, text))

    async def unack(self, visit: Visit) -> Response:
        text = reason_of(visit.form)
        return await self._act(visit, "unack", text, lambda id_: self._room.unack(id_, visit.actor, text))

    async def note(self, visit: Visit) -> Response:
        text = visit.form.text("reason", least=1, most=2_000, prose=True)
        return await self._act(visit, "note", text, lambda id_: self._room.note(id_, visit.actor, text))

    async def close(self, visit: Visit) -> Response:
        text = reason_of(visit.form)
        return await self._act(visit, "close", text, lambda id_: self._room.close(id_, visit.actor, text))

    async def _act(self, visit: Visit, action: str, text: str, act: Callable[[int], Awaitable[bool]]) -> Response:
        id_ = _id(visit)
        await self._audit.record(
            actor=visit.actor,
            action=f"{action}_incident",
            target=f"A{id_}",
            reason=text,
            details={},
            role=visit.role.value,
        )
        if not await act(id_):
            return visit.problem(409, "problem.over", text=f"A{id_}")
        return visit.away(f"/incidents/{id_}", said=f"incident_{action}")

    async def silence(self, visit: Visit) -> Response:
        form = visit.form
        fields = {name: form.text(name, most=128) for name in MATCHERS}
        if not any(fields.values()) and form.raw("everything") != "1":
            raise BadForm("model", "silence_all")
        if form.raw("everything") == "1" and (named := [name for name in MATCHERS if fields[name]]):
            told = visit.words("join").join(f"{visit.words(f'field.{name}')} {fields[name]}" for name in named)
            raise BadForm("everything", "everything_and", named=told)
        minutes = form.number("minutes", least=1, most=LONGEST_MINUTES, default=60.0)
        asked = SilenceAsked(**fields, author=visit.actor, reason=reason_of(form), minutes=minutes, starts_at=None)
        unknown = unmatched(asked, self._room.known)
        if "kind" in unknown:
            raise BadForm("kind", "unknown", known=", ".join(self._room.kinds()))
        if (here := running(asked, await self._room.silences())) is not None:
            until = moment(visit.site.clock, here.ends_at)
            told = visit.words("incidents.runs", what=silenced(here, visit.words), until=until, who=here.author)
            return visit.problem(409, "problem.silenced", text=told)
        await self._audit.record(
            actor=visit.actor,
            action="silence",
            target=asked.target,
            reason=asked.reason,
            details={"minutes": minutes},
            role=visit.role.value,
        )
        await self._room.silence(asked)
        return visit.away("/incidents", said="silenced_unknown" if unknown else "silenced")

    async def unsilence(self, visit: Visit) -> Response:
        id_ = int(visit.form.number("id", least=1, most=2**31 - 1))
        await self._audit.record(
            actor=visit.actor,
            action="unsilence",
            target=str(id_),
            reason=visit.form.text("reason", most=500, prose=True) or "ended",
            details={},
            role=visit.role.value,
        )
        if not await self._room.unsilence(id_, visit.actor):
            return visit.problem(409, "problem.over", text=str(id_))
        return visit.away("/incidents", said="unsilenced")

    async def test(self, visit: Visit) -> Response:
        channel = visit.form.one_of("channel", [row.name for row in await self._room.channels()])
        await self._audit.record(
            actor=visit.actor,
            action="test_channel",
            target=channel,
            reason="test",
            details={},
            role=visit.role.value,
        )
        said = await self._room.test(channel, visit.actor)
        return visit.page("channel_said.html", channel=channel, answer=said)


def silenced(one: SilenceRow, words: Words) -> str:
    """What a silence is of, each name after the word for what it names."""
    named = [(name, getattr(one, name)) for name in MATCHERS]
    said = [
        words(f"field.{name}")
        + " "
        + (words(f"kind.{value}") if name == "kind" and f"kind.{value}" in words else value)
        for name, value in named
        if value
    ]
    return " · ".join(said) or words("incidents.everything")


RATIOS = frozenset({"ratio", "line", "rate", "baseline", "previous", "share", "chance"})


def facts_of(found: IncidentRow, visit: Visit) -> list[tuple[str, str]]:
    """The figures of the last finding that have a word, in words: levels, classes and ratios as everywhere else."""
    words, out = visit.words, []
    for name, value in found.facts.items():
        if f"fact.{name}" not in words or not isinstance(value, str | int | float) or value == "":
            continue
        if name == "until":
            shown: str = moment(visit.site.clock, value, "full")
        elif name in RATIOS and isinstance(value, int | float) and value <= 1:
            shown = pct(value)
        else:
            keys = (f"level.{value}", f"class.{value}", f"reason.{value}")
            shown = next(
                (words(key) for key in keys if key in words), f"{value:g}" if isinstance(value, float) else str(value)
            )
        out.append((words(f"fact.{name}"), shown))
    return out
