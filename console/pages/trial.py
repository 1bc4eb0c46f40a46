"""Try it: what the detector says of a text and what a user would have seen of it; a test prompt through a real route."""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from markupsafe import escape
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from console.access import Role
from console.fleet_ports import AuditTrail
from console.forms import BadForm
from console.marked import Marked, cut
from console.site import Site, Visit, acts, looks
from console.trial_ports import Prober, Told
from console.words import Words
from detector import PROFILES, StreamGate, score
from detector.verdict import GateState, Verdict

MAX_TEXT = 100_000
MAX_PROMPT = 8_000
CHUNK, LATIN_A_SECOND, WIDE_A_SECOND = 12, 150.0, 60.0
"""How the text is fed to the gate: as a model streams that writes 40 tokens a second, Chinese in fewer characters each."""
RUNS = 50
PAUSE_MS = 600
"""A gap between two pieces that is worth telling: the gate held, or the model thought."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What the stream gate would have let out, and what it kept back for ever."""

    text: str
    held_most: int
    suppressed: int
    stopped: bool


def shown_of(text: str, profile: str | None) -> Shown:
    """Drive a gate with the text as a stream. Pure; up to a tenth of a second for the longest text."""
    gate, out, most, now_s = StreamGate(profile=profile), [], 0, 0.0
    per_second = LATIN_A_SECOND if text[:2_000].isascii() else WIDE_A_SECOND
    for at in range(0, len(text), CHUNK):
        now_s += CHUNK / per_second
        out.append(gate.feed(text[at : at + CHUNK], now_s).text)
        most = max(most, min(len(text), at + CHUNK) - gate.shown if gate.state is GateState.HOLDING else 0)
        if gate.state is GateState.STOPPED:
            break
    stopped = gate.state is GateState.STOPPED
    if not stopped:
        out.append(gate.finish().text)
    shown = "".join(out)
    return Shown(text=shown, held_most=most, suppressed=len(text) - len(shown), stopped=stopped)


class TrialPages:
    def __init__(self, audit: AuditTrail, prober: Prober | None, stopping: Callable[[], bool]) -> None:
        self._audit, self._prober, self._stopping = audit, prober, stopping
        self._waiting: OrderedDict[str, tuple[str, str, str, str]] = OrderedDict()

    def routes(self, site: Site) -> list[Route]:
        made = [looks(site, "/try", self.page), acts(site, "/try/score", self.score, Role.VIEWER)]
        if self._prober is not None:
            made += [acts(site, "/try/send", self.send), looks(site, "/try/run", self.run, Role.OPERATOR)]
        return made

    def _page(self, visit: Visit, **values: Any) -> Response:
        given: dict[str, Any] = {
            "text": "",
            "previous": "",
            "profile": "",
            "verdict": None,
            "marked": None,
            "shown": None,
        }
        template = "try_verdict.html" if visit.partial else "try.html"
        return visit.page(
            template,
            **{**given, **values},
            profiles=list(PROFILES),
            routes=list(self._prober.routes()) if self._prober else [],
        )

    async def page(self, visit: Visit) -> Response:
        return self._page(visit)

    async def score(self, visit: Visit) -> Response:
        form = visit.form
        text, previous = form.raw("text"), form.raw("previous")
        if not text.strip():
            raise BadForm("text", "missing")
        if len(text) > MAX_TEXT or len(previous) > MAX_TEXT:
            raise BadForm("text", "too_long", most=MAX_TEXT)
        profile = form.one_of("profile", ("", *PROFILES)) or None
        # Off the loop: a long text takes a while, and other pages must not wait for it.
        verdict, shown = await asyncio.to_thread(_judged, text, previous or None, profile)
        return self._page(
            visit,
            text=text,
            previous=previous,
            profile=profile or "",
            verdict=verdict,
            marked=_marked(text, verdict),
            shown=shown,
        )

    async def send(self, visit: Visit) -> Response:
        assert self._prober is not None
        form = visit.form
        route = form.one_of("route", list(self._prober.routes()))
        prompt, key = form.text("prompt", least=1, most=MAX_PROMPT, prose=True), form.text("key", most=200)
        await self._audit.record(
            actor=visit.actor,
            action="try_prompt",
            target=route,
            reason="test prompt",
            details={"chars": len(prompt)},
            role=visit.role.value,
        )
        run = secrets.token_urlsafe(16)
        self._waiting[run] = (route, prompt, key, visit.session.id if visit.session else "")
        while len(self._waiting) > RUNS:
            self._waiting.popitem(last=False)
        return visit.page("try_run.html", run=run, route=route)

    async def run(self, visit: Visit) -> Response:
        """Each run once, by the session that asked for it."""
        assert self._prober is not None
        found = self._waiting.pop(visit.asked("id"), None)
        if found is None or visit.session is None or found[3] != visit.session.id:
            return Response(status_code=204)  # tells an EventSource to stop asking
        events = _events(self._prober.send(*found[:3]), visit, self._stopping)
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(events, media_type="text/event-stream", headers=headers)


def _judged(text: str, previous: str | None, profile: str | None) -> tuple[Verdict, Shown]:
    return score(text, previous=previous, profile=profile), shown_of(text, profile)


def _marked(text: str, verdict: Verdict) -> Marked:
    return cut(text, verdict)


async def _events(told: AsyncIterator[Told], visit: Visit, stopping: Callable[[], bool]) -> AsyncIterator[str]:
    last_ms = None
    async for one in told:
        if stopping():
            return
        if one.kind == "text":
            gap = one.at_ms - last_ms if last_ms is not None else 0
            last_ms = one.at_ms
            yield event("piece", _piece(one, gap, visit.words))
            continue
        html = visit.site.templates.get_template("try_end.html").render(
            t=visit.words, told=one, url=visit.url, visit=visit, now_s=visit.site.clock.now_s()
        )
        yield event("truth", html)
        break
    yield event("end", "")


def _piece(one: Told, gap_ms: int, words: Words) -> str:
    pause = f'<i class="pause">{escape(words("try.pause", ms=gap_ms))}</i>' if gap_ms >= PAUSE_MS else ""
    return f"{pause}<span>{escape(one.text)}</span>"


def event(name: str, html: str) -> str:
    """One server-sent event; each line of its data on a line of its own."""
    data = "".join(f"data: {line}\n" for line in html.split("\n"))
    return f"event: {name}\n{data}\n"
