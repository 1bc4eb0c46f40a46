"""The page behind the link in a message: one button takes the alert. And the runbook of each kind of alert.

Opening the link changes nothing: chat programs fetch every link they see. Only the form does, under the same signed
token, which is as good as a right to take this one alert and to read its headline, and to do nothing else. Who takes it
says a name: whom to ask is on record, also where a program sends the form.
"""

from collections.abc import Callable, Sequence
from html import escape
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from breaker.ports import StoreUnavailable
from console.alerts_ports import AlertRoom, IncidentRow
from console.fleet_ports import Audit
from console.markdown import to_html
from console.plain_page import language_of, page

ACTOR_CHARS = 60
BODY_BYTES = 4_096
WORDS = {
    "zh": {
        "take": "我来处理", "who": "你的名字", "taken": "已由 {who} 接手", "over": "这条告警已经恢复",
        "gone": "链接无效或已过期", "gone_why": "请从最新一条告警消息打开，或到控制台处理。", "down": "暂时读不到数据，请稍后再试",
        "what": "接手后不再重复提醒和升级，恢复时仍会通知。", "subject": "对象", "state": "状态", "level": "等级",
        "none": "没有这份手册", "nameless": "请写上你的名字：其他人要知道该找谁。",
    },
    "en": {
        "take": "I take it", "who": "Your name", "taken": "Taken by {who}", "over": "This alert is over",
        "gone": "This link is not valid any more", "gone_why": "Open the newest message, or use the console.",
        "down": "The records cannot be read just now; try again in a moment",
        "what": "It will not be repeated or escalated; its end is told all the same.",
        "subject": "About", "state": "State", "level": "Level", "none": "No such runbook",
        "nameless": "Write your name: others must know whom to ask.",
    },
}  # fmt: skip


def ack_routes(room: AlertRoom, audit: Audit, incident_of: Callable[[str], int | None]) -> Sequence[Route]:
    """`incident_of`: the incident that a token names, or None."""

    async def ack(request: Request) -> Response:
        language = _language(request)
        words = WORDS[language]
        id = incident_of(str(request.path_params["token"]))
        try:
            here = await room.incident(id) if id is not None else None
            if here is None:
                return page(words["gone"], f"<h1>{words['gone']}</h1><p>{words['gone_why']}</p>", language, 404)
            if request.method == "POST" and here.state != "resolved" and not here.acked_by:
                actor = _name(await _form(request))
                if not actor:
                    return page(f"{here.ref} {here.subject}", _card(here, language, words["nameless"]), language, 422)
                details = {"by": "link"}
                await audit.record(
                    actor=actor,
                    role="link",
                    action="ack_incident",
                    target=here.ref,
                    reason="taken by link",
                    details=details,
                )
                await room.ack(here.id, actor, "taken by link")
                here = await room.incident(here.id) or here
        except StoreUnavailable:
            return page(words["down"], f"<h1>{words['down']}</h1>", language, 503)
        return page(f"{here.ref} {here.subject}", _card(here, language), language)

    return [Route("/ack/{token}", ack, methods=["GET", "POST"])]


def runbook_routes(runbook: Callable[[str, str], str | None]) -> Sequence[Route]:
    """`runbook(kind, language)`: its Markdown, or None."""

    async def shown(request: Request) -> Response:
        language = _language(request)
        text = runbook(str(request.path_params["kind"]), language)
        if text is None:
            return page(WORDS[language]["none"], f"<h1>{WORDS[language]['none']}</h1>", language, 404)
        other = '<a href="?lang=en">English</a>' if language == "zh" else '<a href="?lang=zh">中文</a>'
        title = text.partition("\n")[0].lstrip("# ")
        return page(title, f"<p>{other}</p>{to_html(text)}", language)

    return [Route("/runbooks/{kind}", shown, methods=["GET"])]


def _card(here: IncidentRow, language: str, wrong: str = "") -> str:
    """`wrong`: what must be mended in the form."""
    words = WORDS[language]
    rows = ((words["subject"], here.subject), (words["level"], here.stage), (words["state"], here.state))
    facts = "".join(f"<dt>{name}</dt><dd>{escape(value)}</dd>" for name, value in rows)
    head = f"<h1>{here.ref} {escape(here.kind)}</h1><dl>{facts}</dl>"
    if here.state == "resolved":
        return f"{head}<p><strong>{words['over']}</strong></p>"
    if here.acked_by:
        return f"{head}<p><strong>{escape(words['taken'].format(who=here.acked_by))}</strong></p><p>{words['what']}</p>"
    # The form posts to the very address it was read from.
    told = f'<p role="alert"><strong>{wrong}</strong></p>' if wrong else ""
    return (
        f'{head}{told}<form method="post"><label>{words["who"]} <input name="who" maxlength="{ACTOR_CHARS}" '
        f'autocomplete="name" required></label><button>{words["take"]}</button></form><p>{words["what"]}</p>'
    )


def _language(request: Request) -> str:
    return language_of(request.query_params.get("lang", ""), request.headers.get("accept-language", ""))


async def _form(request: Request) -> bytes:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > BODY_BYTES:
            return b""
    return body


def _name(body: bytes) -> str:
    """What the form says of who it is, empty if nothing; it proves nothing, so it is marked as said by a link."""
    said = parse_qs(body.decode("utf-8", "replace")).get("who", [""])[0]
    name = " ".join("".join(letter for letter in said if letter.isprintable()).split())[:ACTOR_CHARS]
    return f"{name} (link)" if name else ""
