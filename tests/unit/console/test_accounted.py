"""The audit log of acts that were refused: on the pages, in the CSV, over the admin API."""

import logging

import httpx
import pytest
from fastapi import FastAPI

from breaker.ports import StoreUnavailable
from console.accounted import Accounted, Accounts
from console.fleet_ports import Act
from console.gatekeeper import AdminError
from console.gray_api import gray_routes
from tests.support.console_desk import Browser, World, failed
from tests.support.operators import GATE, add_error_shapes
from tests.unit.console.test_gray_api import Grays


@pytest.mark.parametrize(
    ("language", "said"), [("en", ("refused (404)", "marked a verdict")), ("zh", ("被拒绝（404）", "标记判定"))]
)
async def test_an_act_that_was_refused_does_not_stand_as_done(language: str, said: tuple[str, str]) -> None:
    world = World()
    async with Browser(world, language=language) as browser:
        await browser.login()
        assert (await browser.post("/request/mark", failed="nobody", id="pm-1", word="right")).status_code == 404
        page = (await browser.get("/audit")).text
        table = (await browser.get("/audit?csv=audit")).text
    assert said[0] in page
    assert [act.outcome for act in world.acted] == ["refused"]
    assert table.splitlines()[0].endswith(",outcome")
    assert table.splitlines()[1].endswith(",refused")


async def test_an_act_that_was_done_stands_as_done() -> None:
    world = World(replies=[failed()])
    async with Browser(world) as browser:
        await browser.login()
        assert (await browser.post("/request/mark", failed="f1", id="pm-1", word="right")).status_code == 303
        page = (await browser.get("/audit")).text
    assert "refused (" not in page
    assert [act.outcome for act in world.acted] == ["done"]


async def test_a_gray_start_that_was_refused_is_recorded_as_refused_by_the_admin_api_too() -> None:
    world, grays = World(), Grays()
    grays.refuses = "a model cannot replace itself"
    app, audit = FastAPI(), Accounted(world)
    app.include_router(gray_routes(grays, audit, GATE))
    add_error_shapes(app)
    app.add_middleware(Accounts, audit=audit)
    headers = {"authorization": "Bearer op"}
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://admin", headers=headers
    ) as client:
        body = {"candidate": "acme/a", "reason": "try"}
        assert (await client.post("/admin/gray/acme/a/start", json=body)).status_code == 409
        grays.refuses = ""
        assert (await client.post("/admin/gray/acme/a/start", json=body)).status_code == 200
    assert [(act.action, act.outcome, act.status) for act in world.acted] == [
        ("gray_start", "done", 0),
        ("gray_start", "refused", 409),
    ]


async def test_an_act_that_something_of_ours_broke_stands_as_failed() -> None:
    act = Act(at=1.0, actor="a", role="admin", action="force", target="m", reason="r", details={"refused": 503})
    assert act.outcome == "failed"


async def test_a_refusal_goes_out_though_the_log_is_gone_meanwhile(caplog: pytest.LogCaptureFixture) -> None:
    class Gone(World):
        async def turned_away(self, number: int, status: int) -> None:
            raise StoreUnavailable("sql gone")

    app, audit = FastAPI(), Accounted(Gone())
    add_error_shapes(app)
    app.add_middleware(Accounts, audit=audit)

    @app.post("/act")
    async def act() -> None:
        await audit.record(actor="a", action="force", target="m", reason="r", details={})
        raise AdminError(409, "no", "no")

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://admin") as client:
        with caplog.at_level(logging.WARNING):
            assert (await client.post("/act")).status_code == 409
    assert "which the audit log was not told: sql gone" in caplog.text
