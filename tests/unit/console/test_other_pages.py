"""Settings, gray releases, complaints, reports and switches on the pages, over ports in memory."""

import pytest

from base.switch import SwitchMode
from console.pages.settings import difference
from tests.support.console_desk import Browser, World
from tests.support.console_rooms import Complaints, Found, Kept, Levers, Releases, Settings, everything


async def test_the_file_is_compared_with_what_is_in_force_and_taken_by_an_administrator() -> None:
    settings, world = Settings(), World()
    async with Browser(world, configuration=settings) as browser:
        await browser.login()
        text = (await browser.get("/config")).text
        assert "<del>  a: 2</del>" in text and "<ins>  a: 1</ins>" in text
        assert "Not every process runs by the same settings" in text
        assert (await browser.post("/config/reload", seen_on="/config", reason="new model")).status_code == 303
        settings.mistakes = ("line 3: <b>models</b>: is missing",)
        refused = await browser.post("/config/reload", seen_on="/config", reason="try again")
        assert refused.status_code == 422 and "&lt;b&gt;models" in refused.text
        assert "cannot be taken as it is" in (await browser.get("/config")).text
    assert settings.reloads == 2 and [act.action for act in world.acted] == ["reload", "reload"]


async def test_an_operator_takes_no_settings() -> None:
    settings = Settings()
    async with Browser(World(), configuration=settings) as browser:
        await browser.login("pma-operator")
        assert "/config/reload" not in (await browser.get("/config")).text
        assert (await browser.post("/config/reload", reason="because")).status_code == 403
    assert settings.reloads == 0


def test_no_difference_is_nothing() -> None:
    assert difference("a\n", "a\n") == []


async def test_a_gray_release_shows_both_arms_and_takes_orders() -> None:
    grays, world = Releases(), World()
    async with Browser(world, grays=grays) as browser:
        await browser.login("pma-operator", "Li")
        text = (await browser.get("/gray")).text
        assert "alpha → acme/large" in text and "5\u00a0% of the sessions" in text and "rolled back" in text
        assert (await browser.get("/gray/release?id=g1")).status_code == 200
        assert (await browser.get("/gray/release?id=g9")).status_code == 404
        fields = {"model": "alpha", "reason": "looks bad"}
        assert (await browser.post("/gray/command", seen_on="/gray", word="stop", **fields)).status_code == 303
        assert (await browser.post("/gray/command", seen_on="/gray", word="explode", **fields)).status_code == 422
        started = await browser.post("/gray/start", seen_on="/gray", candidate="acme/large", version="v3", **fields)
        assert started.headers["location"] == "/gray?said=gray_started"
        grays.refuses = True
        refused = await browser.post("/gray/command", seen_on="/gray", word="step", **fields)
        assert refused.status_code == 409 and "&lt;b&gt;nothing" in refused.text
    assert grays.done == [("stop", "alpha", "Li", "looks bad"), ("start", "alpha", "acme/large", "Li")]
    assert [act.action for act in world.acted] == ["gray_step", "gray_start", "gray_stop"]


async def test_an_anomaly_is_shown_with_samples_and_dismissed_once() -> None:
    world = World()
    async with Browser(world, anomalies=Complaints(), watched=Found()) as browser:
        await browser.login("pma-operator")
        text = (await browser.get("/feedback")).text
        assert "7 users complained" in text and "&lt;b&gt;says it twice" in text and "id=pm-1" in text
        assert "Ratio 12.0\u00a0%" in text
        # The model's own timeline has them too, a vendor's silent change among them.
        model = (await browser.get("/model?name=alpha")).text
        for page in (text, model):
            assert "gpt-1 (fp1)" in page and "&lt;gpt-2&gt;" in page and "Ratio 12.0\u00a0%" in page
        fields = {"model": "alpha", "reason": "a drill"}
        assert (await browser.post("/feedback/dismiss", seen_on="/feedback", **fields)).status_code == 303
        assert (await browser.post("/feedback/dismiss", seen_on="/feedback", **fields)).status_code == 409
        assert "2026-01-30" in (await browser.get("/feedback?csv=anomalies")).text
    assert world.acted[0].action == "dismiss_anomaly"


async def test_reports_are_listed_and_shown_where_they_can_run_nothing() -> None:
    async with Browser(World(), reports=Kept()) as browser:
        await browser.login("pma-viewer")
        text = (await browser.get("/reports")).text
        assert "2026-01-31" in text and "✕ failed" in text and "&lt;b&gt;x" in text
        shown = await browser.get("/reports/2026-01-31")
        assert shown.text.endswith("en") and "sandbox" in shown.headers["content-security-policy"]
        assert "script-src 'self'" not in shown.headers["content-security-policy"]
        assert (await browser.get("/reports/2020-01-01")).status_code == 404


async def test_a_switch_is_turned_with_an_end_told_on_the_fleet_page_and_turned_back() -> None:
    levers, world = Levers(), World()
    async with Browser(world, switches=levers) as browser:
        await browser.login("pma-operator", "Li")
        fields = {"route": "", "reason": "<b>false</b> alarms", "minutes": "30"}
        answer = await browser.post("/switches/turn", seen_on="/switches", mode="observe", **fields)
        assert answer.headers["location"] == "/switches?said=switched"
        (switch,) = levers.set_to
        assert (switch.route, switch.mode, switch.until) == ("", SwitchMode.OBSERVE, levers.at + 1_800)
        fleet = (await browser.get("/")).text
        assert "The whole fleet: Detector only observes, for another 30 min, by Li: &lt;b&gt;false" in fleet
        await browser.post("/switches/turn", seen_on="/switches", mode="normal", route="", reason="all well")
        assert "Detector only observes, for" not in (await browser.get("/")).text
        for wrong in ({"route": "nowhere", "mode": "bypass"}, {"route": "chat", "mode": "off"}):
            refused = await browser.post("/switches/turn", seen_on="/switches", reason="because", **wrong)
            assert refused.status_code == 422
    assert [act.target for act in world.acted] == ["fleet", "fleet"]


@pytest.mark.parametrize("language", ["zh", "en"])
async def test_every_joined_page_is_whole_in_both_languages(language: str) -> None:
    async with Browser(World(), language=language, **everything()) as browser:
        await browser.login()
        for path in ("/incidents", "/incidents/7", "/config", "/gray", "/feedback", "/reports", "/switches"):
            answer = await browser.get(path)
            assert answer.status_code == 200, path
            assert " style=" not in answer.text and "{" not in answer.text.split("<main")[1].split("<dialog")[0], path
