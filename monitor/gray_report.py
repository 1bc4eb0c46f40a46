"""What people are told of a gray release: the alert of where it stands, and the report at its end.

Pure.  In:  the document.  Out: an Alert and whether it is fired or resolved; a report as values and as Markdown.
"""

import math
from collections.abc import Callable
from typing import Any

from breaker.gray import Arm, GrayReason, GrayRelease, GrayStage
from monitor.alerts.alert import Alert, AlertKind, Severity
from monitor.gray import GrayPolicy, numbers_of

Z95 = 1.959964
STAGES = {
    "en": {
        GrayStage.RUNNING: "running",
        GrayStage.PAUSED: "paused",
        GrayStage.WAITING: "waiting for a decision",
        GrayStage.PROMOTED: "promoted",
        GrayStage.ROLLED_BACK: "rolled back",
        GrayStage.STOPPED: "stopped by hand",
    },
    "zh": {
        GrayStage.RUNNING: "放量中",
        GrayStage.PAUSED: "已暂停",
        GrayStage.WAITING: "待人工放行",
        GrayStage.PROMOTED: "已全量",
        GrayStage.ROLLED_BACK: "已回滚",
        GrayStage.STOPPED: "人工终止",
    },
}
REASONS = {
    "en": {
        GrayReason.STARTED: "started",
        GrayReason.STEP_PASSED: "the step passed",
        GrayReason.ALL_PASSED: "every step passed",
        GrayReason.RESUMED: "goes on",
        GrayReason.NEW_VERSION: "a new version; counters begin anew",
        GrayReason.WORSE_REPEATS: "repeats more often than the stable version",
        GrayReason.WORSE_HARD: "fails more often than the stable version",
        GrayReason.STUCK_STREAMS: "streams got stuck",
        GrayReason.OPENED: "the breaker took it off",
        GrayReason.NO_DATA: "no replies to judge",
        GrayReason.STARVED: "too little to judge by its deadline",
        GrayReason.STABLE_SICK: "the stable version is sick itself",
        GrayReason.SOURCE_FAILS: "its counts cannot be read",
        GrayReason.OPERATOR: "by a person's word",
    },
    "zh": {
        GrayReason.STARTED: "开始灰度",
        GrayReason.STEP_PASSED: "本阶段达标",
        GrayReason.ALL_PASSED: "各阶段全部达标",
        GrayReason.RESUMED: "恢复",
        GrayReason.NEW_VERSION: "版本有变，重新计数",
        GrayReason.WORSE_REPEATS: "复读率高于稳定版",
        GrayReason.WORSE_HARD: "失败率高于稳定版",
        GrayReason.STUCK_STREAMS: "流式输出卡死",
        GrayReason.OPENED: "已被熔断",
        GrayReason.NO_DATA: "没有可评估的回复",
        GrayReason.STARVED: "到期仍样本不足",
        GrayReason.STABLE_SICK: "稳定版自身异常",
        GrayReason.SOURCE_FAILS: "读不到计数",
        GrayReason.OPERATOR: "人工操作",
    },
}


def alert_of(release: GrayRelease, policy: GrayPolicy, now_s: float) -> tuple[bool, Alert]:
    """Whether to fire or to resolve, and the alert. Ends are moments; a pause and a wait hold until they are over."""
    facts = numbers_of(release) | {
        "candidate": release.candidate,
        "version": release.version,
        "share": release.share,
        "release": release.id,
        "stage": release.stage.value,
        "reason": release.reason.value,
        "level": f"{release.stage}:{release.reason}",
        "ratio": release.gray.repeat_ratio,
        "n": release.gray.judged,
        "k": release.gray.repeats,
        "waits_s": policy.retry_after_s,
    }
    severity = Severity.WARN if release.stage in (GrayStage.ROLLED_BACK, GrayStage.PAUSED) else Severity.INFO
    over = not release.stage.active
    alert = Alert(
        kind=AlertKind.GRAY,
        subject=release.model,
        severity=severity,
        at=release.ended_at if over else now_s,
        model=release.model,
        facts=facts,
        moment=over,
    )
    return over or _holds(release, policy, now_s), alert


def _holds(release: GrayRelease, policy: GrayPolicy, now_s: float) -> bool:
    if release.stage is GrayStage.WAITING:
        return True
    if release.stage is not GrayStage.PAUSED or release.reason is GrayReason.OPERATOR:
        return False
    if release.reason is GrayReason.SOURCE_FAILS:
        return True
    silent_since = release.data_at if release.reason is GrayReason.NO_DATA else release.since
    return now_s - silent_since >= policy.tell_after_s


def interval(bad: int, n: int) -> tuple[float, float]:
    """The 95 % confidence interval of a rate (Wilson 1927); all of 0..1 where nothing was seen."""
    if not n:
        return 0.0, 1.0
    p, z2 = bad / n, Z95 * Z95
    middle = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = Z95 * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, middle - half), min(1.0, middle + half)


def report(release: GrayRelease) -> dict[str, Any]:
    """The report as plain values: where it stands, both arms with intervals, the evidence, every move."""
    return {
        "id": release.id,
        "model": release.model,
        "candidate": release.candidate,
        "version": release.version,
        "stage": release.stage.value,
        "reason": release.reason.value,
        "share": release.split,
        "step": release.step,
        "by_itself": release.by_itself,
        "started_at": release.started_at,
        "ended_at": release.ended_at or None,
        "gray": _arm(release.gray),
        "stable": _arm(release.stable),
        "numbers": numbers_of(release),
        "rejected": [
            {"candidate": it.candidate, "version": it.version, "until": it.until} for it in release.rejected
        ],
        "events": [
            {
                "at": it.at,
                "stage": it.stage.value,
                "reason": it.reason.value,
                "share": it.share,
                "actor": it.actor,
                "note": it.note,
                "numbers": dict(it.numbers or {}),
            }
            for it in release.events
        ],
    }  # fmt: skip


def _arm(arm: Arm) -> dict[str, Any]:
    low, high = interval(arm.repeats, arm.judged)
    hard_low, hard_high = interval(arm.hard, arm.attempts)
    return {
        "judged": arm.judged,
        "repeats": arm.repeats,
        "repeat_ratio": arm.repeat_ratio,
        "repeat_interval": [low, high],
        "attempts": arm.attempts,
        "hard": arm.hard,
        "hard_ratio": arm.hard_ratio,
        "hard_interval": [hard_low, hard_high],
    }


WORDS = {
    "en": {
        "title": "Gray release",
        "colon": ": ",
        "head": "| | repeats | repeat rate (95 % interval) | hard failures | failure rate |",
        "gray": "gray",
        "stable": "stable",
        "evidence": "Evidence that it is worse (stops at the set line, 100 by default): repeats {:.3g}, failures {:.3g}",
    },
    "zh": {
        "title": "灰度报告",
        "colon": "：",
        "head": "| | 复读 | 复读率（95% 置信区间） | 硬失败 | 硬失败率 |",
        "gray": "灰度版",
        "stable": "稳定版",
        "evidence": "变差的证据值（达到设定线即终止，默认 100）：复读 {:.3g}，硬失败 {:.3g}",
    },
}


def markdown(release: GrayRelease, language: str, when: Callable[[float], str]) -> str:
    """The report for people, in `en` or `zh`. `when`: a moment as text."""
    words, stages, reasons = WORDS[language], STAGES[language], REASONS[language]
    numbers = numbers_of(release)
    lines = [
        f"# {words['title']}{words['colon']}{release.model} → {release.candidate} ({release.version})",
        "",
        f"**{stages[release.stage]}**{words['colon']}{reasons[release.reason]}",
        "",
        words["head"],
        "| --- | --- | --- | --- | --- |",
        _row(words["gray"], release.gray),
        _row(words["stable"], release.stable),
        "",
        words["evidence"].format(numbers["e_repeats"], numbers["e_hard"]),
        "",
    ]
    for it in release.events:
        parts = [when(it.at), f"{it.share:.0%}", stages[it.stage], reasons[it.reason], it.actor, it.note]
        lines.append("- " + " · ".join(part for part in parts if part))
    return "\n".join(lines) + "\n"


def _row(name: str, arm: Arm) -> str:
    low, high = interval(arm.repeats, arm.judged)
    repeats = f"{arm.repeats} / {arm.judged} | {arm.repeat_ratio:.2%} ({low:.2%} – {high:.2%})"
    return f"| {name} | {repeats} | {arm.hard} / {arm.attempts} | {arm.hard_ratio:.2%} |"
