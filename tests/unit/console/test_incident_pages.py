"""Incidents on the pages: listed, taken, noted, closed, silenced; robots tried."""

from dataclasses import replace

import pytest

from console.alerts_ports import EventRow, SilenceRow
from console.pages.incidents import silenced
from tests.support.console_desk import WORDS, Browser, World
from tests.support.console_rooms import INCIDENT, Room


async def test_an_incident_is_listed_shown_in_words_and_taken() -> None:
    room, world = Room(), World()
    async with Browser(world, alerts=room) as browser:
        await browser.login("pma-operator", "Li")
        text = (await browser.get("/incidents")).text
        assert "A7" in text and "critical" in text and "refuses us" in text and "vendor works" in text
        assert (await browser.get("/incidents/99999999999999999999999")).status_code == 404
        one = (await browser.get("/incidents/7")).text
        assert "Level moved: &lt;i&gt;alpha" in one and "L3 open" in one and "Stuck" in one and "epoch" not in one
        assert (
            "&lt;b&gt;again" in one
            and "&lt;u&gt;hm" in one
            and "errcode 93000" in one
            and "/runbooks/transition" in one
        )
        answer = await browser.post("/incidents/7/ack", seen_on="/incidents/7")
        assert answer.headers["location"] == "/incidents/7?said=incident_ack"
    assert room.done == [("ack", 7, "Li", "")] and world.acted[0].action == "ack_incident"


async def test_notes_closing_and_giving_back_need_words() -> None:
    room = Room()
    async with Browser(World(), alerts=room) as browser:
        await browser.login()
        for act in ("note", "close", "unack"):
            assert (await browser.post(f"/incidents/7/{act}", seen_on="/incidents/7", reason="")).status_code == 422
        await browser.post("/incidents/7/note", seen_on="/incidents/7", reason="vendor called")
        await browser.post("/incidents/7/close", seen_on="/incidents/7", reason="was a drill")
    assert [what for what, *_ in room.done] == ["note", "close"]


@pytest.mark.parametrize(("language", "said"), [("en", "given back"), ("zh", "取消认领")])
async def test_giving_an_alert_back_by_hand_was_shown_as_worse(language: str, said: str) -> None:
    """Rows of before, too, which a person's name tells from a lift by the figures."""
    room = Room()
    room.happened = [EventRow(at=1.0, event="ack_lifted", actor="nc7", text="")]
    async with Browser(World(), language=language, alerts=room) as browser:
        await browser.login()
        page = (await browser.get("/incidents/7")).text
    assert said in page
    assert "no longer taken" not in page
    assert "恶化" not in page


async def test_whoever_comes_second_is_told_that_it_is_over() -> None:
    room = Room()
    room.over = True
    async with Browser(World(), alerts=room) as browser:
        await browser.login()
        answer = await browser.post("/incidents/7/ack", seen_on="/incidents/7")
    assert answer.status_code == 409 and "over already" in answer.text


async def test_silence_names_what_or_everything_and_ends_early() -> None:
    room = Room()
    async with Browser(World(), alerts=room) as browser:
        await browser.login("pma-operator", "Li")
        refused = await browser.post("/silences/make", seen_on="/incidents", reason="works", minutes="30")
        assert refused.status_code == 422 and "everything" in refused.text
        await browser.post("/silences/make", seen_on="/incidents", reason="works", minutes="30", model="beta")
        await browser.post("/silences/end", seen_on="/incidents", id="3")
    assert room.done == [("silence", 30.0, "Li", "beta"), ("unsilence", 3, "Li", "")]


@pytest.mark.parametrize(
    ("language", "fields", "status", "parts"),
    [
        ("en", {"everything": "1", "model": "beta"}, 422, ("Everything", "Model beta")),
        ("zh", {"everything": "1", "model": "beta"}, 422, ("全部", "模型 beta")),
        ("en", {"kind": "transitoin"}, 422, ("Kind: is not one of: transition, gray",)),
        ("en", {"model": "alpha"}, 409, ("silenced already", "Model alpha", "by Li")),
        ("zh", {"model": "alpha"}, 409, ("已经在静默中", "模型 alpha", "Li")),
    ],
)
async def test_a_silence_was_taken_that_said_two_things_or_nothing_or_ran_already(
    language: str, fields: dict[str, str], status: int, parts: tuple[str, ...]
) -> None:
    room, world = Room(), World()
    async with Browser(world, language=language, alerts=room) as browser:
        await browser.login()
        answer = await browser.post("/silences/make", seen_on="/incidents", reason="works", minutes="30", **fields)
    assert answer.status_code == status
    assert all(part in answer.text for part in parts), answer.text
    assert room.done == []
    assert world.acted == []


@pytest.mark.parametrize(
    ("language", "said"), [("en", "nothing that is set up now has that name"), ("zh", "没有这个名字")]
)
async def test_a_silence_of_a_model_that_there_is_not_was_taken_without_a_word(language: str, said: str) -> None:
    async with Browser(World(), language=language, alerts=Room()) as browser:
        await browser.login()
        for fields in ({"model": "nobody"}, {"scene": "nowhere"}):
            answer = await browser.post("/silences/make", seen_on="/incidents", reason="works", **fields)
            assert said in (await browser.get(answer.headers["location"])).text


def test_kind_and_scene_of_a_silence_were_told_in_raw_words_side_by_side() -> None:
    row = SilenceRow(
        id=1, state="active", kind="transition", model="", subject="", scene="qa", author="Li", reason="r",
        starts_at=0.0, ends_at=1.0, ended_by="",
    )  # fmt: skip
    assert silenced(row, WORDS["en"]) == "Kind Level moved · Scene qa"
    assert silenced(row, WORDS["zh"]) == f"类型 {WORDS['zh']('kind.transition')} · 场景 qa"


async def test_a_robot_is_tested_and_its_answer_shown() -> None:
    async with Browser(World(), alerts=Room()) as browser:
        await browser.login()
        answer = await browser.post("/channels/test", seen_on="/incidents", channel="ops")
        assert "config" in answer.text and "errcode 93000" in answer.text
        assert (await browser.post("/channels/test", seen_on="/incidents", channel="nowhere")).status_code == 422


async def test_incidents_are_filtered_and_come_as_csv() -> None:
    room = Room()
    async with Browser(World(), alerts=room) as browser:
        await browser.login()
        await browser.get("/incidents?state=over&model=alpha&kind=gray&before=5")
        assert "A7" in (await browser.get("/incidents?csv=incidents")).text
        assert (await browser.get("/incidents/8")).status_code == 404
    assert room.asked[0] == {"open": False, "model": "alpha", "kind": "gray", "before": 5.0, "limit": 101}


@pytest.mark.parametrize(("language", "word"), [("en", "silenced"), ("zh", "已静默")])
async def test_the_state_of_a_silenced_incident_was_told_twice(language: str, word: str) -> None:
    room = Room()
    room.rows = [replace(INCIDENT, state="silenced", muted="silenced")]
    async with Browser(World(), language=language, alerts=room) as browser:
        await browser.login()
        rows = (await browser.get("/incidents", headers={"hx-request": "true"})).text
        assert rows.count(word) == 1
        room.rows = [replace(INCIDENT, state="silenced", muted="maintenance")]
        assert 'class="chip"' in (await browser.get("/incidents", headers={"hx-request": "true"})).text
