"""Why a model stands where it stands, and what would have to happen for it to move.

Pure; console and command line print it.  The words are Chinese, because operators read them.
"""

from dataclasses import dataclass

from breaker.evidence import Evidence, EvidenceKind
from breaker.levels import Level, Mode, Reason
from breaker.machine import clear_row
from breaker.policy import BreakerPolicy
from breaker.recovery import is_hard
from breaker.seen import Seen, View, view_of
from breaker.snapshot import Snapshot
from breaker.triggers import Reading, read_all

NAMES = {
    Reason.RATIO_10M: "10 分钟复读率",
    Reason.RATIO_30M: "30 分钟复读率",
    Reason.ROLLING_15M: "持续 15 分钟复读率",
    Reason.LOW_TRAFFIC_30: "低流量：最近 30 次复读率",
    Reason.SOFT_FAILURES: "无效回复占比（空、乱码、非 JSON）",
    Reason.UNREADABLE_JSON: "JSON 无法解析率",
    Reason.TREND: "循环错误持续上升",
    Reason.STUCK_STREAMS: "流卡死",
    Reason.BURST: "同一指纹爆发",
    Reason.HARD_FAILURES: "30 秒硬故障率",
    Reason.HARD_IN_A_ROW: "连续硬故障",
    Reason.NIGHTLY: "夜间评测相对基线",
    Reason.SCENE: "场景环比",
    Reason.COMPLAINTS: "投诉爆发",
}
LEVEL_NAMES = {
    Level.HEALTHY: "健康",
    Level.WARN: "L1 预警",
    Level.REDUCED: "L2 降权",
    Level.OPEN: "L3 熔断",
    Level.RECOVERING: "恢复探测",
}
RATIO_RULES = frozenset(
    {
        Reason.RATIO_10M,
        Reason.RATIO_30M,
        Reason.ROLLING_15M,
        Reason.LOW_TRAFFIC_30,
        Reason.SOFT_FAILURES,
        Reason.UNREADABLE_JSON,
        Reason.HARD_FAILURES,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleNow:
    """One rule as it reads now; `words` is one line for people."""

    reading: Reading
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """`unknown`: no ratio rule has its minimum sample. `probes_wanted`: synthetic probes would make it known.

    `abnormal`: findings that flag the model until they expire, without moving a level (hourly watch, complaints).
    `clear_row`: evaluations in a row that were good enough to come down. `probes`: results under this epoch, oldest first.
    """

    snapshot: Snapshot
    rules: tuple[RuleNow, ...]
    next_words: tuple[str, ...]
    unknown: bool
    probes_wanted: bool
    abnormal: tuple[Evidence, ...] = ()
    clear_row: int = 0
    probes: tuple[bool, ...] = ()


def explain(here: Snapshot, seen: Seen, policy: BreakerPolicy, now_s: float) -> Explanation:
    """Read every rule and say what the next change waits for. Nothing moves."""
    view = view_of(here, seen, policy, now_s)
    readings = read_all(view, policy)
    ratios = [reading for reading in readings if reading.reason in RATIO_RULES - {Reason.HARD_FAILURES}]
    unknown = not any(reading.known for reading in ratios)
    # One bad reply a day is no illness: a healthy model is asked only where a level may be near.
    repeats = max((dict(reading.numbers).get("k", 0.0) for reading in ratios), default=0.0)
    ill = here.level in (Level.WARN, Level.REDUCED) or repeats >= policy.warn_min_repeats
    row = clear_row(here, view, policy)
    return Explanation(
        snapshot=here,
        rules=tuple(RuleNow(reading=reading, words=_rule_words(reading)) for reading in readings),
        next_words=(*_next_words(here, seen, readings, row, policy, now_s), *_mixed_words(view)),
        clear_row=row,
        probes=_probe_results(here, seen),
        unknown=unknown,
        abnormal=tuple(e for e in view.evidence if e.kind in (EvidenceKind.HOURLY, EvidenceKind.COMPLAINTS)),
        probes_wanted=here.level is Level.RECOVERING or (unknown and ill),
    )


def _probe_results(here: Snapshot, seen: Seen) -> tuple[bool, ...]:
    return seen.probes.results if seen.probes is not None and seen.probes.epoch == here.epoch else ()


def _mixed_words(view: View) -> tuple[str, ...]:
    if len(view.detectors) < 2:
        return ()
    return (f"最近 30 分钟的计数来自多个检测器版本（{'、'.join(view.detectors)}）：正在滚动升级，比率仅供参考",)


def _figure(reading: Reading, value: float) -> str:
    return f"{value:.1%}" if reading.reason in RATIO_RULES else f"{value:g}"


def _rule_words(reading: Reading) -> str:
    state = "触发" if reading.fired else "未触发" if reading.known else "样本不足"
    sample = f"，样本 {reading.n}/{reading.minimum}" if reading.minimum else ""
    name, line = NAMES[reading.reason], _figure(reading, reading.line)
    return f"{name}：{_figure(reading, reading.value)}，线 ≥ {line}{sample}，{state}（→ {LEVEL_NAMES[reading.level]}）"


def _next_words(
    here: Snapshot, seen: Seen, readings: tuple[Reading, ...], row: int, policy: BreakerPolicy, now_s: float
) -> tuple[str, ...]:
    if here.mode is Mode.FORCED_OPEN:
        return (f"人工强制熔断，{max(0.0, here.mode_until - now_s):.0f} 秒后到期，到期先进入恢复探测",)
    up = tuple(
        f"升到{LEVEL_NAMES[reading.level]}：{_rule_words(reading)}"
        for reading in readings
        if reading.level.severity > here.level.severity and reading.minimum
    )
    match here.level:
        case Level.OPEN:
            return (f"冷却还剩 {max(0.0, here.until - now_s):.0f} 秒，之后进入恢复探测",)
        case Level.RECOVERING:
            done = _probe_results(here, seen)
            need = (
                f"连续 {policy.probe_hard_good} 次成功" if is_hard(here.cause) else "13 次全好（1 坏需 21，2 坏需 29）"
            )
            left = max(0.0, here.until - now_s)
            return (f"探测 {sum(done)} 好 {len(done) - sum(done)} 坏，通过需{need}；{left:.0f} 秒内无结论则重新熔断",)
        case Level.REDUCED:
            dwell = max(0.0, here.since + policy.reduce_dwell_s - now_s)
            line, wanted = policy.reduce_clear_ratio, policy.reduce_clear_evaluations
            back = f"回到健康：观察还剩 {dwell:.0f} 秒，且 30 分钟复读率 < {line:.1%} 连续 {wanted} 次（现 {row} 次）"
            back += f"，其间无效回复占比 < {policy.soft_reduce_clear_ratio:.1%}"
        case Level.WARN:
            back = f"回到健康：10 分钟复读率 < {policy.warn_clear_ratio:.1%} 连续 {policy.warn_clear_min} 次（现 {row} 次）"
            back += f"，其间无效回复占比 < {policy.soft_warn_clear_ratio:.1%}"
        case _:
            return up
    pinned = here.pinned_until - now_s
    return (*up, back, *((f"抖动锁定还剩 {pinned:.0f} 秒，期间不下降",) if pinned > 0 else ()))
