"""Try it: a verdict on a pasted text, what a user would have seen, and a prompt sent through a route."""

from collections.abc import AsyncIterator, Sequence

from console.pages.trial import event, shown_of
from console.trial_ports import Told
from tests.support.console_desk import Browser, World, form_token

LOOP = "The harbour is quiet. " + "and then we sail " * 60


class Prober:
    def __init__(self, told: Sequence[Told]) -> None:
        self.told, self.sent = told, []  # type: ignore[var-annotated]

    def routes(self) -> Sequence[str]:
        return ["chat"]

    async def send(self, route: str, prompt: str, key: str) -> AsyncIterator[Told]:
        self.sent.append((route, prompt, key))
        for one in self.told:
            yield one


async def test_a_loop_is_named_marked_and_what_a_user_would_see_is_shown() -> None:
    async with Browser(World()) as browser:
        await browser.login("pma-viewer")
        text = (await browser.post("/try/score", seen_on="/try", text=LOOP, previous="", profile="")).text
    assert "Phrase loop" in text and "<mark>" in text and "never shown" in text


async def test_a_clean_text_is_clean_and_stays_in_the_form() -> None:
    async with Browser(World()) as browser:
        await browser.login()
        text = (
            await browser.post("/try/score", seen_on="/try", text="<b>All well.</b>", previous="", profile="chat")
        ).text
    assert "✓ Clean" in text and "&lt;b&gt;All well." in text and "<b>All well" not in text


async def test_htmx_gets_the_verdict_alone() -> None:
    async with Browser(World()) as browser:
        await browser.login()
        token = form_token(await browser.get("/try"))
        data = {"form_token": token, "text": LOOP, "previous": "", "profile": ""}
        text = (await browser.client.post("/try/score", data=data, headers={"hx-request": "true"})).text
    assert "<html" not in text and "Phrase loop" in text


async def test_an_empty_text_a_huge_one_and_a_strange_profile_are_refused() -> None:
    async with Browser(World()) as browser:
        await browser.login()
        for fields, status in (
            ({"text": " ", "profile": ""}, 422),
            ({"text": "x" * 100_001, "profile": ""}, 422),
            ({"text": "x" * 500_000, "profile": ""}, 413),
            ({"text": "x", "profile": "poetry"}, 422),
        ):
            assert (await browser.post("/try/score", seen_on="/try", **fields)).status_code == status


def test_the_gate_shows_the_head_and_keeps_the_loop() -> None:
    shown = shown_of(LOOP, None)
    assert shown.text.startswith("The harbour is quiet. and then")
    assert shown.suppressed > 500 and shown.stopped
    clean = shown_of("A short and healthy reply.", None)
    assert clean.text == "A short and healthy reply." and clean.suppressed == 0


async def test_a_prompt_is_sent_once_its_reply_is_text_and_the_act_written_down() -> None:
    world = World()
    prober = Prober(
        [
            Told(kind="text", at_ms=100, text="<i>Hello</i>\nworld"),
            Told(kind="text", at_ms=1_900, text="!"),
            Told(kind="end", at_ms=2_000, facts={"model": "alpha", "request_id": "pm-9", "code": ""}),
        ]
    )
    async with Browser(world, prober=prober) as browser:
        await browser.login("pma-operator")
        started = (await browser.post("/try/send", seen_on="/try", route="chat", prompt="hi", key="pmk-secret")).text
        assert "pmk-secret" not in started
        path = started.split('sse-connect="')[1].split('"')[0]
        told = (await browser.get(path)).text
        assert (await browser.get(path)).status_code == 204  # a run is no page to reload
    assert prober.sent == [("chat", "hi", "pmk-secret")]
    assert "&lt;i&gt;Hello" in told and "<i>Hello" not in told and "⏸ 1800 ms" in told
    assert "event: truth" in told and "/request?id=pm-9" in told and told.rstrip().endswith("data:")
    assert [act.action for act in world.acted] == ["try_prompt"] and "hi" not in str(world.acted[0].details)


async def test_what_went_wrong_is_told() -> None:
    prober = Prober([Told(kind="error", at_ms=5, text="no key", facts={})])
    async with Browser(World(), prober=prober) as browser:
        await browser.login()
        started = (await browser.post("/try/send", seen_on="/try", route="chat", prompt="hi", key="")).text
        told = (await browser.get(started.split('sse-connect="')[1].split('"')[0])).text
    assert "It failed: no key" in told


async def test_a_key_that_is_needed_is_asked_for_in_words() -> None:
    refusal = Told(kind="error", at_ms=5, text="send a key as Bearer", facts={"code": "invalid_api_key"})
    async with Browser(World(), prober=Prober([refusal])) as browser:
        await browser.login()
        started = (await browser.post("/try/send", seen_on="/try", route="chat", prompt="hi", key="")).text
        told = (await browser.get(started.split('sse-connect="')[1].split('"')[0])).text
    assert "Clients need an app key here" in told and "Bearer" not in told


async def test_a_run_belongs_to_the_session_that_asked() -> None:
    prober = Prober([Told(kind="end", at_ms=1)])
    world = World()
    async with Browser(world, prober=prober) as browser:
        await browser.login()
        started = (await browser.post("/try/send", seen_on="/try", route="chat", prompt="hi", key="")).text
        await browser.post("/logout")
        await browser.login("pma-operator")
        assert (await browser.get(started.split('sse-connect="')[1].split('"')[0])).status_code == 204
    assert prober.sent == []


def test_an_event_has_one_data_line_for_each_line() -> None:
    assert event("x", "a\nb") == "event: x\ndata: a\ndata: b\n\n"
