"""Alerts as people handle them, over the real store and robots: the admin JSON, the link in a message, the audit log."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy.ext.asyncio import AsyncEngine

from console.alerts_api import alert_routes
from console.api import add_error_shapes
from monitor.alerts import acklink
from monitor.alerts.alert import AlertKind
from monitor.alerts.routing import Routing
from pointsman.alert_room import ServiceAlertRoom, open_pages
from pointsman.telling import Telling
from store.sql_alert_room import SqlAlertRoom, incident_row
from tests.support.incidents import AT, alert, grave
from tests.support.operators import GATE, Acts
from tests.support.telling import Newsroom, newsroom

KEY = b"k"


@dataclass
class Office:
    news: Newsroom
    room: ServiceAlertRoom
    acts: Acts
    app: FastAPI
    telling: Telling

    def as_(self, token: str = "op") -> httpx.AsyncClient:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://admin", headers=headers)

    def link(self, id: int = 1) -> str:
        return f"/ack/{acklink.make(KEY, id, self.news.clock.now_s())}"


@pytest.fixture
async def office(engine: AsyncEngine) -> AsyncIterator[Office]:
    async with newsroom(engine, "wecom", "dingtalk") as news:
        teller = news.teller()
        telling = Telling(renderer=teller.sender.renderer, client=news.client, ack_key=KEY, clock=news.clock)
        routing = Routing([channel.name for channel in news.channels])
        room = ServiceAlertRoom(
            store=SqlAlertRoom(engine), notices=news.notices, outbox=news.outbox, desk=news.desk, telling=telling,
            configured=news.channels, routing=routing, windows=(), clock=news.clock,
        )  # fmt: skip
        acts, app = Acts(), FastAPI()
        app.include_router(alert_routes(room, acts, GATE))
        app.router.routes.extend(open_pages(room, acts, telling))
        add_error_shapes(app)
        yield Office(news, room, acts, app, telling)


async def got(client: httpx.AsyncClient, path: str) -> Any:
    answer = await client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_taking_an_alert_is_written_down_and_stops_repeats(office: Office) -> None:
    await office.news.desk.fire(alert(scene="qa"))
    teller = office.news.teller()
    await office.news.pass_by(35, teller)
    async with office.as_() as client:
        (row,) = (await got(client, "/admin/alerts"))["alerts"]
        assert (row["ref"], row["state"], row["announced"]) == ("A1", "firing", True)
        answer = await client.post("/admin/alerts/A1/ack", json={})
        assert answer.json()["alert"]["acked_by"] == "olga"
        assert office.acts.acts == [("olga", "ack_incident", "A1")]
        await office.news.pass_by(15_000, teller, 600.0)
        assert len(office.news.robots.messages("wecom")) == 1
        told = await got(client, "/admin/alerts/1")
    assert [event["event"] for event in told["events"]] == ["fired", "told", "acked"]
    assert {(letter["channel"], letter["state"], letter["why"]) for letter in told["deliveries"]} == {
        ("wecom", "sent", "first"),
        ("dingtalk", "sent", "first"),
    }


async def test_given_back_noted_and_closed_by_hand(office: Office) -> None:
    await office.news.desk.fire(alert(AlertKind.JOB_MISSED, subject="nightly", model=""))
    async with office.as_() as client:
        for word, body in (("ack", {}), ("unack", {"reason": "shift ends"}), ("note", {"reason": "vendor was called"})):
            assert (await client.post(f"/admin/alerts/A1/{word}", json=body)).status_code == 200
        closed = await client.post("/admin/alerts/A1/close", json={"reason": "the job is gone"})
        assert closed.json()["alert"]["state"] == "resolved"
        again = await client.post("/admin/alerts/A1/close", json={"reason": "the job is gone"})
        assert (again.status_code, again.json()["error"]["code"]) == (409, "alert_over")
        assert (await client.post("/admin/alerts/A1/ack", json={})).status_code == 409
        told = await got(client, "/admin/alerts/A1")
    assert [event["event"] for event in told["events"]] == [
        "fired",
        "acked",
        "unacked",
        "noted",
        "resolved",
        "noted",
    ]


async def test_a_silence_mutes_until_it_is_ended(office: Office) -> None:
    async with office.as_() as client:
        body = {"model": "a*", "reason": "vendor works on it", "minutes": 60}
        made = (await client.post("/admin/silences", json=body)).json()["silence"]
        assert (made["state"], made["author"], made["ends_at"]) == ("active", "olga", AT + 3_600)
        await office.news.desk.fire(grave())
        teller = office.news.teller()
        await office.news.pass_by(60, teller)
        assert office.news.robots.received == []
        (row,) = (await got(client, "/admin/alerts"))["alerts"]
        assert (row["state"], row["muted"], row["announced"]) == ("silenced", "silenced", False)
        assert (await client.post(f"/admin/silences/{made['id']}/end", json={})).status_code == 200
        assert (await client.post(f"/admin/silences/{made['id']}/end", json={})).status_code == 404
        assert (await got(client, "/admin/silences"))["silences"] == []
        assert (await got(client, "/admin/silences?past=true"))["silences"][0]["state"] == "over"
        await office.news.pass_by(5, teller)
    assert len(office.news.robots.received) == 2


async def test_an_identical_silence_was_doubled(office: Office) -> None:
    async with office.as_() as client:
        body = {"model": "a", "reason": "vendor works on it"}
        assert (await client.post("/admin/silences", json=body)).json()["unknown"] == []
        again = await client.post("/admin/silences", json=body)
        assert (again.status_code, again.json()["error"]["code"]) == (409, "silence_runs")
        later = await client.post("/admin/silences", json={**body, "starts_at": AT + 7_200})
        assert later.status_code == 201
        assert len((await got(client, "/admin/silences"))["silences"]) == 2


async def test_a_silence_may_begin_later(office: Office) -> None:
    async with office.as_() as client:
        body = {"everything": True, "reason": "maintenance", "starts_at": AT + 600}
        made = (await client.post("/admin/silences", json=body)).json()["silence"]
    assert (made["state"], made["ends_at"]) == ("coming", AT + 600 + 3_600)


@pytest.mark.parametrize(
    ("path", "body", "status", "part"),
    [
        pytest.param("/admin/silences", {"reason": "because"}, 422, "everything", id="says not what"),
        pytest.param("/admin/silences", {"model": "a"}, 422, "reason", id="says not why"),
        pytest.param("/admin/silences", {"model": "a", "reason": "why", "minutes": 0}, 422, "minutes", id="no time"),
        pytest.param("/admin/silences", {"modle": "a", "reason": "why"}, 422, "modle", id="a typing mistake"),
        pytest.param(
            "/admin/silences", {"model": "a", "everything": True, "reason": "why"}, 422, "model", id="two things"
        ),
        pytest.param("/admin/silences", {"kind": "transitoin", "reason": "why"}, 422, "transition", id="no such kind"),
        pytest.param("/admin/alerts/A9/ack", {}, 404, "A9", id="no such alert"),
        pytest.param("/admin/alerts/x/ack", {}, 404, "A17", id="no alert's name"),
        pytest.param("/admin/alerts/A99999999999/ack", {}, 404, "A17", id="too large a number"),
        pytest.param("/admin/alert-channels/pager/test", {}, 404, "wecom, dingtalk", id="no such channel"),
    ],
)
async def test_what_is_wrong_is_named(office: Office, path: str, body: dict[str, Any], status: int, part: str) -> None:
    async with office.as_() as client:
        answer = await client.post(path, json=body)
    assert answer.status_code == status
    assert part in answer.text


async def test_a_viewer_reads_and_does_not_act(office: Office) -> None:
    await office.news.desk.fire(alert())
    async with office.as_("view") as client:
        assert (await client.get("/admin/alerts")).status_code == 200
        assert (await client.post("/admin/alerts/A1/ack", json={})).status_code == 403
        assert (await client.post("/admin/silences", json={"model": "a", "reason": "why"})).status_code == 403


async def test_an_act_that_cannot_be_written_down_is_not_done(office: Office) -> None:
    await office.news.desk.fire(alert())
    office.acts.away = True
    async with office.as_() as client:
        assert (await client.post("/admin/alerts/A1/ack", json={})).status_code == 503
    here = await office.room.incident(1)
    assert here is not None
    assert here.acked_by == ""


async def test_the_list_can_be_narrowed(office: Office) -> None:
    await office.news.desk.fire(alert())
    await office.news.desk.fire(grave(AT + 1, model="b", subject="b"))
    await office.news.desk.resolve(grave(AT + 60, model="b", subject="b"))
    async with office.as_() as client:
        for query, count in (("", 1), ("?state=resolved", 1), ("?state=all", 2), ("?state=all&model=b", 1),
                             ("?state=all&kind=scene", 1), (f"?state=all&before={AT + 1}", 1)):  # fmt: skip
            assert len((await got(client, f"/admin/alerts{query}"))["alerts"]) == count, query
        assert (await client.get("/admin/alerts?kind=nonsense")).status_code == 422
        assert (await client.get("/admin/alerts?state=sideways")).status_code == 422


async def test_a_test_says_what_the_robot_said_and_mends_it(office: Office) -> None:
    await office.news.outbox.broken("wecom", AT, "errcode 93000")
    async with office.as_() as client:
        rows = {row["name"]: row for row in (await got(client, "/admin/alert-channels"))["channels"]}
        assert (rows["wecom"]["state"], rows["wecom"]["detail"], rows["wecom"]["backup"]) == (
            "broken", "errcode 93000", "dingtalk",
        )  # fmt: skip
        said = (await client.post("/admin/alert-channels/wecom/test", json={})).json()
        assert said["result"] == "ok"
        office.news.robots.answers["dingtalk"].append(310000)
        refused = (await client.post("/admin/alert-channels/dingtalk/test", json={})).json()
        assert refused["result"] == "config" and refused["detail"].startswith("errcode 310000")
        rows = {row["name"]: row for row in (await got(client, "/admin/alert-channels"))["channels"]}
    assert (rows["wecom"]["state"], rows["wecom"]["posts_last_minute"]) == ("ok", 1)
    (text,) = office.news.robots.texts("wecom")
    assert "Sent by olga" in text
    assert "http" not in str(rows).replace("webhook", "")


async def test_opening_the_link_takes_nothing_and_the_form_takes_it(office: Office) -> None:
    await office.news.desk.fire(grave())
    async with office.as_("") as client:
        for _ in range(3):  # robots fetch links
            shown = await client.get(office.link(), headers={"accept-language": "en"})
            assert shown.status_code == 200
            assert "I take it" in shown.text
        assert office.acts.acts == []
        taken = await client.post(office.link(), content="who=%E6%9D%8E%E9%9B%B7%3Cb%3E")
        assert "已由 李雷&lt;b&gt; (link) 接手" in taken.text
        assert office.acts.acts == [("李雷<b> (link)", "ack_incident", "A1")]
        again = await client.post(office.link(), content="who=other")
        assert "李雷" in again.text
    assert len(office.acts.acts) == 1


@pytest.mark.parametrize(
    "body",
    ["", "who=", "who=%20%0A%E2%80%AE", "name=olga", "who=" + "x" * 5_000],
    ids=lambda body: body[:12] or "nothing",
)
async def test_an_alert_was_taken_by_nobody_through_its_link(office: Office, body: str) -> None:
    await office.news.desk.fire(grave())
    async with office.as_("") as client:
        answer = await client.post(office.link(), content=body, headers={"accept-language": "en"})
    assert answer.status_code == 422
    assert "Write your name: others must know whom to ask." in answer.text and "I take it" in answer.text
    assert office.acts.acts == []
    here = await office.room.incident(1)
    assert here is not None and (here.state, here.acked_by) == ("firing", "")


async def test_a_link_that_is_not_ours_is_told_so(office: Office) -> None:
    await office.news.desk.fire(grave())
    async with office.as_("") as client:
        for path in ("/ack/nonsense", f"/ack/{acklink.make(b'other', 1, AT)}", office.link(77)):
            assert (await client.post(path, content="who=x")).status_code == 404
    here = await office.room.incident(1)
    assert here is not None
    assert here.state == "firing"


async def test_a_link_to_what_is_over_says_so(office: Office) -> None:
    await office.news.desk.fire(grave())
    await office.news.desk.resolve(grave(AT + 60))
    async with office.as_("") as client:
        answer = await client.post(office.link(), content="who=x", headers={"accept-language": "en-US,zh;q=0.5"})
    assert "This alert is over" in answer.text
    assert office.acts.acts == []


@pytest.mark.parametrize("language", ["zh", "en"])
async def test_a_runbook_opens_without_a_login(office: Office, language: str) -> None:
    async with office.as_("") as client:
        shown = await client.get(f"/runbooks/transition?lang={language}")
        assert shown.status_code == 200
        assert ("怎么处理" if language == "zh" else "Do this") in shown.text
        assert "style-src 'sha256-" in shown.headers["content-security-policy"]
        assert (await client.get("/runbooks/nothing")).status_code == 404
        assert (await client.get("/runbooks/..%2Fsettings")).status_code == 404


async def test_a_robot_that_refuses_a_test_is_shown_as_broken_with_its_words_until_it_takes_one(office: Office) -> None:
    office.news.robots.answers["wecom"].append(93000)
    async with office.as_() as client:
        said = (await client.post("/admin/alert-channels/wecom/test", json={})).json()
        rows = {row["name"]: row for row in (await got(client, "/admin/alert-channels"))["channels"]}
        assert (rows["wecom"]["state"], rows["wecom"]["detail"]) == ("broken", said["detail"])
        assert said["detail"].startswith("errcode 93000: ")
        open_ = (await got(client, "/admin/alerts?kind=robot_broken"))["alerts"]
        assert [one["subject"] for one in open_] == ["wecom"]
        assert (await client.post("/admin/alert-channels/wecom/test", json={})).json()["result"] == "ok"
        rows = {row["name"]: row for row in (await got(client, "/admin/alert-channels"))["channels"]}
        assert (rows["wecom"]["state"], rows["wecom"]["detail"]) == ("ok", "")
        assert (await got(client, "/admin/alerts?kind=robot_broken"))["alerts"] == []


async def test_an_alert_claimed_to_be_told_where_no_channel_is(engine: AsyncEngine) -> None:
    async with newsroom(engine) as news:
        await news.desk.fire(grave())
        await news.pass_by(35, news.teller())
        store = SqlAlertRoom(engine)
        (kept,) = await store.incidents(open=True, model="", kind="", before=None, limit=9)
        row = incident_row(kept, None, heard=kept.id in await store.heard_of([kept.id]))
        assert (row.announced, row.nobody_to_tell) == (False, True)
        (event,) = [one for one in await store.events(kept.id) if "told" in one.event]
        assert (event.event, event.text, event.facts["channels"]) == ("nobody_told", "", [])
        assert not await store.deliveries(incident=kept.id, state="", channel="", limit=9)


async def test_an_alert_that_is_still_to_be_told_has_somebody_to_tell(engine: AsyncEngine) -> None:
    async with newsroom(engine, "wecom") as news:
        await news.desk.fire(alert())
        store = SqlAlertRoom(engine)
        (kept,) = await store.incidents(open=True, model="", kind="", before=None, limit=9)
        row = incident_row(kept, None, heard=False)
        assert (row.announced, row.nobody_to_tell) == (False, False)
