"""Audit log, keys and jobs: tables that say who did what, who may call, and what runs by the clock."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from console.jobs_api import JobRefused
from console.key_ports import KeyRow
from tests.support.console_desk import Browser, World

KEY = KeyRow(
    id="k1", app="shop", hint="wxyz", routes=None, per_minute=60, tokens_per_minute=None, max_concurrent=None,
    support=False, created_at=1_600_000_000.0, created_by="Min", revoked_at=None,
)  # fmt: skip


class Ring:
    def __init__(self) -> None:
        self.rows, self.made = [KEY], []  # type: ignore[var-annotated]
        self.asked_for = False

    def required(self) -> bool:
        return self.asked_for

    def routes(self) -> Sequence[str]:
        return ["chat", "qa"]

    async def all(self) -> Sequence[KeyRow]:
        return self.rows

    async def make(self, app: str, **limits: Any) -> str:
        self.made.append((app, limits))
        return "pmk-brand-new"

    async def revoke(self, id: str) -> bool:
        return id == "k1"


class Jobs:
    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.state = "failed"
        self.refuses = False

    def names(self) -> Sequence[str]:
        return ["retention"]

    async def jobs(self) -> Sequence[Mapping[str, Any]]:
        last = {"state": self.state, "started_at": 1_600_000_000.0}
        return [
            {
                "job": "retention",
                "cron": "30 3 * * *",
                "timezone": "UTC",
                "next_at": 1.0,
                "last": last,
            }
        ]

    async def runs(self, name: str, limit: int) -> Sequence[Mapping[str, Any]]:
        return [
            {"slot": "hand-1.5", "state": self.state, "started_at": 1.0, "ended_at": None, "detail": "<b>disk</b> full"}
        ]

    async def ask(self, name: str, actor: str) -> str:
        if self.refuses:
            raise JobRefused("no_night", "nothing to tell yet")
        self.asked.append((name, actor))
        return "s2"


async def test_a_slot_that_was_missed_is_not_told_as_done() -> None:
    jobs = Jobs()
    jobs.state = "missed"
    async with Browser(World(), jobs=jobs) as browser:
        await browser.login()
        text = (await browser.get("/jobs?name=retention")).text
        assert text.count("▲ missed") == 2 and "✓ done" not in text and "by hand" in text
        for jobs.state, said in (
            ("asked", "… asked for"),
            ("known", "· first seen"),
            ("done", "✓ done"),
            ("new", "new"),
        ):
            assert (await browser.get("/jobs?name=retention")).text.count(f"{said}") >= 2


@pytest.mark.parametrize(("language", "said"), [("en", "there is nothing to tell yet"), ("zh", "暂时没有可发的日报")])
async def test_a_report_run_before_the_night_had_ended_failed_with_a_traceback(language: str, said: str) -> None:
    jobs, world = Jobs(), World()
    jobs.refuses = True
    async with Browser(world, language=language, jobs=jobs) as browser:
        await browser.login()
        answer = await browser.post("/jobs/run", seen_on="/jobs", name="retention", reason="look")
    assert answer.status_code == 409
    assert said in answer.text
    assert jobs.asked == []
    assert [act.outcome for act in world.acted] == ["refused"]


async def test_the_audit_log_is_sought_by_acts_in_the_reader_s_words() -> None:
    async with Browser(World(), language="zh") as browser:
        await browser.login()
        text = (await browser.get("/audit?action=force")).text
        assert '<option value="force" selected>设置模式</option>' in text and '<option value="">' in text
        assert (
            '<option value="gone&lt;" selected>gone&lt;</option>' in (await browser.get("/audit?action=gone%3C")).text
        )


async def test_the_audit_log_tells_who_did_what_and_why() -> None:
    world = World()
    async with Browser(world) as browser:
        await browser.login()
        await world.record(
            actor="<b>Li</b>", action="force", target="alpha", reason="why not", details={"mode": "auto"}
        )
        await world.record(actor="Wu", action="reset", target="acme/large", reason="=1+1", details={})
        text = (await browser.get("/audit")).text
        one = (await browser.get("/audit?actor=Wu")).text
        csv = (await browser.get("/audit?csv=audit")).text
    assert "&lt;b&gt;Li&lt;/b&gt;" in text and "set a mode" in text and "Mode automatic" in text
    assert "acme/large" in one and "why not" not in one
    assert "'=1+1" in csv


async def test_an_empty_audit_log_says_so_and_a_gone_one_too() -> None:
    world = World()
    async with Browser(world) as browser:
        await browser.login()
        assert "Nobody did anything" in (await browser.get("/audit?before=x")).text
        world.sql_gone = True
        assert (await browser.get("/audit")).status_code == 503


async def test_a_key_is_made_shown_once_and_written_down_without_it() -> None:
    world, ring = World(), Ring()
    async with Browser(world, keys=ring) as browser:
        await browser.login()
        fields = {"app": "writer", "reason": "new app", "route": "qa", "per_minute": "30"}
        made = await browser.post("/keys/make", seen_on="/keys", **fields)
        assert "pmk-brand-new" in made.text
        assert "pmk-brand-new" not in (await browser.get("/keys")).text
    (app, limits), (act,) = ring.made[0], world.acted
    assert app == "writer" and limits["routes"] == ["qa"] and limits["per_minute"] == 30 and limits["by"] == "Min"
    assert act.action == "create_key" and "pmk-" not in str(act)


@pytest.mark.parametrize(
    ("language", "before", "after"),
    [("en", "This is the first key", "This was the first key"), ("zh", "一经创建", "从现在起")],
)
async def test_the_first_key_cut_off_every_caller_without_one_and_nothing_said_so(
    language: str, before: str, after: str
) -> None:
    ring, world = Ring(), World()
    ring.rows = []
    async with Browser(world, language=language, keys=ring) as browser:
        await browser.login()
        assert before in (await browser.get("/keys")).text
        assert (await browser.post("/keys/make", seen_on="/keys", app="x", reason="because")).status_code == 422
        assert (ring.made, world.acted) == ([], [])
        made = await browser.post("/keys/make", seen_on="/keys", app="x", reason="because", cuts_off="1")
        assert after in made.text
        ring.rows = [KEY]
        assert before not in (await browser.get("/keys")).text
        assert after not in (await browser.post("/keys/make", seen_on="/keys", app="y", reason="because")).text


async def test_where_keys_are_asked_for_anyway_the_first_needs_no_confirmation() -> None:
    ring = Ring()
    ring.rows, ring.asked_for = [], True
    async with Browser(World(), keys=ring) as browser:
        await browser.login()
        assert "cuts_off" not in (await browser.get("/keys")).text
        assert "pmk-" in (await browser.post("/keys/make", seen_on="/keys", app="x", reason="because")).text


async def test_a_key_needs_an_app_a_known_route_and_an_administrator() -> None:
    ring = Ring()
    async with Browser(World(), keys=ring) as browser:
        await browser.login()
        assert (await browser.post("/keys/make", seen_on="/keys", app="", reason="because")).status_code == 422
        bad = await browser.post("/keys/make", seen_on="/keys", app="x", reason="because", route="nowhere")
        assert bad.status_code == 422 and "Route" in bad.text
        await browser.post("/logout")
        await browser.login("pma-operator")
        assert "/keys/make" not in (await browser.get("/keys")).text
        assert (await browser.post("/keys/make", app="x", reason="because")).status_code == 403
    assert ring.made == []


async def test_a_key_is_revoked_once() -> None:
    world = World()
    async with Browser(world, keys=Ring()) as browser:
        await browser.login()
        assert (await browser.post("/keys/revoke", seen_on="/keys", id="k1", reason="leaked")).status_code == 303
        assert (await browser.post("/keys/revoke", seen_on="/keys", id="k9", reason="leaked")).status_code == 404
        assert "wxyz" in (await browser.get("/keys?csv=keys")).text
    assert world.acted[-1].action == "revoke_key"


async def test_jobs_show_how_they_ran_and_run_by_hand() -> None:
    world, jobs = World(), Jobs()
    async with Browser(world, jobs=jobs) as browser:
        await browser.login("pma-operator", "Li")
        text = (await browser.get("/jobs?name=retention")).text
        assert "✕ failed" in text and "&lt;b&gt;disk&lt;/b&gt; full" in text and "30 3 * * *" in text
        answer = await browser.post("/jobs/run", seen_on="/jobs", name="retention", reason="after the fix")
        assert answer.status_code == 303
        assert (await browser.post("/jobs/run", seen_on="/jobs", name="tea", reason="because")).status_code == 422
    assert jobs.asked == [("retention", "Li")] and world.acted[0].action == "run_job"


async def test_what_is_not_joined_has_neither_page_nor_link() -> None:
    async with Browser(World()) as browser:
        await browser.login()
        assert (await browser.get("/keys")).status_code == 404
        assert 'href="/keys"' not in (await browser.get("/")).text


async def test_a_key_was_made_for_a_name_of_two_lines() -> None:
    ring = Ring()
    async with Browser(World(), keys=ring) as browser:
        await browser.login()
        bad = await browser.post("/keys/make", seen_on="/keys", app="wri\nter", reason="because")
        assert bad.status_code == 422 and "has a line break or a sign that nobody sees (U+000A)" in bad.text
        lines = await browser.post("/keys/make", seen_on="/keys", app="writer", reason="because\nthey ask")
        assert lines.status_code == 200, "a reason may have lines"
    assert [app for app, _ in ring.made] == ["writer"]
