"""A week of a fleet in minutes: every planted fault is found, told once and resolved once, and nothing else is told.

Planted: one model worse at night, one worse by day, one that flaps, a bad gray version, a burst of complaints, a dead
robot. Around them healthy traffic with one bad reply in two hundred. In one of the nights a real small model is asked a part of
the suite, and its report shows the loops it really fell into.
"""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from base.feedback import FeedbackKind, FeedbackSource
from monitor.nightly.baseline import baseline_of
from monitor.nightly.night import begun
from monitor.nightly.policy import VendorLimits
from monitor.nightly.records import Trigger
from monitor.nightly.suite import sample
from monitor.report.words import TEXT, Language
from pointsman.demo.scripted import ScriptedUpstream
from pointsman.demo.small_model import ALIAS, SICK, SmallModel, available
from pointsman.feedbackwork import feedback_watch
from pointsman.graywork import gray_keeper
from pointsman.kept_reports import KeptReports
from pointsman.nightly import evaluation_of, policy_of, suite_of, targets_of
from pointsman.reporting import keep_report
from router.ports import Answered, Feedback
from store.sql_evals import SqlEvals
from tests.support.robots import Robots
from tests.support.valkey import start_valkey
from tests.support.week import DAY_S, HOUR_S, Load, Week, week

ZONE = ZoneInfo("Asia/Shanghai")
MODELS = ("pine", "oak", "elm", "ash", "fir", "fir-next", "yew", "bay")
REAL, REAL_PROMPTS, REAL_TOKENS = "sage", 32, 64
"""A model that takes no traffic: the real one, greedy and without a penalty."""
QUIET_N = 4
QUIET = 0.005
"""A calm hour has one bad reply. At ten and more of them the hourly rule, at p < .01, is now and then wrong, as it may be."""
ILL = 0.05
"""Worse than before, and yet under the first line of the breaker."""
LOUD = 0.11
"""Over the first line."""


def settings(folder: Path, upstream: str, redis: str, robots: Robots, real: str) -> Path:
    nightly = {
        "models": ["pine", "oak"],
        "evaluate": "0 3 * * mon-thu",
        "limits": {"per_minute": 100_000, "concurrency": 1, "max_tokens": 100_000_000},
    }
    whole = {
        "data_dir": str(folder / "var"),
        "redis_url": redis,
        "models": {name: {"vendor": name, "endpoints": [{"base_url": upstream, "model": name}]} for name in MODELS}
        | {
            REAL: {"endpoints": [{"base_url": real, "model": ALIAS, "extra_body": {**SICK, "max_tokens": REAL_TOKENS}}]}
        },
        "routes": {
            "main": {"candidates": [{"model": name} for name in MODELS if name != "fir-next"]},
            "next": {"candidates": [{"model": "fir-next"}, {"model": "pine", "priority": 1}]},
        },
        "nightly": nightly,
        "alerts": {
            "language": "en",
            "channels": {
                "wecom": {"kind": "wecom", "url": robots.url("wecom")},
                "slack": {"kind": "slack", "url": robots.url("slack")},
            },
            # Repeats and escalations are for people who do not answer; here nobody does.
            "policy": {"repeat_s": 6 * DAY_S, "escalate_after_s": DAY_S},
        },
    }
    file = folder / "pointsman.yaml"
    file.write_text(json.dumps(whole), encoding="utf-8")
    return file


def hours(day: float, start: float, end: float, at: float) -> bool:
    return day * DAY_S + start * HOUR_S <= at < day * DAY_S + end * HOUR_S


def stride(here: Week, at: float) -> int:
    """Every five minutes where something was planted, and until it is over; every hour elsewhere."""
    planted = ((1, 9, 12), (3, 9, 14), (4, 12, 17), (5, 12, 13), (6, 8, 14))
    return 5 if not here.calm or any(hours(*span, at) for span in planted) else 60


def traffic(here: Week, at: float) -> Mapping[str, Load]:
    """What every model answers in the minute that begins `at` seconds after the week."""
    told = {name: Load(n=QUIET_N, k=QUIET_N * QUIET) for name in MODELS if name != "fir-next"}
    if hours(3, 10, 11, at):
        told["elm"] = Load(n=20, k=20 * ILL)
    if hours(4, 13, 14.5, at):
        # Ten bad minutes, twenty good ones, again and again.
        told["ash"] = Load(n=20, k=20 * LOUD if at % 1_800 < 600 else 0)
    if hours(6, 9, 10, at):
        told["bay"] = Load(n=20, k=20 * ILL)
    release = here.service.gray.release("fir")
    if release is not None and release.split > 0:
        told["fir"] = Load(n=12, k=12 * 0.01, arm=release.stable_arm)
        told["fir-next"] = Load(n=4, k=4 * LOUD, arm=release.gray_arm)
    elif release is not None:
        # Rolled back, its vendor mends it, and it goes on serving its own route.
        told["fir-next"] = Load(n=QUIET_N, k=QUIET_N * QUIET)
    return told


@pytest.mark.long
@pytest.mark.model
@pytest.mark.timeout(1_500)
@pytest.mark.skipif(available() is not None, reason=str(available()))
async def test_a_week_tells_every_planted_fault_once_and_nothing_else(tmp_path: Path) -> None:
    monday = datetime(2026, 12, 7, tzinfo=ZONE)
    with start_valkey() as valkey:
        async with ScriptedUpstream(model="m") as upstream, Robots() as robots, SmallModel() as real:
            upstream.set("pine", "phrase_loop", 0.02)
            upstream.set("oak", "phrase_loop", 0.04)
            file = settings(tmp_path, upstream.base_url, valkey.url, robots, real.base_url)
            async with week(file, monday.timestamp() // 60 * 60) as here:
                await live(here, upstream, robots)
                await look(here, tmp_path)


async def live(here: Week, upstream: ScriptedUpstream, robots: Robots) -> None:
    async def until(day: float, hour: float) -> None:
        started, cpu = time.monotonic(), time.process_time()
        await here.live(day * DAY_S + hour * HOUR_S, lambda at: traffic(here, at), lambda at: stride(here, at))
        spent = f"{time.monotonic() - started:.0f} s ({time.process_time() - cpu:.0f} s of processor)"
        print(f"day {day} {hour:02g}:00, {spent}", flush=True)

    await until(0, 9)
    await pin(here)
    await until(1, 9)
    keeper = gray_keeper(here.service)
    await keeper.start("fir", "fir-next", version="2", actor="ops", note="new version")
    await until(2, 2)
    upstream.set("oak", "phrase_loop", 0.12)
    await until(2, 4)
    upstream.set("oak", "phrase_loop", 0.04)
    await until(4, 3)
    await ask_the_real_one(here)
    await until(5, 12)
    complain(here)
    await until(6, 8)
    robots.answers["wecom"].extend([93000] * 1_000)
    await until(6, 12)
    robots.answers["wecom"].clear()
    assert await feedback_watch(here.service).dismiss("yew", "ops", "they meant another app") is not None
    await until(7, 0)


async def ask_the_real_one(here: Week) -> None:
    """What `pointsman eval --sample` does, in the night from Thursday to Friday; and the report of that night."""
    service, clock = here.service, here.clock
    policy = policy_of(service.settings).model_copy(
        update={"limits": VendorLimits(concurrency=4, per_minute=6_000), "parameters": {"max_tokens": REAL_TOKENS}}
    )
    suite, targets = sample(suite_of(policy), REAL_PROMPTS, seed=1), targets_of(service.settings, [REAL])
    evaluation = evaluation_of(service.settings, policy, service.upstream, service.engine, clock, Random(1))
    run = await evaluation.runs.begin(begun("real", Trigger.MANUAL, suite, targets, policy, clock.now_s()))
    asking = asyncio.ensure_future(evaluation.nightly.ask(run, suite, targets, again=False))
    while not asking.done():
        # It answers in its own time; the week's clock goes along.
        await asyncio.wait({asking}, timeout=0.05)
        await clock.advance(0.05, turns=1)
    night = await asking
    await keep_report(night, service.engine, policy, service.settings.monitor.timezone, clock)
    assert await evaluation.nightly.finish(night)
    # On to the next full hour, where every step of the week begins: else one of them would pass over a run of the watch.
    clock.tick(60.0 - here.at % 60.0)
    await here.live(
        here.at // HOUR_S * HOUR_S + HOUR_S,
        lambda at: traffic(here, at),
        lambda at: max(1, round((HOUR_S - at % HOUR_S) / 60.0)),
    )
    ill = [result for result in night.results if result.counted and result.ill]
    print(f"the real one: {len(ill)} of {len(night.results)} repeat themselves", flush=True)
    assert len(night.results) == REAL_PROMPTS and {result.served_model for result in night.results} == {ALIAS}
    assert 1 <= len(ill) < REAL_PROMPTS


async def pin(here: Week) -> None:
    """What an operator does after the first good night."""
    evals, policy = SqlEvals(here.service.engine), here.service.settings.nightly
    run = (await evals.runs())[0]
    for model in run.models:
        results = await evals.results(run.id)
        await evals.pin(baseline_of(run, model, results, policy, at=here.clock.now_s(), by="ops"))


def complain(here: Week) -> None:
    """Fourteen people within ten minutes say that `yew` repeats itself."""
    at = here.clock.now_s()
    for number in range(14):
        to = Answered(request_id=f"pm-{number}", app="car", model="yew", route="main", scene="chat", at=at - 60)
        said = Feedback(
            id=f"f{number}",
            request_id=to.request_id,
            app="car",
            user_hash=f"u{number}",
            at=at - 30 * (number % 20),
            kind=FeedbackKind.REPETITION,
            source=FeedbackSource.USER,
            answered=to,
        )
        assert here.service.deps.feedback is not None
        here.service.deps.feedback.add(said)


PLANTED = {
    ("nightly", "oak"),
    ("hourly", "elm"),
    ("flapping", "ash"),
    ("gray", "fir"),
    ("complaints", "yew"),
    ("hourly", "bay"),
    ("robot_broken", "wecom"),
}
MODELS_ILL = {"oak", "elm", "ash", "fir", "fir-next", "yew", "bay"}
LANGUAGES: tuple[Language, ...] = ("zh", "en")
HOURLY = {one for one in PLANTED if one[0] == "hourly"}
ALONG = {"hourly", "scene", "transition"}
"""What the watch and the breaker say of a model that is ill in whatever way."""
OF_THE_DAY = {"daily_report", "heartbeat"}


async def look(here: Week, folder: Path) -> None:
    told = await here.rows(
        "SELECT id, kind, subject, scene, stage, moment, opened_at, resolved_at FROM incident ORDER BY id"
    )
    for row in told:
        opened, ended = ((row[name] or here.began) - here.began for name in ("opened_at", "resolved_at"))
        print(row["kind"], row["subject"], row["scene"], row["stage"], f"{opened / DAY_S:.2f} {ended / DAY_S:.2f}")
    jobs = await here.rows("SELECT job, state, count(*) AS n FROM job_run GROUP BY job, state")
    print(jobs, flush=True)
    assert {(row["kind"], row["subject"]) for row in told if row["kind"] not in ALONG | OF_THE_DAY} == PLANTED - HOURLY
    assert {(row["kind"], row["subject"]) for row in told} >= HOURLY
    assert [row for row in told if row["resolved_at"] is None] == []
    assert {row["subject"] for row in told if row["kind"] not in OF_THE_DAY} <= MODELS_ILL | {"wecom"}
    assert {row["state"] for row in jobs} <= {"known", "done"}
    await told_once(here, told)
    await reports(here, folder)


async def told_once(here: Week, told: Sequence[Mapping[str, Any]]) -> None:
    """Of each planted fault: one incident, of which people were told its beginning once and its end once."""
    said = await here.rows("SELECT incident_id, text FROM incident_event WHERE event = 'told' ORDER BY id")
    for kind, subject in sorted(PLANTED):
        (mine,) = (row for row in told if (row["kind"], row["subject"]) == (kind, subject))
        words = [row["text"] for row in said if row["incident_id"] == mine["id"]]
        print(kind, subject, words)
        assert words[0] == "first" and words.count("first") == 1
        assert words.count("resolved") == (0 if mine["moment"] else 1)
        assert set(words) <= {"first", "changed", "resolved"}


async def reports(here: Week, folder: Path) -> None:
    """The report of every night in both languages; the bad night's names the model that was worse."""
    kept = KeptReports(engine=here.service.engine)
    days = [entry.day for entry in await kept.days(10)]
    assert days == ["2026-12-11", "2026-12-10", "2026-12-09", "2026-12-08", "2026-12-07"]
    for day in days:
        for language in LANGUAGES:
            page = await kept.html(day, language)
            assert page is not None and TEXT[language]["title"] in page
            worse = TEXT[language]["some_worse"].format(k=1, names="oak")
            assert (worse in page) == (day == "2026-12-09")
            assert (REAL in page) == (day == "2026-12-11")
            assert "<mark>" in page
            (folder / f"{day}-{language}.html").write_text(page, encoding="utf-8")
