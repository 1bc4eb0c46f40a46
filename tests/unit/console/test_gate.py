"""Who comes in: login, sessions, form tokens, headers, prefixes."""

import pytest

from console.session import SESSION_S
from console.throttle import TRIES, WINDOW_S
from tests.support.console_desk import Browser, World
from tests.support.console_pages import posts, routes


async def test_a_stranger_is_sent_to_the_login_and_back_to_where_they_wanted_to_go() -> None:
    async with Browser(World()) as browser:
        sent = await browser.get("/?level=open")
        assert sent.status_code == 303
        assert sent.headers["location"] == "/login?next=%2F%3Flevel%3Dopen"
        entered = await browser.login(next="/?level=open")
        assert entered.headers["location"] == "/?level=open"
        assert (await browser.get("/?level=open")).status_code == 200


@pytest.mark.parametrize("elsewhere", ["//evil.example", "https://evil.example/", "/\\evil.example", "/x\ny", ""])
async def test_a_login_leads_nowhere_but_here(elsewhere: str) -> None:
    async with Browser(World()) as browser:
        assert (await browser.login(next=elsewhere)).headers["location"] == "/"


async def test_a_wrong_token_says_so_and_keeps_the_name() -> None:
    async with Browser(World()) as browser:
        answer = await browser.login("wrong", "Min")
    assert answer.status_code == 401
    assert "not known" in answer.text and 'value="Min"' in answer.text
    assert "wrong" not in answer.text


async def test_guessing_is_slowed_down() -> None:
    world = World()
    async with Browser(world) as browser:
        for _ in range(TRIES):
            assert (await browser.login("wrong")).status_code == 401
        refused = await browser.login("pma-admin")
        assert refused.status_code == 429 and int(refused.headers["retry-after"]) > 0
        world.clock.tick(WINDOW_S)
        assert (await browser.login("pma-admin")).status_code == 303


async def test_whoever_logs_in_says_who_they_are() -> None:
    async with Browser(World()) as browser:
        assert (await browser.login(actor="  ")).status_code == 422
        long = await browser.login(actor="x" * 61)
        assert long.status_code == 422 and "at most 60 characters" in long.text and "x" * 61 in long.text


async def test_a_login_from_another_site_is_refused() -> None:
    async with Browser(World()) as browser:
        browser.client.headers["sec-fetch-site"] = "cross-site"
        assert (await browser.login()).status_code == 403


async def test_the_cookie_is_kept_from_scripts_and_other_sites() -> None:
    async with Browser(World()) as browser:
        cookie = (await browser.login()).headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=lax" in cookie and "path=/" in cookie


async def test_a_session_ends_with_its_shift_and_with_its_token() -> None:
    world = World()
    async with Browser(world) as browser:
        await browser.login()
        world.withdrawn.add("pma-admin")
        assert (await browser.get("/")).status_code == 303
        world.withdrawn.clear()
        assert (await browser.get("/")).status_code == 200
        world.clock.tick(SESSION_S)
        assert (await browser.get("/")).status_code == 303


async def test_logging_out_needs_a_form_of_ours_and_ends_the_session() -> None:
    async with Browser(World()) as browser:
        await browser.login()
        assert (await browser.post("/logout", token="made-up")).status_code == 403
        assert (await browser.get("/")).status_code == 200
        await browser.post("/logout")
        assert (await browser.get("/")).status_code == 303


async def test_every_form_is_refused_without_its_token_and_from_elsewhere() -> None:
    world = World()
    async with Browser(world) as browser:
        await browser.login()
        paths = posts(browser)
        assert len(paths) >= 1
        for path in paths:
            answer = await browser.client.post(path, data={"reason": "because", "name": "alpha"})
            assert answer.status_code == 403, path
        page = await browser.get("/")
        browser.client.headers["sec-fetch-site"] = "cross-site"
        for path in paths:
            assert (await browser.post(path, token=_token(page.text), reason="because")).status_code == 403, path
    assert world.acted == []


async def test_a_stranger_can_neither_see_nor_do_anything() -> None:
    async with Browser(World()) as browser:
        for route in routes(browser):
            if route.path in ("/static/{name:path}", "/login", "/preferences"):
                continue
            method = "POST" if "POST" in (route.methods or ()) else "GET"
            answer = await browser.client.request(
                method, route.path, data={"reason": "x"} if method == "POST" else None
            )
            if method == "POST":
                assert answer.status_code == 401 and "Your session has ended" in answer.text, route.path
                continue
            assert answer.status_code == 303 and "/login" in answer.headers["location"], route.path


async def test_headers_forbid_what_a_page_does_not_need() -> None:
    async with Browser(World()) as browser:
        answer = await browser.get("/login")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"


async def test_pages_hold_no_inline_script_or_style() -> None:
    async with Browser(World()) as browser:
        await browser.login()
        page = (await browser.get("/")).text
    assert "<script>" not in page and " style=" not in page and " onclick=" not in page and "javascript:" not in page


@pytest.mark.parametrize("stripped", [True, False])
async def test_it_works_below_a_path_whether_or_not_the_proxy_takes_it_off(stripped: bool) -> None:
    async with Browser(World(), prefix="/ops/pointsman") as browser:
        entered = await browser.login()
        assert entered.headers["location"] == "/ops/pointsman/"
        assert "path=/ops/pointsman/" in entered.headers["set-cookie"].lower()
        cookie = browser.client.cookies["pointsman_session"]
        path = "/" if stripped else "/ops/pointsman/"
        page = await browser.client.get(path, headers={"cookie": f"pointsman_session={cookie}"})
    assert page.status_code == 200
    assert 'href="/ops/pointsman/static/console.css' in page.text and 'sse-connect="/ops/pointsman/live"' in page.text
    assert 'href="/static' not in page.text and 'action="/"' not in page.text


async def test_language_and_colours_are_remembered() -> None:
    async with Browser(World(), language="en") as browser:
        await browser.login()
        assert "All 2 models are healthy" in (await browser.get("/")).text
        answer = await browser.get("/preferences?lang=zh&theme=dark&back=/")
        assert answer.headers["location"] == "/"
        page = (await browser.get("/")).text
    assert "2 个模型全部健康" in page and 'data-theme="dark"' in page and 'lang="zh-CN"' in page


async def test_a_file_is_kept_for_a_year_under_its_own_version_only() -> None:
    async with Browser(World()) as browser:
        page = (await browser.get("/login")).text
        path = page.split('rel="stylesheet" href="')[1].split('"')[0]
        assert "immutable" in (await browser.get(path)).headers["cache-control"]
        assert (await browser.get(path.split("?")[0])).headers["cache-control"] == "no-cache"
        assert (await browser.get("/static/../app.py")).status_code == 404


async def test_an_unknown_page_says_so() -> None:
    async with Browser(World()) as browser:
        await browser.login()
        assert (await browser.get("/nowhere")).status_code == 404


def _token(text: str) -> str:
    return text.split('name="form_token" value="')[1].split('"')[0]
