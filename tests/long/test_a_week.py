"""A week of a fleet in minutes: every planted fault is found, told once and resolved once, and nothing else is told.

Planted: one model worse at night, one worse by day, one that flaps, a bad gray version, a burst of complaints, a dead
robot. Around them three models with one bad reply in a hundred, as healthy ones have.
"""

import json
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from base.feedback import FeedbackKind, FeedbackSource
from monitor.nightly.baseline import baseline_of
from pointsman.demo.scripted import ScriptedUpstream
from pointsman.graywork import gray_keeper
from router.ports import Answered, Feedback
from store.sql_evals import SqlEvals
from tests.support.robots import Robots
from tests.support.valkey import start_valkey
from tests.support.week import DAY_S, HOUR_S, Load, Week, week

ZONE = ZoneInfo("Asia/Shanghai")
MODELS = ("pine", "oak", "elm", "ash", "fir", "fir-next", "yew", "bay")
QUIET_N = 12
QUIET = 0.01
ILL = 0.11


def settings(folder: Path, upstream: str, redis: str, robots: Robots) -> Path:
    nightly = {
        "models": ["pine", "oak"],
        "evaluate": "0 3 * * mon-fri",
        "limits": {"per_minute": 100_000, "concurrency": 1, "max_tokens": 100_000_000},
    }
    whole = {
        "data_dir": str(folder / "var"),
        "redis_url": redis,
        "models": {name: {"vendor": name, "endpoints": [{"base_url": upstream, "model": name}]} for name in MODELS},
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


def stride(at: float) -> int:
    """Every minute or two where something was planted, and until it is over; every twenty elsewhere."""
    planted = ((1, 9, 13), (3, 10, 13), (4, 13, 18.5), (5, 12, 13.5), (6, 9, 12))
    return 2 if any(hours(*span, at) for span in planted) else 20


def traffic(here: Week, at: float) -> Mapping[str, Load]:
    """What every model answers in the minute that begins `at` seconds after the week."""
    told = {name: Load(n=QUIET_N, k=QUIET_N * QUIET) for name in MODELS if name != "fir-next"}
    if hours(3, 10, 12, at):
        told["elm"] = Load(n=20, k=20 * ILL)
    if hours(4, 13, 17, at):
        # Ten bad minutes, twenty good ones, again and again.
        told["ash"] = Load(n=20, k=20 * ILL if at % 1_800 < 600 else 0)
    if hours(6, 9, 10.5, at):
        told["bay"] = Load(n=20, k=20 * ILL)
    release = here.service.deps.gray.release("fir") if here.service.deps.gray else None  # type: ignore[attr-defined]
    if release is not None and release.split > 0:
        told["fir"] = Load(n=QUIET_N, k=QUIET_N * QUIET, arm=release.stable_arm)
        told["fir-next"] = Load(n=4, k=4 * 0.12, arm=release.gray_arm)
    return told


@pytest.mark.long
@pytest.mark.timeout(1_500)
async def test_a_week_tells_every_planted_fault_once_and_nothing_else(tmp_path: Path) -> None:
    monday = datetime(2026, 12, 7, tzinfo=ZONE)
    with start_valkey() as valkey:
        async with ScriptedUpstream(model="m") as upstream, Robots() as robots:
            upstream.set("pine", "phrase_loop", 0.02)
            upstream.set("oak", "phrase_loop", 0.04)
            file = settings(tmp_path, upstream.base_url, valkey.url, robots)
            async with week(file, monday.timestamp() // 60 * 60) as here:
                await live(here, upstream, robots)
                await look(here)


async def live(here: Week, upstream: ScriptedUpstream, robots: Robots) -> None:
    async def until(day: float, hour: float) -> None:
        started = time.monotonic()
        await here.live(day * DAY_S + hour * HOUR_S, lambda at: traffic(here, at), stride)
        print(f"day {day} {hour:02g}:00, {time.monotonic() - started:.0f} s", flush=True)

    await until(0, 9)
    await pin(here)
    await until(1, 9)
    keeper = gray_keeper(here.service)
    await keeper.start("fir", "fir-next", version="2", actor="ops", note="new version")
    await until(2, 0)
    upstream.set("oak", "phrase_loop", 0.08)
    await until(4, 0)
    upstream.set("oak", "phrase_loop", 0.04)
    await until(5, 12)
    complain(here)
    await until(6, 8)
    robots.answers["wecom"].extend([93000] * 1_000)
    await until(6, 14)
    robots.answers["wecom"].clear()
    await until(7, 10)


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


async def look(here: Week) -> None:
    told = await here.rows(
        "SELECT kind, subject, scene, stage, moment, opened_at, resolved_at FROM incident ORDER BY id"
    )
    for row in told:
        opened, ended = ((row[name] or here.began) - here.began for name in ("opened_at", "resolved_at"))
        print(row["kind"], row["subject"], row["scene"], row["stage"], f"{opened / DAY_S:.2f} {ended / DAY_S:.2f}")
    jobs = await here.rows("SELECT job, state, count(*) AS n FROM job_run GROUP BY job, state")
    print(jobs, flush=True)
    assert {(row["kind"], row["subject"]) for row in told} >= PLANTED
    assert [row for row in told if row["resolved_at"] is None and not row["moment"]] == []
    about = {row["subject"] for row in told} - {"wecom"}
    assert {subject for subject in about if subject in MODELS} <= MODELS_ILL
    assert {row["state"] for row in jobs} <= {"known", "done"}
