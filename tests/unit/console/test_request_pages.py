"""Finding the request a user complained about, and saying whether its verdict was right."""

import pytest

from console.pages.requests import time_axis
from console.record_ports import Try
from pointsman.cli.requests import got_words
from tests.support.console_desk import Browser, World, asked, failed


def world_of() -> World:
    world = World()
    world.asked = [asked(), asked(request_id="pm-2", fallback="none", route="other", tries=())]
    world.replies = [failed()]
    return world


async def test_a_request_is_found_by_its_id_and_shown_at_once() -> None:
    async with Browser(world_of()) as browser:
        await browser.login()
        answer = await browser.get("/requests?id=pm-1")
        assert answer.headers["location"] == "/request?id=pm-1"
        text = (await browser.get(answer.headers["location"])).text
    for words in ("Phrase loop", "40 characters held", "300 characters never shown", "a reply from another model"):
        assert words in text
    assert text.index("alpha") < text.index("acme/large")
    assert "<script>alert" not in text and "<mark>" in text


async def test_an_excerpt_is_called_what_the_model_said_and_what_of_it_nobody_saw_is_told() -> None:
    world = world_of()
    async with Browser(world) as browser:
        await browser.login()
        text = (await browser.get("/request?id=pm-1")).text
        assert "What the model said where it went wrong" in text and "none of it was shown to the user" in text
        world.asked = [asked(fallback="cut")]
        text = (await browser.get("/request?id=pm-1")).text
    assert "300 characters of it were not shown to the user" in text and "Not shown to the user" not in text


async def test_fields_narrow_the_search_and_trouble_alone_may_be_asked_for() -> None:
    world = world_of()
    async with Browser(world) as browser:
        await browser.login()
        both = (await browser.get("/requests")).text
        one = (await browser.get("/requests?route=other")).text
        trouble = (await browser.get("/requests?trouble=1&span=1h")).text
    assert "pm-1" in both and "pm-2" in both
    assert "pm-2" in one and "id=pm-1" not in one
    assert "id=pm-1" in trouble and "id=pm-2" not in trouble
    assert world.sought[-1].since == world.now_s() - 3_600


async def test_an_id_is_looked_for_in_all_that_is_kept() -> None:
    world = world_of()
    async with Browser(world) as browser:
        await browser.login()
        await browser.get("/requests?id=pm-1&span=1h")
    assert world.sought[0].since == 0.0


async def test_nothing_found_is_said() -> None:
    async with Browser(World()) as browser:
        await browser.login()
        assert "No request is like that" in (await browser.get("/requests?app=x")).text
        assert (await browser.get("/request?id=nobody")).status_code == 404
        assert (await browser.get("/request?id=")).status_code == 404


@pytest.mark.parametrize("query", ["before=abc", "span=forever", "before=1e999", "id=" + "x" * 5_000, "trouble=%00"])
async def test_a_strange_query_is_no_error(query: str) -> None:
    async with Browser(world_of()) as browser:
        await browser.login()
        assert (await browser.get(f"/requests?{query}")).status_code in (200, 303)


async def test_a_verdict_is_marked_wrong_and_the_mark_taken_back() -> None:
    world = world_of()
    async with Browser(world) as browser:
        await browser.login("pma-operator")
        answer = await browser.post("/request/mark", seen_on="/request?id=pm-1", id="pm-1", failed="f1", word="wrong")
        assert answer.headers["location"] == "/request?id=pm-1&said=marked"
        assert "the verdict is wrong" in (await browser.get("/request?id=pm-1")).text
        await browser.post("/request/mark", seen_on="/request?id=pm-1", id="pm-1", failed="f1", word="")
    assert world.replies[0].marked == ""
    assert [act.action for act in world.acted] == ["mark_verdict", "mark_verdict"]


async def test_a_mark_on_nothing_is_not_found_and_a_strange_word_refused() -> None:
    async with Browser(world_of()) as browser:
        await browser.login()
        assert (await browser.post("/request/mark", id="pm-1", failed="zz", word="wrong")).status_code == 404
        assert (await browser.post("/request/mark", id="pm-1", failed="f1", word="maybe")).status_code == 422


async def test_a_viewer_marks_nothing() -> None:
    async with Browser(world_of()) as browser:
        await browser.login("pma-viewer")
        assert "/request/mark" not in (await browser.get("/request?id=pm-1")).text
        assert (await browser.post("/request/mark", id="pm-1", failed="f1", word="wrong")).status_code == 403


async def test_requests_come_as_csv() -> None:
    async with Browser(world_of()) as browser:
        await browser.login()
        text = (await browser.get("/requests?csv=requests")).text
    assert text.splitlines()[0].lstrip("\ufeff").startswith("request_id,at,app,route")
    assert len(text.splitlines()) == 3


async def test_a_database_that_is_gone_is_said() -> None:
    world = world_of()
    world.sql_gone = True
    async with Browser(world) as browser:
        await browser.login()
        assert (await browser.get("/requests")).status_code == 503


def test_attempts_of_older_rows_are_laid_end_to_end() -> None:
    def one(ms: int, begun: int | None) -> Try:
        return Try(model="m", endpoint=0, fault="", status=200, begun_ms=begun, elapsed_ms=ms)

    assert [at for _, at in time_axis(asked(tries=(one(100, None), one(50, None), one(10, 400))))] == [0, 100, 400]


@pytest.mark.parametrize(
    ("language", "status", "said", "short"),
    [
        ("en", 503, "an error (503)", "error (503)"),
        ("en", 502, "an error (502)", "error (502)"),
        ("en", 499, "nothing more: the client left", "the client left"),
        ("zh", 503, "一个错误（503）", "错误（503）"),
    ],
)
async def test_an_error_was_shown_as_the_first_reply_as_it_came(
    language: str, status: int, said: str, short: str
) -> None:
    world = World(asked=[asked(fallback="none", status=status, code="shutting_down", served_model="", stream=False)])
    async with Browser(world, language=language) as browser:
        await browser.login()
        one = (await browser.get("/request?id=pm-1")).text
        listed = (await browser.get("/requests?span=30d")).text
    assert said in one
    assert f"▲ {short}" in listed
    assert "as it came" not in one
    assert "首次回复，原样" not in one


async def test_first_text_is_told_of_streams_alone() -> None:
    """Of a request that was not streamed the user saw all of it at once."""
    for stream, told in ((True, True), (False, False)):
        world = World(asked=[asked(stream=stream)])
        async with Browser(world) as browser:
            await browser.login()
            assert ("first text at" in (await browser.get("/request?id=pm-1")).text) is told


@pytest.mark.parametrize(
    ("fallback", "status", "words"),
    [("none", 200, "first reply"), ("none", 503, "error (503)"), ("phrase", 200, "phrase"), ("newer", 200, "newer")],
)
def test_the_terminal_said_none_where_the_user_got_the_first_reply(fallback: str, status: int, words: str) -> None:
    assert got_words({"fallback": fallback, "status": status}) == words
