"""One model: where it stands and why, its two hours, its loops, and what an operator may do with it."""

import contextlib
from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import Any

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from breaker.levels import Mode
from breaker.machine import RefusedMove
from breaker.ports import StoreUnavailable
from breaker.seen import last_complete_minute
from breaker.snapshot import Transition
from breaker.window import MinuteRow
from console.feed import Feed
from console.figures import figures
from console.fleet_ports import AuditTrail, History, Yard
from console.forms import reason_of
from console.marked import marked
from console.model_now import SHOWN_MIN, heat_map, kinds, loops, parts, series
from console.model_sheets import model_sheets
from console.pages.fleet import lines_of, next_of, why_of
from console.record_ports import Failed, Hour, HourBook, Records
from console.render import moment, pct
from console.site import Site, Visit, acts, looks
from console.watch_api import Watched
from console.why import rule_line, why_not

FORCED_MINUTES = 60.0
LONGEST_MINUTES = 7 * 24 * 60.0
KEPT_FAILED = 200
DAYS_S = 7 * 86_400.0
MOVES = 60
FOUND = 30


class ModelPages:
    """The pages of one model over the ports."""

    def __init__(
        self,
        yard: Yard,
        feed: Feed,
        history: History,
        audit: AuditTrail,
        records: Records,
        hours: HourBook | None,
        zone: tzinfo,
        watched: Watched | None = None,
    ) -> None:
        self._yard, self._feed, self._history, self._audit = yard, feed, history, audit
        self._records, self._hours, self._zone, self._watched = records, hours, zone, watched

    def routes(self, site: Site) -> list[Route]:
        return [
            looks(site, "/model", self.page),
            looks(site, "/model/now", self.now),
            looks(site, "/model/series", self.series),
            acts(site, "/model/force", self.force),
            acts(site, "/model/reset", self.reset),
        ]

    async def page(self, visit: Visit) -> Response:
        model = visit.asked("name")
        values = await self._now_values(visit, model)
        read = await self._minutes(model)
        minutes = read or ()
        last = last_complete_minute(self._yard.now_s(), self._yard.policy.grace_s)
        failed, sql_fails = await self._failed(model)
        tables: dict[str, Any] = {
            "kinds": kinds(minutes, last),
            "scenes": parts(minutes, last, "scene"),
            "endpoints": parts(minutes, last, "endpoint"),
            "loops": loops(minutes, failed, last),
            "moves": await self._moves(model, visit.most(MOVES)),
        }
        past = await self._past(model)
        hours = past or ()
        return visit.page(
            "model.html",
            sheets=model_sheets(values["row"], past=hours, **tables),
            **values,
            **tables,
            found=await self._found(model),
            moved_on=lambda move: figures(
                move.numbers, visit.words, percent=pct, moment=lambda at: moment(visit.site.clock, at, "full")
            ),
            marked=lambda one: marked(one.excerpt, onset=one.onset),
            heat_map=heat_map(hours, self._yard.now_s(), self._zone) if self._hours else None,
            zone=str(self._zone),
            unread=read is None,
            hours_unread=past is None,
            sql_fails=sql_fails,
            modes=[mode.value for mode in Mode],
            forced_minutes=FORCED_MINUTES,
        )

    async def now(self, visit: Visit) -> Response:
        """The piece that changes live."""
        return visit.page("model_now.html", **await self._now_values(visit, visit.asked("name")))

    async def _now_values(self, visit: Visit, model: str) -> dict[str, Any]:
        row, yard = await self._feed.row(model), self._yard
        explained = row.explanation
        return {
            "row": row,
            "lines": lines_of(yard.policy),
            "why": why_of(row, visit),
            "next": next_of(row, visit, yard.policy),
            "rules": [rule_line(reading, visit.words) for reading in explained.rules] if explained else [],
            "why_not": why_not(explained, visit.words) if explained else [],
            "store_down": yard.store_down(),
        }

    async def series(self, visit: Visit) -> Response:
        model = visit.asked("name")
        here, yard = self._yard.snapshot(model), self._yard
        data = series(
            await self._minutes(model) or (), here, await self._moves(model, MOVES), yard.now_s(), yard.policy.grace_s
        )
        words = visit.words
        labels = {
            "time": words("model.at"),
            "ratio": words("model.ratio10"),
            "judged": words("model.judged"),
            "watermark": words("model.watermark"),
            "levels": {
                level: words(f"level.{level}") for level in ("healthy", "warn", "reduced", "open", "recovering")
            },
        }
        return JSONResponse({**data, "lines": lines_of(yard.policy), "labels": labels})

    async def _minutes(self, model: str) -> Sequence[MinuteRow] | None:
        """None: they cannot be read, of which nothing follows."""
        last = last_complete_minute(self._yard.now_s(), self._yard.policy.grace_s)
        with contextlib.suppress(StoreUnavailable):
            return await self._yard.minutes(model, last - SHOWN_MIN - 10, last)
        return None

    async def _failed(self, model: str) -> tuple[Sequence[Failed], str]:
        try:
            return await self._records.failed(model=model, limit=KEPT_FAILED), ""
        except StoreUnavailable as error:
            return (), str(error)

    async def _past(self, model: str) -> Sequence[Hour] | None:
        """None: they cannot be read."""
        if self._hours is None:
            return ()
        with contextlib.suppress(StoreUnavailable):
            return await self._hours.hours(model, self._yard.now_s() - DAYS_S)
        return None

    async def _found(self, model: str) -> Sequence[Mapping[str, Any]]:
        """What the hourly watch found of it, silent changes of the vendor among them."""
        if self._watched is not None:
            with contextlib.suppress(StoreUnavailable):
                return await self._watched.findings(model, None, self._yard.now_s() - DAYS_S, FOUND)
        return ()

    async def _moves(self, model: str, most: int) -> Sequence[Transition]:
        """From SQL; the document's own last twenty when that is gone."""
        with contextlib.suppress(StoreUnavailable):
            return await self._history.transitions(model, limit=most)
        return tuple(reversed(self._yard.snapshot(model).transitions))

    async def force(self, visit: Visit) -> Response:
        form, model = visit.form, visit.form.raw("name")
        self._yard.snapshot(model)
        mode = Mode(form.one_of("mode", [mode.value for mode in Mode]))
        reason = reason_of(form)
        forced = mode in (Mode.FORCED_OPEN, Mode.FORCED_NORMAL)
        minutes = form.number("minutes", least=1, most=LONGEST_MINUTES, default=FORCED_MINUTES) if forced else 0.0
        until = self._yard.now_s() + minutes * 60 if forced else 0.0
        details = {"mode": mode.value, "until": until}
        # Written down first: an act that cannot be written down is not done.
        await self._audit.record(
            actor=visit.actor, action="force", target=model, reason=reason, details=details, role=visit.role.value
        )
        return await self._done(visit, model, "forced", self._yard.force(model, mode, visit.actor, reason, until))

    async def reset(self, visit: Visit) -> Response:
        model, reason = visit.form.raw("name"), reason_of(visit.form)
        self._yard.snapshot(model)
        await self._audit.record(
            actor=visit.actor, action="reset", target=model, reason=reason, details={}, role=visit.role.value
        )
        return await self._done(visit, model, "reset", self._yard.reset(model, visit.actor, reason))

    async def _done(self, visit: Visit, model: str, said: str, act: Any) -> Response:
        try:
            await act
        except RefusedMove as refused:
            return visit.problem(409, "problem.refused", text=str(refused))
        return visit.away("/model", name=model, said=said)
