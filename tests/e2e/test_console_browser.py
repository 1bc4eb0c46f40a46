"""The operators' pages in a real Chromium, over a real service: a model falls ill, and a person deals with it."""

import asyncio
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from pointsman.demo.scripted import ScriptedUpstream
from tests.support.browser import SLOW_MS, browser_page, chromium_or_skip, log_in, serious
from tests.support.service import Running, running, settings_file

TOKEN = "pma-browser-test"
ENV = {"POINTSMAN_ADMIN_TOKEN": TOKEN}
SESSIONS, LOOPS = 5, 12


async def ask(client: httpx.AsyncClient, url: str, text: str, *, session: int = 0, stream: bool = True) -> str:
    """One request of an app on route `chat`; its id."""
    body = {"model": "chat", "stream": stream, "messages": [{"role": "user", "content": text}]}
    headers = {"x-pointsman-session": f"user-{session}"}
    answer = await client.post(f"{url}/v1/chat/completions", json=body, headers=headers)
    return answer.headers["x-request-id"]


async def goes_sick(client: httpx.AsyncClient, url: str, upstream: ScriptedUpstream) -> list[str]:
    """Model `a` says one loop to several users, twelve times: the rule for bursts cuts its share within a second.

    Whole replies: as many streams stuck in a loop would open the model instead. The illness is the model's and not the
    prompt's: `b`, which is asked the same next, answers well.
    """
    upstream.set("a", "stuck")
    said = "Tell me a story."
    return [await ask(client, url, said, session=at % SESSIONS, stream=False) for at in range(LOOPS)]


@pytest.mark.timeout(400)
async def test_a_person_sees_a_model_go_sick_and_deals_with_it(tmp_path: Path) -> None:
    chromium_or_skip()
    async with ScriptedUpstream() as upstream, httpx.AsyncClient(timeout=60) as client:
        file = settings_file(tmp_path, upstream.base_url)
        async with running(file, env=ENV) as service, browser_page(service.urls[1], tmp_path) as (page, seen):
            for at in range(3):
                await ask(client, service.url, "How was the morning?", session=at)
            await _is_refused_with_a_wrong_token(page, service)
            await log_in(page, service.urls[1], TOKEN)
            await page.wait_for_selector("text=All 2 models are healthy")

            # Nobody touches the page: it must tell by itself.
            ids = await goes_sick(client, service.url, upstream)
            await page.wait_for_selector("article.card.reduced:has-text('L2 reduced')")
            await page.wait_for_selector("h1:has-text('1 of 2 models need a look')")

            await _takes_the_incident(page, service)
            await _forces_and_resets(page, service)
            await _finds_the_request(page, service, ids[0])
            upstream.set("a", "healthy")
            await _tries_a_text_and_a_prompt(page, service)
            await _edits_a_phrase(page, service, client)
            await page.goto(f"{service.urls[1]}/audit")
            for word in (
                "took an incident",
                "set a mode",
                "reset",
                "edited phrases",
                "sent a test prompt",
                "vendor incident is over",
            ):
                await page.wait_for_selector(f"td:has-text('{word}')")
            # One refused login is an answer of 401, which a browser writes into its console.
            errors = [e for e in seen.errors if "401" not in e]
            assert (errors, seen.outside) == ([], [])


async def _is_refused_with_a_wrong_token(page: Any, service: Running) -> None:
    await page.goto(f"{service.urls[1]}/model?name=a")
    assert "/login" in page.url
    await page.fill("[name=actor]", "Min")
    await page.fill("[name=token]", "pma-wrong")
    await page.click("form[action$='/login'] button")
    await page.wait_for_selector("text=This token is not known.")


async def _takes_the_incident(page: Any, service: Running) -> None:
    await page.goto(f"{service.urls[1]}/incidents")
    await page.click("#rows a:has-text('Level moved')")
    await page.fill("form[action$='/ack'] [name=reason]", "looking at it")
    await page.click("form[action$='/ack'] button")
    await page.wait_for_selector("text=Done: it is yours, repeats stop.")
    await page.wait_for_selector(".hero .mode:has-text('taken')")
    await page.fill("form[action$='/note'] [name=reason]", "the vendor is informed")
    await page.click("form[action$='/note'] button")
    await page.wait_for_selector(".events li:has-text('the vendor is informed')")


async def _forces_and_resets(page: Any, service: Running) -> None:
    await page.goto(service.urls[1])
    await page.click("article.card.reduced h2 a")
    await page.wait_for_selector(".timeline canvas")
    await page.wait_for_selector("tr.fired:has-text('One loop in a burst')")
    await page.check("input[value=forced_normal]")
    await page.fill("form[action$='/model/force'] [name=reason]", "vendor incident is over")
    await page.click("form[action$='/model/force'] button")
    await page.wait_for_selector("text=Done: the mode is set.")
    await page.wait_for_selector(".mode.forced_normal")
    await page.check("input[value=auto]")
    await page.fill("form[action$='/model/force'] [name=reason]", "let the breaker decide")
    await page.click("form[action$='/model/force'] button")
    await page.wait_for_selector("#now .card.reduced")
    await page.fill("form[action$='/model/reset'] [name=reason]", "seen to be well again")
    await page.click("form[action$='/model/reset'] button")
    await page.wait_for_selector("text=Done: the model starts afresh.")


async def _finds_the_request(page: Any, service: Running, request_id: str) -> None:
    await page.goto(f"{service.urls[1]}/requests")
    await page.fill("[name=id]", request_id)
    await page.press("[name=id]", "Enter")
    link = f"a[href*='{request_id}']"
    for _ in range(20):  # the row is written within half a second or so
        if await page.locator(link).count():
            break
        await asyncio.sleep(0.5)
        await page.click("#request-filters button")
        await page.wait_for_load_state("networkidle")
    await page.click(link)
    await page.wait_for_selector("mark")
    await page.click("button:has-text('The verdict is right')")
    await page.wait_for_selector("text=Marked: the verdict is right.")


async def _tries_a_text_and_a_prompt(page: Any, service: Running) -> None:
    await page.goto(f"{service.urls[1]}/try")
    await page.fill("[name=text]", "好的。" + "你！" * 200)
    await page.click("form[action$='/try/score'] button")
    await page.wait_for_selector(".verdict.open:has-text('Stuck')")
    await page.fill("[name=prompt]", "How is the harbour?")
    await page.select_option("[name=route]", "chat")
    await page.click("form[action$='/try/send'] button")
    await page.wait_for_selector("#run .metrics:has-text('clean')")
    assert len(await page.inner_text("#run pre")) > 20


async def _edits_a_phrase(page: Any, service: Running, client: httpx.AsyncClient) -> None:
    await page.goto(f"{service.urls[1]}/phrases?language=en")
    await page.fill("[name=scene_default]", "Please hold the line, we are changing trains.")
    await page.fill("[name=scene_chat]", "")
    await page.fill("[name=scene_unreachable]", "No train runs just now; please ask again soon.")
    await page.click("button:has-text('Preview')")
    await page.wait_for_selector("#preview ins:has-text('changing trains')")
    await page.fill("[name=reason]", "our own words")
    await page.click("button:has-text('Save')")
    await page.wait_for_selector("text=every replica says it")
    body = {"model": "lone", "messages": [{"role": "user", "content": "Hello there! [[500]]"}]}
    answer = await client.post(f"{service.url}/v1/chat/completions", json=body)
    assert "No train runs just now" in answer.text


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("width", "language", "theme"),
    [pytest.param(1280, "en", "light", id="desk-en-light"), pytest.param(390, "zh", "dark", id="phone-zh-dark")],
)
async def test_every_page_is_whole_readable_and_keeps_to_itself(
    tmp_path: Path, width: int, language: str, theme: str
) -> None:
    chromium_or_skip()
    async with ScriptedUpstream() as upstream, httpx.AsyncClient(timeout=60) as client:
        file = settings_file(tmp_path, upstream.base_url)
        async with running(file, env=ENV) as service:
            ids = await goes_sick(client, service.url, upstream)
            base = service.urls[1]
            async with browser_page(base, tmp_path, width=width, language=language, theme=theme) as (page, seen):
                await page.goto(f"{base}/login")
                assert await serious(page) == []
                await log_in(page, base, TOKEN)
                await page.wait_for_selector("article.card.reduced")
                taken: list[str] = []
                links = await page.eval_on_selector_all("header nav a", "all => all.map(a => a.pathname)")
                assert len(links) >= 6
                for path in [*links, "/model?name=a", f"/request?id={ids[0]}", "/nowhere"]:
                    answer = await page.goto(base + path)
                    assert answer.status == (404 if path == "/nowhere" else 200), path
                    await page.wait_for_selector("main h1")
                    assert await serious(page) == [], path
                    wide = await page.evaluate(
                        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
                    )
                    assert wide <= 0, f"{path} scrolls sideways by {wide} px"
                    taken += await _takes_its_tables_away(page, path)
                assert len(taken) >= 12, taken
                errors = [e for e in seen.errors if "404" not in e]
                assert (errors, seen.outside) == ([], [])


# The legend that uPlot draws under a chart is a table by its markup only.
BARE = """() => [...document.querySelectorAll("table:not(.u-legend)")].filter((table) => {
  const around = table.closest("section, article");
  return ![around, around?.nextElementSibling].some((one) => one?.querySelector("a.csv") || one?.matches?.(".csv"));
}).map((table) => table.outerHTML.slice(0, 200))"""


async def _takes_its_tables_away(page: Any, path: str) -> list[str]:
    """Every table of a page comes as CSV; what was taken."""
    assert await page.evaluate(BARE) == [], path
    links = await page.eval_on_selector_all("a.csv", "all => all.map(a => a.href)")
    for link in links:
        answer = await page.context.request.get(link)
        assert answer.status == 200 and answer.headers["content-type"].startswith("text/csv"), link
        header = (await answer.text()).lstrip("\ufeff").splitlines()[0]
        assert header.count(",") >= 1, (link, header)
    return list(links)


@pytest.mark.timeout(300)
async def test_everything_is_reached_by_the_keyboard(tmp_path: Path) -> None:
    chromium_or_skip()
    async with (
        ScriptedUpstream() as upstream,
        running(settings_file(tmp_path, upstream.base_url), env=ENV) as service,
        browser_page(service.urls[1], tmp_path) as (page, _seen),
    ):
        await page.goto(f"{service.urls[1]}/login")
        await page.keyboard.type("Min")
        await page.keyboard.press("Tab")
        await page.keyboard.type(TOKEN)
        await page.keyboard.press("Enter")
        await page.wait_for_selector(".brand")
        await page.keyboard.press("Tab")
        assert await page.evaluate("document.activeElement.className") == "skip"
        await page.keyboard.press("/")
        assert await page.evaluate("document.activeElement.name") == "text"
        await page.keyboard.press("Escape")
        await page.evaluate("document.activeElement.blur()")
        await page.keyboard.press("?")
        await page.wait_for_selector("dialog[open]")
        await page.keyboard.press("Escape")
        await page.keyboard.press("g")
        await page.keyboard.press("r")
        await page.wait_for_url(re.compile("/requests$"), timeout=SLOW_MS)
