"""The page of one model, and what an operator may do there."""

import pytest

from breaker.levels import Level, Mode, Reason
from breaker.snapshot import Transition
from breaker.window import Counts, MinuteRow
from console.fleet_now import Bar
from console.marked import marked
from console.model_now import heat_map, kinds, loops, parts, series
from console.record_ports import Hour
from console.words import load
from tests.support.console_desk import Browser, World, failed

NO_LOOPS = load()["en"]("model.no_loops")


def world_of(level: Level = Level.REDUCED) -> World:
    world = World()
    last = int(world.now_s() // 60)
    for at in range(1, 100):
        counts = Counts(judged=20, phrase_loop=4, timeouts=1, elapsed_ms=20_000)
        world.rows.setdefault("alpha", []).append(
            MinuteRow(model="alpha", scope="", minute=last - at, counts=counts, fingerprints={"00b2": 4})
        )
        world.rows["alpha"].append(MinuteRow(model="alpha", scope="scene:qa", minute=last - at, counts=counts))
        world.rows["alpha"].append(MinuteRow(model="alpha", scope="endpoint:0", minute=last - at, counts=counts))
    move = Transition(
        model="alpha", epoch=3, at=world.now_s() - 600, from_level=Level.HEALTHY, to_level=level,
        reasons=(Reason.RATIO_30M,), numbers=(("ratio_30m.ratio", 0.2), ("ratio_30m.k", 101.0), ("ratio_30m.n", 505.0), ("ratio_30m.line", 0.15)),
    )  # fmt: skip
    world.stands("alpha", level, reasons=(Reason.RATIO_30M,), transitions=(move,))
    world.replies.append(failed())
    return world


async def page(world: World, path: str = "/model?name=alpha", language: str = "en", token: str = "pma-admin") -> str:
    async with Browser(world, language=language) as browser:
        await browser.login(token)
        answer = await browser.get(path)
        assert answer.status_code == 200
        return answer.text


async def test_it_says_why_why_not_and_what_comes_next() -> None:
    text = await page(world_of())
    assert "Repeats over 30 minutes: 20.0\u00a0%, reached its line of 15.0\u00a0%" in text
    assert "Why was it not taken further?" in text
    assert "L3 open: Repeats for 15 minutes on end: 20.0\u00a0%" in text or "L3 open: Repeats for 15 minutes" in text
    assert "Watched for another 20 min" in text


async def test_the_rules_are_told_in_chinese_too() -> None:
    text = await page(world_of(), language="zh")
    assert "为什么没有更进一步" in text and "L3 熔断: 持续 15 分钟复读率" in text


async def test_the_loop_is_marked_and_nothing_a_model_said_becomes_markup() -> None:
    text = await page(world_of())
    assert "<script>alert(1)" not in text
    assert "&lt;script&gt;" in text and "<mark>" in text and "goes wrong here" in text and "character 30" in text
    assert "396 times" in text


async def test_classes_scenes_endpoints_and_moves_are_tabled() -> None:
    text = await page(world_of())
    for word in ("Phrase loop", "Time-outs", "qa", "Moves", "L2 reduced", "20.0\u00a0%"):
        assert word in text


async def test_a_move_s_figures_are_counts_ratios_and_moments_in_words() -> None:
    world = world_of()
    by_hand = Transition(
        model="alpha", epoch=4, at=world.now_s() - 60, from_level=Level.REDUCED, to_level=Level.OPEN, actor="Li",
        reasons=(Reason.OPERATOR,), numbers=(("until", 1_700_000_000.0),),
    )  # fmt: skip
    world.stands("alpha", Level.OPEN, transitions=(*world.kept["alpha"].transitions, by_hand))
    for language, said, until, by in (
        ("en", ("ratio 20.0\u00a0%", "bad 101", "of 505", "line 15.0\u00a0%"), "until <time", ">breaker<"),
        ("zh", ("比率 20.0\u00a0%", "坏 101", "共 505", "线 15.0\u00a0%"), "到期 <time", ">熔断器<"),
    ):
        moves = (await page(world, language=language)).split('class="moves')[1].split("</table>")[0]
        assert all(f'<span class="nowrap">{one}</span>' in moves for one in said)
        assert until in moves and "2023-11-14 22:13:20" in moves and by in moves and ">Li<" in moves


async def test_the_chart_reads_numbers_lines_and_moves() -> None:
    async with Browser(world_of()) as browser:
        await browser.login()
        data = (await browser.get("/model/series?name=alpha")).json()
    assert len(data["at"]) == len(data["ratio"]) == len(data["judged"]) == 120
    assert data["lines"] == [0.08, 0.15, 0.25] and data["ratio"][-1] == 0.2
    assert [move["to"] for move in data["moves"]] == ["reduced"]


class Past:
    def __init__(self, hours: list[Hour]) -> None:
        self.kept = hours

    async def hours(self, model: str, since: float) -> list[Hour]:
        return self.kept


async def test_a_heat_map_is_shown_once_there_are_hours() -> None:
    world = world_of()
    for hours, words in (
        ([], "No hour was rolled up yet"),
        ([Hour(at=world.now_s(), judged=10, repeats=3)], '<td class="s3"'),
    ):
        async with Browser(world, hours=Past(hours)) as browser:
            await browser.login()
            assert words in (await browser.get("/model?name=alpha")).text


async def test_an_unknown_model_is_not_found_and_its_name_stays_text() -> None:
    async with Browser(World()) as browser:
        await browser.login()
        answer = await browser.get("/model?name=<b>x</b>")
        assert answer.status_code == 404 and "<b>x" not in answer.text
        assert (await browser.get("/model/series?name=nobody")).status_code == 404


async def test_without_sql_and_redis_the_page_still_stands() -> None:
    world = world_of()
    world.store_gone = world.sql_gone = True
    text = await page(world)
    assert "The database does not answer" in text and "Redis does not answer" in text and "L2 reduced" in text
    # What cannot be read is not told as nothing: the model is ill.
    for nothing in ("no_loops", "no_classes", "no_scenes"):
        assert load()["en"](f"model.{nothing}") not in text
    assert text.count("the counts of the last two hours cannot be read") == 3


async def test_what_only_the_database_knows_is_not_told_as_nothing() -> None:
    world = world_of()
    world.replies.clear()
    world.rows.clear()
    world.sql_gone = True
    text = await page(world)
    assert "The database does not answer" in text and NO_LOOPS not in text
    assert NO_LOOPS in await page(World())


async def test_forcing_is_written_down_with_name_role_and_reason_and_then_done() -> None:
    world = world_of()
    async with Browser(world) as browser:
        await browser.login("pma-operator", "Min")
        answer = await browser.post(
            "/model/force", name="alpha", mode="forced_open", minutes="30", reason="vendor incident"
        )
        assert answer.headers["location"] == "/model?name=alpha&said=forced"
        assert "the mode is set" in (await browser.get(answer.headers["location"])).text
    (act,) = world.acted
    assert (act.actor, act.role, act.action, act.target, act.reason) == (
        "Min", "operator", "force", "alpha", "vendor incident",
    )  # fmt: skip
    here = world.kept["alpha"]
    assert here.mode is Mode.FORCED_OPEN and here.mode_until == world.now_s() + 1_800


async def test_a_reset_starts_afresh() -> None:
    world = world_of()
    async with Browser(world) as browser:
        await browser.login()
        assert (await browser.post("/model/reset", name="alpha", reason="fixed")).status_code == 303
    assert world.kept["alpha"].level is Level.HEALTHY and world.acted[0].action == "reset"


async def test_a_reason_in_two_chinese_characters_is_taken_by_a_form_whose_field_asks_for_no_more() -> None:
    world = world_of()
    async with Browser(world) as browser:
        await browser.login()
        assert "minlength" not in (await browser.get("/model?name=alpha")).text
        assert (await browser.post("/model/reset", name="alpha", reason="误报")).status_code == 303
    assert world.acted[0].reason == "误报"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        pytest.param({"mode": "forced_open", "reason": ""}, "Reason: is missing", id="no reason"),
        pytest.param({"mode": "forced_open", "reason": "x"}, "Reason: needs 2 characters or more, or one Chinese character", id="a short reason"),
        pytest.param({"mode": "sideways", "reason": "because"}, "Mode: is not one of", id="an unknown mode"),
        pytest.param({"mode": "forced_open", "reason": "because", "minutes": "soon"}, "Minutes: must be a number", id="words"),
        pytest.param({"mode": "forced_open", "reason": "because", "minutes": "-1"}, "Minutes: must lie", id="too few"),
        pytest.param({"mode": "forced_open", "reason": "because", "minutes": "nan"}, "Minutes: must lie", id="no number at all"),
    ],
)  # fmt: skip
async def test_a_bad_form_names_the_field_and_does_nothing(fields: dict[str, str], words: str) -> None:
    world = world_of()
    async with Browser(world) as browser:
        await browser.login()
        answer = await browser.post("/model/force", name="alpha", **fields)
    assert answer.status_code == 422 and words in answer.text
    assert world.acted == [] and world.kept["alpha"].mode is Mode.AUTO


async def test_a_viewer_sees_no_form_and_cannot_act_by_hand_either() -> None:
    world = world_of()
    async with Browser(world) as browser:
        await browser.login("pma-viewer")
        text = (await browser.get("/model?name=alpha")).text
        assert 'action="/model/force"' not in text and "Your role only looks" in text
        refused = await browser.post("/model/force", name="alpha", mode="forced_open", reason="because")
    assert refused.status_code == 403 and world.acted == []


async def test_what_cannot_be_written_down_is_not_done() -> None:
    world = world_of()
    async with Browser(world) as browser:
        await browser.login()
        world.sql_gone = True
        answer = await browser.post("/model/reset", name="alpha", reason="because")
    assert answer.status_code == 503 and world.kept["alpha"].level is Level.REDUCED


async def test_transitions_come_as_csv_without_formulas() -> None:
    world = world_of()
    here = world.kept["alpha"].transitions[0]
    object.__setattr__(here, "note", "=cmd|' /C calc'!A0")
    async with Browser(world) as browser:
        await browser.login()
        answer = await browser.get("/model?name=alpha&csv=transitions")
    assert (
        answer.headers["content-type"].startswith("text/csv") and "attachment" in answer.headers["content-disposition"]
    )
    assert "'=cmd" in answer.text and ",=cmd" not in answer.text


def test_sums_by_class_and_scope_look_at_two_hours_only() -> None:
    rows = [
        MinuteRow(model="m", scope=scope, minute=minute, counts=Counts(judged=10, stuck=2))
        for scope in ("", "scene:a", "scene:b")
        for minute in (500, 1_000)
    ]
    (kind,) = kinds(rows, 1_000)
    assert (kind.name, kind.count, kind.bars[-1]) == ("stuck", 2, Bar(n=10, k=2))
    assert [(p.name, p.counts.judged) for p in parts(rows, 1_000, "scene")] == [("a", 10), ("b", 10)]


def test_loops_are_ordered_by_count_and_take_the_newest_sample() -> None:
    rows = [MinuteRow(model="m", scope="", minute=1_000, counts=Counts(judged=9), fingerprints={"00b2": 3, "00c3": 5})]
    found = loops(rows, [failed(id="new"), failed(id="old", at=1.0), failed(id="x", fingerprint="00d4")], 1_000)
    assert [(one.fingerprint, one.count) for one in found] == [("00c3", 5), ("00b2", 3), ("00d4", 0)]
    assert found[0].sample is None and found[1].sample is not None and found[1].sample.id == "new"


def test_the_timeline_has_gaps_where_nothing_was_judged() -> None:
    world = World()
    last = int(world.now_s() // 60) - 1
    rows = [MinuteRow(model="alpha", scope="", minute=last, counts=Counts(judged=10, stuck=1))]
    data = series(rows, world.kept["alpha"], (), (last + 1) * 60 + 3, 2.0)
    assert data["ratio"][-1] == 0.1 and data["ratio"][0] is None and data["watermark"] is None


def test_a_heat_map_has_seven_days_and_sums_by_hour() -> None:
    day_s = 86_400.0
    now_s = 20_000 * day_s + 5 * 3_600
    hours = [Hour(at=now_s - day, judged=100, repeats=10) for day in (0, day_s, 8 * day_s)]
    made = heat_map(hours, now_s)
    assert len(made.days) == 7 and len(made.by_hour) == 24
    assert made.cells[-1][5].ratio == 0.1 and made.by_hour[5] == Bar(n=200, k=20)
    assert made.by_hour[6].ratio is None


def test_an_excerpt_without_a_loop_is_cut_at_its_onset() -> None:
    cut = marked("All is well here, then not.", onset=18)
    assert (cut.head, cut.loop) == ("All is well here, ", "then not.")
