"""Asking within limits: pace, budget, faults, and going on after an interruption."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from base.faults import Fault
from breaker.ports import StoreUnavailable
from monitor.nightly.asking import GIVE_UP_AFTER, Asking, Progress
from monitor.nightly.policy import NightlyPolicy
from monitor.nightly.shapes import Lure
from tests.support.clock import ManualClock
from tests.support.evals import LOOP, QUICK, RUN, MemoryRuns, Models, attempt, prompt, prompts, target, through


def asking(models: Models, runs: MemoryRuns, clock: ManualClock, policy: NightlyPolicy = QUICK, **more: Any) -> Asking:
    return Asking(models, runs, policy, clock, Random(1), **more)


async def test_every_model_is_asked_every_prompt_once() -> None:
    models, runs, clock = Models(), MemoryRuns(), ManualClock()
    told: list[int] = []
    work = asking(models, runs, clock, told=lambda _result, progress: told.append(progress.done))
    progress = await through(clock, work.ask(RUN, prompts(4), [target("a"), target("b", "w")]))
    assert sorted(models.calls) == [(m, f"question {n}") for m in "ab" for n in range(1, 5)]
    assert len(runs.rows) == 8 and progress.done == progress.total == 8
    assert told == list(range(1, 9))


async def test_a_run_taken_up_again_asks_only_what_is_missing() -> None:
    models, runs, clock = Models(), MemoryRuns(), ManualClock()
    await through(clock, asking(models, runs, clock).ask(RUN, prompts(3), [target()]))
    progress = await through(clock, asking(models, runs, clock).ask(RUN, prompts(5), [target()]))
    assert len(models.calls) == 5
    assert progress.done == 5
    await through(clock, asking(models, runs, clock).ask(RUN, prompts(5), [target()], 2))
    assert len(models.calls) == 10


async def test_calls_are_spread_over_the_minute() -> None:
    models, runs, clock = Models(), MemoryRuns(), ManualClock()
    slow = QUICK.model_copy(update={"limits": QUICK.limits.model_copy(update={"per_minute": 6})})
    began = clock.monotonic_s()
    await through(clock, asking(models, runs, clock, slow).ask(RUN, prompts(5), [target()]))
    assert clock.monotonic_s() - began >= 40  # 10 s apart, the first at once


async def test_a_vendor_that_is_used_up_is_asked_no_more_and_the_others_go_on() -> None:
    models, runs, clock = Models(), MemoryRuns(), ManualClock()
    policy = QUICK.model_validate(
        {**QUICK.model_dump(), "vendors": {"v": {"max_tokens": 1_000, "per_minute": 6_000, "concurrency": 1}}}
    )
    work = asking(models, runs, clock, policy)
    progress = await through(clock, work.ask(RUN, prompts(60), [target("a"), target("b", "w")]))
    asked = [model for model, _ in models.calls]
    assert asked.count("a") == 34  # 30 tokens each: the 34th reaches 1,000
    assert asked.count("b") == 60
    assert progress.skipped == {"a: max_tokens": 26}


async def test_money_is_a_budget_too_and_counts_what_an_earlier_part_spent() -> None:
    models, runs, clock = Models(), MemoryRuns(), ManualClock()
    policy = NightlyPolicy.model_validate(
        {
            "limits": {"per_minute": 60_000, "concurrency": 1, "max_cost": 0.0005},
            "prices": {"a": {"input": 1, "output": 2}},  # 0.00005 a call
        }
    )
    await through(clock, asking(models, runs, clock, policy).ask(RUN, prompts(6), [target()]))
    progress = await through(clock, asking(models, runs, clock, policy).ask(RUN, prompts(30), [target()]))
    assert len(models.calls) == 10
    assert progress.skipped == {"a: max_cost": 20}


async def test_a_rate_limit_rests_the_vendor_for_as_long_as_it_asks() -> None:
    answers = iter([attempt("", Fault.RATE_LIMITED, retry_after_s=30.0)])
    models, runs, clock = Models(lambda *_: next(answers, attempt())), MemoryRuns(), ManualClock()
    await through(clock, asking(models, runs, clock).ask(RUN, prompts(1), [target()]))
    assert clock.monotonic_s() >= 30
    assert [result.fault for result in runs.rows.values()] == [""]


async def test_a_hard_failure_is_tried_again_and_then_kept_as_not_judged() -> None:
    models = Models(lambda *_: attempt("", Fault.SERVER_ERROR))
    runs, clock = MemoryRuns(), ManualClock()
    await through(clock, asking(models, runs, clock).ask(RUN, prompts(1), [target()]))
    assert len(models.calls) == 3
    assert [(one.counted, one.fault) for one in runs.rows.values()] == [(False, "server_error")]


async def test_a_dead_model_is_given_up() -> None:
    models = Models(lambda *_: attempt("", Fault.CONNECT_FAILED))
    runs, clock = MemoryRuns(), ManualClock()
    progress = await through(clock, asking(models, runs, clock).ask(RUN, prompts(60), [target()]))
    assert GIVE_UP_AFTER <= len(runs.rows) <= GIVE_UP_AFTER + 2
    assert progress.skipped["a: unreachable"] == 60 - len(runs.rows)


async def test_results_wait_for_a_store_that_is_away() -> None:
    models, runs, clock = Models(), MemoryRuns(), ManualClock()

    def back(_: object, progress: Progress) -> None:
        runs.down = progress.done < 3

    await through(clock, asking(models, runs, clock, told=back).ask(RUN, prompts(4), [target()]))
    assert len(runs.rows) == 4


async def test_a_store_that_stays_away_is_told() -> None:
    models, runs, clock = Models(), MemoryRuns(), ManualClock()

    def gone(*_: object) -> None:
        runs.down = True

    with pytest.raises(StoreUnavailable):
        await through(clock, asking(models, runs, clock, told=gone).ask(RUN, prompts(4), [target()]))


async def test_structured_calls_are_made_safe_and_others_left() -> None:
    models, runs, clock = Models(), MemoryRuns(), ManualClock()
    both = (prompt(1), prompt(2, lure=Lure.JSON, schema={"type": "object"}, expect={}))
    policy = QUICK.model_copy(update={"parameters": {"penalty": 1.2}})
    work = asking(models, runs, clock, policy, prepare=lambda body: {**body, "penalty": 1.0})
    await through(clock, work.ask(RUN, both, [target()]))
    assert {body["messages"][-1]["content"]: body["penalty"] for body in models.bodies} == {
        "question 1": 1.2,
        "question 2": 1.0,
    }
    assert {one.prompt_id: one.parameters["penalty"] for one in runs.rows.values()} == {"p1": 1.2, "p2": 1.0}


async def test_repeats_are_counted_as_they_come() -> None:
    models = Models(lambda _model, question: attempt(LOOP if question.endswith("2") else "Fine, thank you."))
    runs, clock = MemoryRuns(), ManualClock()
    progress = await through(clock, asking(models, runs, clock).ask(RUN, prompts(4), [target()]))
    assert progress.ill == 1


async def test_a_model_that_reasons_first_is_asked_with_room_for_it() -> None:
    models, runs, clock = Models(), MemoryRuns(), ManualClock()
    targets = [replace(target("a"), least_tokens=4_000), target("b", "w")]
    await through(clock, asking(models, runs, clock).ask(RUN, prompts(1), targets))
    limits = {row.model: row.parameters["max_tokens"] for row in runs.rows.values()}
    assert limits == {"a": 4_000, "b": prompt().max_tokens}
