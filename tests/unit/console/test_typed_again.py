"""What a person typed is not lost when it cannot be taken, and nobody does what their role does not allow."""

import pytest

from console.session import SESSION_S
from tests.support.console_desk import Browser, World, form_token
from tests.support.console_pages import posts, routes
from tests.support.console_rooms import everything

HOSTILE = "<script>alert(1)</script>"


async def test_a_form_that_was_open_when_the_session_ended_loses_what_was_typed() -> None:
    world = World()
    async with Browser(world) as browser:
        await browser.login()
        token = form_token(await browser.get("/model?name=alpha"))
        world.clock.tick(SESSION_S + 1)
        browser.client.headers["referer"] = "http://console/model?name=alpha"
        written = "the vendor says that " + HOSTILE + " is mended"
        answer = await browser.post("/model/reset", token=token, name="alpha", reason=written)
        assert answer.status_code == 401 and world.acted == []
        assert "Your session has ended" in answer.text and "the vendor says that &lt;script&gt;" in answer.text
        assert token not in answer.text and HOSTILE not in answer.text
        assert 'href="/login?next=%2Fmodel%3Fname%3Dalpha"' in answer.text


async def test_below_a_prefix_the_login_leads_back_to_the_page_of_the_form() -> None:
    async with Browser(World(), prefix="/ops") as browser:
        browser.client.headers["referer"] = "http://console/ops/model?name=alpha"
        answer = await browser.post("/model/reset", token="x", name="alpha", reason="because")
        assert 'href="/ops/login?next=%2Fmodel%3Fname%3Dalpha"' in answer.text


async def test_what_another_site_typed_is_not_shown() -> None:
    async with Browser(World()) as browser:
        browser.client.headers["sec-fetch-site"] = "cross-site"
        answer = await browser.post("/model/reset", token="x", name="alpha", reason="call 0900 now")
        assert (answer.status_code, answer.headers["location"]) == (303, "/login")


@pytest.mark.parametrize("token", [None, "made-up"])
async def test_a_refused_form_shows_what_was_typed_and_no_secret(token: str | None) -> None:
    async with Browser(World()) as browser:
        await browser.login()
        answer = await browser.post(
            "/model/force", seen_on="/model?name=alpha", token=token, name="alpha", mode="forced_open", minutes="soon",
            reason="a long story", key="pm-secret",
        )  # fmt: skip
        assert answer.status_code in (403, 422)
        assert "What you typed" in answer.text and "a long story" in answer.text and "pm-secret" not in answer.text


async def test_an_error_of_a_part_of_a_page_is_a_line_that_the_page_can_take_in() -> None:
    async with Browser(World()) as browser:
        await browser.login()
        browser.client.headers["hx-request"] = "true"
        answer = await browser.post("/model/reset", token="made-up", name="alpha", reason="because")
        assert answer.status_code == 403
        assert answer.text.startswith('<p class="banner warn" role="alert">') and "<html" not in answer.text
        browser.client.cookies.clear()
        answer = await browser.post("/model/reset", token="made-up", name="alpha", reason="because")
        assert answer.status_code == 401 and "Your session has ended" in answer.text and "<html" not in answer.text


ADMINS_ONLY = {"/keys/make", "/keys/revoke", "/config/reload", "/config/take"}
"""Of those there are."""
LOOKING = {"/logout", "/phrases/preview", "/try/score"}
"""Change nothing of the fleet."""


async def test_a_viewer_sees_every_page_and_can_do_nothing_on_any() -> None:
    world = World()
    async with Browser(world, **everything()) as browser:
        await browser.login("pma-viewer", "Vera")
        for route in routes(browser):
            if "GET" in (route.methods or ()) and "{" not in route.path and route.path not in ("/live", "/login"):
                page = await browser.get(route.path, params={"name": "alpha", "id": "pm-1"})
                assert page.status_code in (200, 303, 404), route.path
        token = form_token(await browser.get("/"))
        tried = [path for path in posts(browser) if path not in LOOKING]
        assert len(tried) >= 12
        for path in tried:
            answer = await browser.post(path.replace("{id:int}", "7"), token=token, name="alpha", reason="because")
            assert answer.status_code == 403 and "role does not allow" in answer.text, path
    assert world.acted == []


async def test_an_operator_is_refused_what_only_an_administrator_does() -> None:
    async with Browser(World(), **everything()) as browser:
        await browser.login("pma-operator", "Olga")
        token = form_token(await browser.get("/"))
        refused = set()
        for path in posts(browser):
            if path != "/logout":
                answer = await browser.post(path.replace("{id:int}", "7"), token=token)
                refused |= {path} if answer.status_code == 403 else set()
        assert refused and refused <= ADMINS_ONLY, refused


async def test_an_apps_key_opens_no_page() -> None:
    async with Browser(World()) as browser:
        assert (await browser.login("pm-an-apps-key", "Eve")).status_code == 401
        assert (await browser.get("/")).status_code == 303


async def test_names_replies_and_notes_of_strangers_run_nowhere() -> None:
    hostile = """<img/src=x/onerror=alert(1)>"'`{{7*7}}"""
    world = World()
    world.kept = {hostile: world.kept["alpha"].__class__(model=hostile)}
    async with Browser(world, **everything()) as browser:
        await browser.login()
        for route in routes(browser):
            if "GET" not in (route.methods or ()) or route.path in ("/live", "/login", "/static/{name:path}"):
                continue
            page = await browser.get(route.path.replace("{id:int}", "7"), params={"name": hostile, "text": hostile})
            if page.headers.get("content-type", "").startswith("text/html"):
                assert "<img/src" not in page.text and "<i>alpha" not in page.text and ">49<" not in page.text, (
                    route.path
                )
        page = await browser.get("/")
        assert "&lt;img/src=x/onerror=alert(1)&gt;" in page.text
