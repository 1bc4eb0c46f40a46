"""One alert of every kind as its finder hands it in, for the golden messages and for `facts` that templates must survive."""

from typing import Any

from monitor.alerts.alert import Alert, AlertKind, Severity
from tests.support.incidents import AT

MODEL = "acme/large"
REPORT = "**3 个模型里有 1 个变差**\n\n- acme/large 4.1%（基线 1.2%）\n- acme/small 0.9%"
REPORT_EN = "**1 of 3 models worse**\n\n- acme/large 4.1% (baseline 1.2%)\n- acme/small 0.9%"
SAMPLE = "好的好的好的好的好的好的 <@all> [点我](http://evil.example) **x**"


def move(level: str, was: str, severity: Severity, **facts: Any) -> Alert:
    given: dict[str, Any] = {
        "from": was,
        "level": level,
        "epoch": 7,
        "reasons": ["rolling_15m"],
        "numbers": [["rolling_15m.ratio", 0.31], ["rolling_15m.n", 120.0], ["rolling_15m.line", 0.25]],
        "actor": "breaker",
        "note": "",
        "enforced": True,
        "ratio": 0.31,
        "n": 120.0,
        "k": 37.0,
        "line": 0.25,
    }
    return Alert(
        kind=AlertKind.TRANSITION, subject=MODEL, model=MODEL, severity=severity, at=AT, facts={**given, **facts}
    )  # fmt: skip


def found(kind: AlertKind, subject: str = MODEL, severity: Severity = Severity.WARN, **more: Any) -> Alert:
    model = more.pop("model", subject)
    scene, moment = more.pop("scene", ""), more.pop("moment", False)
    return Alert(
        kind=kind, subject=subject, model=model, scene=scene, severity=severity, at=AT, facts=more, moment=moment
    )  # fmt: skip


ALERTS: dict[str, Alert] = {
    "transition": move("open", "warn", Severity.CRITICAL),
    "transition_warn": move("warn", "healthy", Severity.WARN, reasons=["ratio_10m"], ratio=0.09, line=0.08, k=11.0),
    "transition_reduced": move(
        "reduced", "warn", Severity.WARN, reasons=["ratio_30m", "flapping"], ratio=0.18, line=0.15
    ),
    "transition_soft_warn": move(
        "warn", "healthy", Severity.WARN, reasons=["soft_failures"], ratio=0.12, line=0.10, k=14.0
    ),
    "transition_soft_reduced": move(
        "reduced", "warn", Severity.WARN, reasons=["soft_failures"], ratio=0.22, line=0.20, k=26.0
    ),
    "transition_json": move(
        "warn", "healthy", Severity.WARN, reasons=["unreadable_json"], ratio=0.25, line=0.20, k=30.0
    ),
    "transition_recovering": move("recovering", "open", Severity.CRITICAL, reasons=["cooled_down"]),
    "transition_observed": move("open", "healthy", Severity.WARN, enforced=False),
    "transition_forced": move(
        "open",
        "healthy",
        Severity.CRITICAL,
        reasons=["operator"],
        actor="olga",
        note="forced_open: vendor incident",
        until=AT + 1_800,
    ),
    "phrase_only": found(AlertKind.PHRASE_ONLY, "chat", Severity.CRITICAL, model="", models=3.0),
    "phrase_only_without_phrases": found(
        AlertKind.PHRASE_ONLY, "solo", Severity.CRITICAL, model="", models=1.0, phrases=False
    ),
    "detector_suspect": found(AlertKind.DETECTOR_SUSPECT, "*", Severity.CRITICAL, model="", models=3.0, until=AT + 600),
    "flapping": found(AlertKind.FLAPPING, until=AT + 3_600),
    "hourly": found(
        AlertKind.HOURLY,
        ratio=0.06,
        n=410.0,
        repeats=25.0,
        previous=0.031,
        growth=1.94,
        chance=0.0004,
        top_class="stuck",
    ),
    "hourly_stands": found(
        AlertKind.HOURLY,
        ratio=0.06,
        n=410.0,
        repeats=25.0,
        previous=0.031,
        growth=1.94,
        hours=2,
        chance=0.0004,
        top_class="stuck",
    ),
    "scene": found(
        AlertKind.SCENE, scene="qa", ratio=0.07, n=200.0, previous=0.04, growth=1.75, top_class="phrase_loop"
    ),
    "model_changed": found(AlertKind.MODEL_CHANGED, was="large-0805 fp_1", **{"is": "large-0901 fp_2"}),
    "parse_trend": found(AlertKind.PARSE_TREND, severity=Severity.INFO, first=0.02, last=0.11, repaired=84.0),
    "nightly": found(
        AlertKind.NIGHTLY,
        rate=0.041,
        baseline=0.012,
        growth=3.4,
        chance=0.0002,
        n=512,
        k=21,
        sample="the same step, " * 10,
        confirmed=True,
        top_class="sentence_loop",
    ),
    "daily_report": found(
        AlertKind.DAILY_REPORT,
        "2026-01-31",
        Severity.INFO,
        model="",
        day="2026-01-31",
        models=3,
        markdown={"zh": REPORT, "en": REPORT_EN},
    ),
    "gray": found(
        AlertKind.GRAY,
        moment=True,
        version="v7",
        share=0.05,
        stage="rolled_back",
        reason="worse_repeats",
        level="rolled_back:worse_repeats",
        ratio=0.08,
        n=300,
        k=24,
    ),
    "gray_stopped": found(
        AlertKind.GRAY,
        moment=True,
        version="v7](http://evil)",
        share=0.25,
        stage="stopped",
        reason="operator",
        level="stopped:operator",
        waits_s=86_400.0,
    ),
    "gray_paused": found(
        AlertKind.GRAY,
        version="v7",
        share=0.05,
        stage="paused",
        reason="no_data",
        level="paused:no_data",
        ratio=0.0,
        n=0,
    ),
    "complaints": found(AlertKind.COMPLAINTS, users=7, expected=0.42, threshold=5, chance=0.0003, sample=SAMPLE),
    "job_missed": found(
        AlertKind.JOB_MISSED,
        "nightly",
        model="",
        job="nightly",
        slot="2026-01-31T03:00",
        why="TimeoutError",
        tries=3,
        next_at=AT + 86_400,
    ),
    "job_missed_downtime": found(
        AlertKind.JOB_MISSED, "hourly", model="", slot="2026-01-31T03:00+0800", passed_over=59, moment=True
    ),
    "job_missed_late": found(
        AlertKind.JOB_MISSED, "nightly", model="", slot="2026-01-31T03:00+0800", passed_over=3, next_at=AT + 86_400
    ),
    "robot_broken": found(AlertKind.ROBOT_BROKEN, "wecom", model="", channel="wecom", detail="errcode 93000"),
    "store_down": found(AlertKind.STORE_DOWN, "redis", Severity.CRITICAL, model="", since=AT - 12),
    "forbidden": found(
        AlertKind.FORBIDDEN,
        "acme/large #1",
        model=MODEL,
        status=401.0,
        since=AT - 3,
        others=1.0,
        routes=2,
        routes_out=[],
    ),
    **{
        f"forbidden_{name}": found(
            AlertKind.FORBIDDEN,
            "acme/large #1",
            Severity.CRITICAL,
            model=MODEL,
            status=status,
            since=AT - 3,
            others=0.0,
            routes=routes,
            routes_out=out,
            routes_mute=[one for one in out if one.startswith("solo")],
        )
        for name, status, routes, out in (
            ("all", 402.0, 2, []),
            ("and_some_routes_are_out", 401.0, 2, ["chat"]),
            ("and_nobody_is_left", 403.0, 2, ["chat", "summary"]),
            ("and_users_of_some_routes_get_errors", 401.0, 4, ["chat", "solo", "solo2"]),
            ("and_users_of_the_only_route_get_errors", 401.0, 1, ["solo"]),
            ("and_nobody_asks_it", 404.0, 0, []),
        )
    },
    "heartbeat": found(
        AlertKind.HEARTBEAT,
        "pipe",
        Severity.INFO,
        model="",
        open=2,
        told=9,
        failed=0,
        levels={"acme/large": "reduced", "acme/small": "healthy"},
    ),
    "digest": found(AlertKind.DIGEST, "wecom", model="", count=2, items=["🟠 a: scene qa `A1`", "🟠 b: scene qa `A2`"]),
    "test": found(AlertKind.TEST, "wecom", Severity.INFO, model="", channel="wecom", actor="olga"),
}
