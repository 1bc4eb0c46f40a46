"""What the fleet page says: quiet when all is well, loud when it is not, and honest about what it does not know."""

import asyncio
import re
from dataclasses import replace

from breaker.levels import Level, Mode, Reason
from breaker.snapshot import Transition
from breaker.window import Counts, MinuteRow
from console.feed import Feed
from console.fleet_now import LATELY_S, SPARK_BUCKETS, Bar, in_order, row_of, spark
from console.fleet_ports import Known
from console.words import load
from tests.support.console_desk import Browser, World

NAMED = {level: load()["en"](f"level.{level}") for level in Level}


def ill(world: World, model: str, *, n: int = 20, k: int = 3) -> None:
    last = int(world.now_s() // 60)
    counts = Counts(judged=n, sentence_loop=k)
    world.rows[model] = [MinuteRow(model=model, scope="", minute=last - 1 - at, counts=counts) for at in range(60)]


async def page(world: World, path: str = "/", language: str = "en") -> str:
    async with Browser(world, language=language) as browser:
        await browser.login()
        return (await browser.get(path)).text


async def test_all_good_is_one_quiet_line() -> None:
    text = await page(World())
    assert "All 2 models are healthy" in text
    assert "headline calm" in text and "banner" not in text.split("<main")[1] and 'class="card' not in text


async def test_a_fleet_that_nobody_asks_is_not_praised() -> None:
    world = World()
    assert "No request came in the last 10 minutes" in await page(world)
    ill(world, "alpha", n=20, k=0)
    assert "No request came" not in await page(world)
    world = World(store_gone=True)
    assert "No request came" not in await page(world)


async def test_trouble_comes_first_with_its_reason_and_what_comes_next() -> None:
    world = World()
    ill(world, "alpha", n=20, k=4)
    world.stands("alpha", Level.REDUCED, reasons=(Reason.RATIO_30M,))
    text = await page(world)
    assert "1 of 2 models need a look" in text
    card = text.split('class="card reduced"')[1]
    assert "Repeats over 30 minutes: 20.0\u00a0%, reached its line of 15.0\u00a0%" in card
    assert "Watched for another 20 min" in card and "10 min" in card
    assert text.index('class="card reduced"') < text.index("acme/large")


async def test_the_same_is_said_in_chinese() -> None:
    world = World()
    ill(world, "alpha", n=20, k=4)
    world.stands("alpha", Level.REDUCED, reasons=(Reason.RATIO_30M,))
    text = await page(world, language="zh")
    assert "2 个模型中有 1 个需要处理" in text and "L2 降权" in text
    assert "30 分钟复读率 20.0\u00a0%，已达 15.0\u00a0% 线" in text


async def test_a_state_that_has_passed_already_is_still_told_among_the_latest_moves() -> None:
    world = World()
    steps = (Level.HEALTHY, Level.WARN, Level.REDUCED, Level.OPEN, Level.RECOVERING, Level.REDUCED, Level.HEALTHY)
    moves = tuple(
        Transition(
            model="alpha", epoch=at, at=world.now_s() - 700 + 100 * at, from_level=was, to_level=to, reasons=(why,)
        )
        for at, (was, to, why) in enumerate(zip(steps[:-1], steps[1:], list(Reason)[:6], strict=True), 1)
    )
    old = replace(moves[0], epoch=0, at=world.now_s() - LATELY_S - 1)
    world.stands("alpha", Level.HEALTHY, transitions=(old, *moves))
    text = await page(world)
    assert "All 2 models are healthy" in text
    told = text.split('class="lately"')[1].split("</ol>")[0].split("<li>")[1:]
    levels = [re.findall(r"<b>(.*?)</b>", one) for one in told]
    assert levels == [[NAMED[move.from_level], NAMED[move.to_level]] for move in reversed(moves)]
    assert "Latest moves" not in await page(world, "/?text=large")


async def test_banners_say_what_is_gone_and_how_old_the_figures_are() -> None:
    world = World(phrase_only=("chat",), suspect=True)
    async with Browser(world) as browser:
        await browser.login()
        await browser.get("/")
        world.store_gone = world.sql_gone = True
        world.clock.tick(300)
        text = (await browser.get("/")).text
    assert "Redis does not answer. This is the last known state, 5 min old." in text
    assert "No model may answer on chat" in text and "Most models became ill at once" in text


async def test_the_banner_of_a_route_without_phrases_says_that_users_get_an_error() -> None:
    text = await page(World(errors_only=("solo",)))
    assert "No model may answer on solo, and there are no prepared phrases for it: users get an error (503)." in text
    assert "prepared phrases only" not in text
    assert "solo 已没有可用模型，也没有兜底话术：用户会收到错误（503）。" in await page(
        World(errors_only=("solo",)), language="zh"
    )


async def test_a_store_that_was_never_there_still_gives_a_page() -> None:
    text = await page(World(store_gone=True))
    assert "Redis does not answer" in text and "alpha" in text


async def test_a_database_that_is_gone_is_told() -> None:
    assert "The database does not answer or takes nothing: sql gone." in await page(World(sql_gone=True))


async def test_a_full_disk_left_the_page_without_a_word_because_reading_still_worked() -> None:
    full = "database /data/pm.db: the disk is full: free some space there"
    assert f"The database does not answer or takes nothing: {full}." in await page(World(rows_wait=full))


async def test_filters_keep_what_was_asked_for() -> None:
    text = await page(World(), "/?vendor=acme")
    assert "acme/large" in text and "name=alpha" not in text
    assert "No model is like that" in await page(World(), "/?text=zzz")


async def test_a_forced_model_says_by_whom_and_until_when() -> None:
    world = World()
    world.stands("alpha", Level.HEALTHY)
    await world.force("alpha", Mode.FORCED_OPEN, "Min", "<b>vendor</b> incident", world.now_s() + 600)
    text = await page(world)
    assert "By Min: &lt;b&gt;vendor&lt;/b&gt; incident" in text and "Back to probing in 10 min" in text
    assert "forced open" in text


async def test_htmx_gets_the_piece_and_no_frame() -> None:
    async with Browser(World()) as browser:
        await browser.login()
        piece = await browser.get("/", headers={"hx-request": "true"})
        assert "<html" not in piece.text and "All 2 models" in piece.text


async def test_htmx_without_a_session_is_told_to_go_to_the_login() -> None:
    async with Browser(World()) as browser:
        answer = await browser.get("/", headers={"hx-request": "true"})
    assert answer.status_code == 401 and answer.headers["hx-redirect"] == "/login"


async def test_watchers_are_told_once_a_level_moves() -> None:
    world = World()
    feed = Feed(world, world, world.clock)
    running = asyncio.create_task(feed.run())
    await world.clock.advance(2)
    feed.watched()
    await world.clock.advance(1)
    version = feed.version
    waiting = asyncio.create_task(feed.change_after(version, 30))
    world.stands("alpha", Level.OPEN)
    await world.clock.advance(2)
    assert await waiting > version
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_a_feed_outlives_a_round_that_fails() -> None:
    world = World()
    feed = Feed(world, world, world.clock)
    running = asyncio.create_task(feed.run())
    feed.watched()
    kept = world.kept
    world.kept = None  # type: ignore[assignment]
    await world.clock.advance(5)
    world.kept = kept
    feed.watched()
    await world.clock.advance(20)
    assert not running.done() and feed.version >= 1
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def test_a_sparkline_has_a_bar_for_each_five_minutes_and_a_gap_where_nothing_was_asked() -> None:
    rows = [
        MinuteRow(model="m", scope="", minute=1_000, counts=Counts(judged=10, stuck=1)),
        MinuteRow(model="m", scope="scene:chat", minute=1_000, counts=Counts(judged=10, stuck=1)),
        MinuteRow(model="m", scope="", minute=880, counts=Counts(judged=5)),
    ]
    bars = spark(rows, 1_000)
    assert len(bars) == SPARK_BUCKETS
    assert bars[-1] == Bar(n=10, k=1) and bars[-1].ratio == 0.1
    assert bars[0].ratio is None  # minute 880 is one too old


def test_the_worst_comes_first_and_equals_go_by_name() -> None:
    world = World()
    for name, level in (("b", Level.HEALTHY), ("a", Level.HEALTHY), ("w", Level.WARN), ("o", Level.OPEN)):
        world.stands(name, level)
    rows = [row_of(Known(model=m), world.snapshot(m), None, (), (), now_s=world.now_s(), grace_s=2.0) for m in "bawo"]
    assert [row.model for row in in_order(rows)] == ["o", "w", "a", "b"]
