"""Requests: find the one a user complained about, and see what was tried, what was held back and what went out."""

from collections.abc import Sequence

from starlette.responses import Response
from starlette.routing import Route

from console.csv_out import Sheet, records
from console.fleet_ports import AuditTrail
from console.marked import marked
from console.record_ports import Asked, Records, Sought, Try
from console.shown import ERROR, got, hidden
from console.site import Site, Visit, acts, looks

PAGE = 50
SPANS = {"1h": 3_600.0, "24h": 86_400.0, "7d": 7 * 86_400.0, "30d": 30 * 86_400.0}
FALLBACKS = ("none", "spare", "model", "splice", "cut", "phrase", ERROR)
MARKS = ("right", "wrong", "")


class RequestPages:
    def __init__(self, records: Records, audit: AuditTrail) -> None:
        self._records, self._audit = records, audit

    def routes(self, site: Site) -> list[Route]:
        return [
            looks(site, "/requests", self.search),
            looks(site, "/request", self.one),
            acts(site, "/request/mark", self.mark),
        ]

    async def search(self, visit: Visit) -> Response:
        sought = sought_of(visit)
        found = await self._records.requests(sought, visit.most(PAGE + 1))
        if sought.request_id and len(found) == 1 and not visit.partial and not visit.csv:
            return visit.away("/request", id=found[0].request_id)
        query = {name: value for name, value in visit.query.items() if name not in ("before", "csv") and value}
        older = {**query, "before": repr(found[PAGE - 1].at)} if len(found) > PAGE else None
        return visit.page(
            "requests_body.html" if visit.partial else "requests.html",
            found=found[:PAGE],
            sought=sought,
            query=query,
            older=older,
            span=span_of(visit),
            spans=list(SPANS),
            fallbacks=FALLBACKS,
            got=got,
            sheets={"requests": _sheet(found)},
        )

    async def one(self, visit: Visit) -> Response:
        request_id = visit.asked("id", most=64)
        found = await self._records.requests(Sought(request_id=request_id), 2)
        if len(found) != 1 or not request_id:
            return visit.problem(404, "problem.no_such", text=request_id)
        asked = found[0]
        failed = await self._records.failed(request_id=asked.request_id)
        axis = time_axis(asked)
        return visit.page(
            "request.html",
            asked=asked,
            failed=failed,
            axis=axis,
            got=got(asked.fallback, asked.status),
            end_ms=max([asked.elapsed_ms, *(begun + one.elapsed_ms for one, begun in axis)]) or 1,
            marked=lambda one: marked(one.excerpt, onset=one.onset),
            hidden=lambda one: hidden(
                asked.fallback,
                asked.status,
                asked.stream,
                [attempt.suppressed_chars for attempt in asked.tries if attempt.model == one.model and attempt.fault],
            ),
            sheets={"attempts": records(asked.tries, *Try.__dataclass_fields__)},
        )

    async def mark(self, visit: Visit) -> Response:
        form = visit.form
        word = form.one_of("word", MARKS)
        failed_id, request_id = form.text("failed", least=1, most=64), form.text("id", least=1, most=64)
        reason = form.text("reason", most=500, prose=True)
        await self._audit.record(
            actor=visit.actor,
            action="mark_verdict",
            target=failed_id,
            reason=reason or word,
            details={"word": word, "request_id": request_id},
            role=visit.role.value,
        )
        if not await self._records.mark(failed_id, word):
            raise KeyError(failed_id)
        return visit.away("/request", id=request_id, said="marked")


def _sheet(found: Sequence[Asked]) -> Sheet:
    names = tuple(name for name in Asked.__dataclass_fields__ if name not in ("tries", "metrics"))
    rows = ([*(getattr(one, name) for name in names), len(one.tries)] for one in found)
    return Sheet(columns=(*names, "attempts"), rows=rows)


def span_of(visit: Visit) -> str:
    span = visit.asked("span")
    return span if span in SPANS else "24h"


def sought_of(visit: Visit) -> Sought:
    """What the query asks for. An id is looked for in all that is kept, whatever the span says."""
    names = ("app", "route", "scene", "model", "session", "fallback")
    request_id = visit.asked("id", most=64)
    before = visit.asked("before", most=32)
    return Sought(
        request_id=request_id,
        **{name: visit.asked(name, most=128) for name in names},
        trouble=visit.asked("trouble") == "1",
        since=0.0 if request_id else visit.site.clock.now_s() - SPANS[span_of(visit)],
        before=_number(before),
    )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def time_axis(asked: Asked) -> list[tuple[Try, int]]:
    """Each attempt with the millisecond it began at; rows that did not say so are laid end to end."""
    out, end = [], 0
    for one in asked.tries:
        begun = one.begun_ms if one.begun_ms is not None else end
        out.append((one, begun))
        end = begun + one.elapsed_ms
    return out
