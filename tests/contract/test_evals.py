"""Runs, results, baselines and reports over SQLite and PostgreSQL."""

import asyncio
from dataclasses import replace
from typing import Any

from sqlalchemy.ext.asyncio import AsyncEngine

from breaker.seen import Tally
from detector.version import DETECTOR_VERSION
from monitor.nightly.records import RunState, Trigger
from pointsman.kept_reports import KeptReports
from pointsman.nightly import taken_up
from store.sql_eval_results import Only, SqlEvalResults
from store.sql_evals import SqlEvals
from store.sql_reports import SqlReports
from tests.support.evals import RUN, baseline, result

FULL = result(
    loop_class="stuck", rules=("cycle",), metrics={"trigram_repeat": 0.9}, parsed=True, schema_ok=False,
    content_ok=False, parameters={"temperature": 0}, cost=0.25, reply="好好好", asked="问", ill=True, tokens_out=30,
)  # fmt: skip


async def test_a_run_that_is_begun_twice_is_the_first_one(engine: AsyncEngine) -> None:
    evals = SqlEvals(engine)
    assert await evals.begin(RUN) == RUN
    assert await evals.begin(replace(RUN, started_at=99.0)) == RUN
    assert await evals.run("r1") == RUN
    assert await evals.run("none") is None


async def test_of_two_leaders_one_ends_the_run(engine: AsyncEngine) -> None:
    evals = SqlEvals(engine)
    await evals.begin(RUN)
    ended = await asyncio.gather(*(evals.finish("r1", RunState.DONE, 9.0, "a: max_cost: 3") for _ in range(4)))
    assert sum(ended) == 1
    kept = await evals.run("r1")
    assert kept is not None and (kept.state, kept.ended_at, kept.detail) == (RunState.DONE, 9.0, "a: max_cost: 3")


async def test_results_come_back_as_they_were_and_none_is_doubled(engine: AsyncEngine) -> None:
    evals = SqlEvals(engine)
    rows = [FULL, result(2), result(2, round=2), result(2, model="b")]
    await asyncio.gather(*(evals.add(rows) for _ in range(3)))
    await evals.add([replace(FULL, reply="another leader's word")])
    kept = await evals.results("r1")
    assert len(kept) == 4
    assert kept[0] == FULL


async def test_many_results_are_written_at_once_and_odd_text_is_made_fit(engine: AsyncEngine) -> None:
    evals = SqlEvals(engine)
    await evals.add([result(number, reply="a\x00\ud800", served_model="m" * 500) for number in range(450)])
    kept = await evals.results("r1")
    assert len(kept) == 450
    assert (kept[0].reply, len(kept[0].served_model)) == ("a?", 128)


async def test_the_history_counts_first_rounds_of_whole_nights(engine: AsyncEngine) -> None:
    evals = SqlEvals(engine)
    for name, trigger, at in [
        ("n1", Trigger.NIGHTLY, 10.0),
        ("n2", Trigger.NIGHTLY, 20.0),
        ("m", Trigger.MANUAL, 15.0),
    ]:
        await evals.begin(replace(RUN, id=name, trigger=trigger, started_at=at))
        rows = [result(1, ill=True), result(2), result(3, counted=False), result(1, round=2, ill=True)]
        await evals.add([replace(row, run_id=name, cost=0.5) for row in rows])
        await evals.finish(name, RunState.DONE, at + 100.0)  # a run belongs to the day it began on
    points = await evals.history(0.0, 20.0)
    assert [(p.run_id, p.model, p.tally, p.cost, p.asked) for p in points] == [("n1", "a", Tally(2, 1), 1.5, 3)]


async def test_a_pin_is_a_new_version_and_the_newest_is_in_force(engine: AsyncEngine) -> None:
    evals = SqlEvals(engine)
    first = await evals.pin(baseline())
    second = await evals.pin(baseline(k=20, note="after the prompt change"))
    assert (first.version, second.version) == (1, 2)
    assert await evals.baseline("a", "s1", DETECTOR_VERSION) == second
    assert await evals.baseline("a", "s2", DETECTOR_VERSION) is None
    await evals.pin(baseline(model="b"))
    assert [(one.model, one.version) for one in await evals.baselines()] == [("a", 2), ("b", 1)]


async def test_pins_at_once_get_versions_of_their_own(engine: AsyncEngine) -> None:
    evals = SqlEvals(engine)
    made = await asyncio.gather(*(evals.pin(baseline()) for _ in range(3)))
    assert sorted(one.version for one in made) == [1, 2, 3]


async def test_old_runs_go_but_not_those_a_baseline_stands_on(engine: AsyncEngine) -> None:
    evals = SqlEvals(engine)
    for name in ("old", "r0"):
        await evals.begin(replace(RUN, id=name))
        await evals.add([replace(result(), run_id=name)])
    await evals.pin(baseline(run_id="r0"))
    assert await evals.forget(before=50.0) == 1
    assert [run.id for run in await evals.runs()] == ["r0"]
    assert len(await evals.results("r0")) == 1


async def test_texts_of_good_answers_go_first_and_their_figures_stay(engine: AsyncEngine) -> None:
    evals = SqlEvals(engine)
    rows = [FULL, result(2, reply="fine", asked="q", reply_chars=4), result(3, reply="new", asked="q", at=90.0)]
    await evals.add(rows)
    assert await evals.forget_texts(before=50.0) == 1
    assert [(one.reply, one.asked, one.reply_chars) for one in await evals.results("r1")] == [
        (FULL.reply, FULL.asked, FULL.reply_chars),
        ("", "", 4),
        ("new", "q", 0),
    ]
    assert await evals.forget_texts(before=50.0) == 0


async def test_answers_are_looked_through_page_by_page_the_sick_ones_first(engine: AsyncEngine) -> None:
    await SqlEvals(engine).add(
        [
            result(1),
            result(2, lure="code", parsed=True, schema_ok=True, content_ok=False),
            replace(FULL, prompt_id="p3"),
            result(4, counted=False, ill=True, fault="timeout"),
            result(1, model="b", parsed=True, schema_ok=True, content_ok=True),
            replace(result(9), run_id="another"),
        ]
    )
    looked = SqlEvalResults(engine)

    async def seen(**asked: Any) -> list[tuple[str, str]]:
        return [(one.model, one.prompt_id) for one in await looked.page("r1", **asked)]

    assert await seen() == [("a", "p3"), ("a", "p1"), ("a", "p2"), ("a", "p4"), ("b", "p1")]
    assert await seen(limit=2, offset=1) == [("a", "p1"), ("a", "p2")]
    assert await seen(only=Only.ILL) == [("a", "p3")]
    assert await seen(only=Only.WRONG) == [("a", "p3"), ("a", "p2")]
    assert await seen(only=Only.UNJUDGED) == [("a", "p4")]
    assert await seen(model="b") == [("b", "p1")]
    assert await seen(lure="code") == [("a", "p2")]
    assert await looked.one("r1", "a", "p3", 1) == replace(FULL, prompt_id="p3")
    assert await looked.one("r1", "a", "p3", 2) is None
    first, second = await looked.models("r1")
    assert (first.model, first.asked, first.judged, first.ill) == ("a", 4, 3, 1)
    assert (first.json_asked, first.json_valid, first.json_right) == (2, 1, 0)
    assert (second.model, second.json_right) == ("b", 1)


async def test_the_console_is_shown_every_field_of_an_answer(engine: AsyncEngine) -> None:
    evals = SqlEvals(engine)
    await evals.begin(RUN)
    await evals.add([FULL, result(2)])
    shown = KeptReports(engine=engine)
    run = await shown.run("r1")
    assert run is not None and (run.models, run.prompts, run.trigger) == (("a", "b"), 8, "nightly")
    assert await shown.run("none") is None
    (ill,) = await shown.results("r1", only="ill")
    assert (ill.asked, ill.reply, ill.metrics, ill.parameters) == (
        FULL.asked,
        FULL.reply,
        FULL.metrics,
        FULL.parameters,
    )
    assert len(await shown.results("r1", only="a word nobody knows")) == 2
    assert await shown.result("r1", "a", "p1", 1) == ill
    assert await shown.result("r1", "a", "p1", 7) is None
    (model,) = await shown.models("r1")
    assert (model.judged, model.ill) == (2, 1)


async def test_a_night_whose_measure_changed_in_the_middle_begins_anew_and_ends_once(engine: AsyncEngine) -> None:
    evals = SqlEvals(engine)
    first = await taken_up(evals, RUN, 1.0)
    assert first is not None and await taken_up(evals, RUN, 2.0) == first
    stricter = replace(RUN, detector_version="another")
    anew = await taken_up(evals, stricter, 3.0)
    assert anew is not None and anew.id == "r1-s1-another"
    kept = await evals.run("r1")
    assert kept is not None and (kept.state, kept.detail) == (
        RunState.FAILED, "the suite or the detector was changed in the middle"
    )  # fmt: skip
    # Whoever takes the slot up after that goes on with the new run, and ends it once.
    assert await taken_up(evals, stricter, 4.0) == anew
    await evals.finish(anew.id, RunState.DONE, 5.0)
    assert await taken_up(evals, stricter, 6.0) is None


async def test_a_night_that_ended_is_not_asked_again_by_another_measure(engine: AsyncEngine) -> None:
    evals = SqlEvals(engine)
    await evals.begin(RUN)
    await evals.finish(RUN.id, RunState.DONE, 2.0)
    assert await taken_up(evals, replace(RUN, detector_version="another"), 3.0) is None
    assert len(await evals.runs()) == 1


async def test_one_report_is_kept_for_each_day(engine: AsyncEngine) -> None:
    reports = SqlReports(engine)
    await reports.keep("2026-01-30", 1.0, "n1", {"a": 1})
    await reports.keep("2026-01-31", 2.0, "n2", {"a": 2})
    await reports.keep("2026-01-31", 3.0, "n2", {"a": 3, "词": ["好"]})
    assert [(entry.day, entry.at) for entry in await reports.reports()] == [("2026-01-31", 3.0), ("2026-01-30", 1.0)]
    assert await reports.report("2026-01-31") == {"a": 3, "词": ["好"]}
    assert await reports.report("2026-02-01") is None
