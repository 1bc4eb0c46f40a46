"""The product's own names in a reader's language: levels, rules, classes of loops, stages of a gray release.

A name that is not listed here is said as it is: it is the word in logs, metrics and tables as well.
"""

from collections.abc import Mapping
from typing import Any

from monitor.alerts.channel import Language

LEVELS: Mapping[Language, Mapping[str, str]] = {
    "zh": {
        "healthy": "健康",
        "warn": "L1 预警",
        "reduced": "L2 降权",
        "open": "L3 熔断",
        "recovering": "恢复探测",
    },
    "en": {
        "healthy": "healthy",
        "warn": "L1 warn",
        "reduced": "L2 reduced",
        "open": "L3 open",
        "recovering": "recovering",
    },
}
REASONS: Mapping[Language, Mapping[str, str]] = {
    "zh": {
        "ratio_10m": "10 分钟复读率",
        "ratio_30m": "30 分钟复读率",
        "rolling_15m": "持续 15 分钟复读率",
        "low_traffic_30": "低流量：最近 30 次复读率",
        "soft_failures": "无效回复占比（空、乱码、非 JSON）",
        "unreadable_json": "JSON 无法解析率",
        "trend": "循环错误持续上升",
        "stuck_streams": "流卡死",
        "burst": "同一指纹爆发",
        "hard_failures": "30 秒硬故障率",
        "hard_in_a_row": "连续硬故障",
        "nightly": "夜间评测相对基线",
        "scene": "场景环比",
        "complaints": "投诉爆发",
        "cleared": "已回落到解除线以下",
        "cooled_down": "冷却结束",
        "probes_passed": "探测通过",
        "probes_failed": "探测未通过",
        "probes_timed_out": "探测超时",
        "operator": "人工操作",
        "force_expired": "强制状态到期",
        "rebuilt": "从快照重建",
        "flapping": "状态反复",
        "too_many_open": "熔断模型过多",
        "last_model": "路由的最后一个模型",
    },
    "en": {
        "ratio_10m": "10-minute rate",
        "ratio_30m": "30-minute rate",
        "rolling_15m": "15 minutes on end",
        "low_traffic_30": "last 30 replies",
        "soft_failures": "empty, garbled or non-JSON replies",
        "unreadable_json": "JSON that cannot be read",
        "stuck_streams": "stuck streams",
        "burst": "one fingerprint bursts",
        "trend": "keeps rising",
        "hard_failures": "hard failures",
        "hard_in_a_row": "hard failures in a row",
        "nightly": "nightly evaluation",
        "scene": "scenes",
        "complaints": "complaints",
        "cleared": "below the clear line",
        "cooled_down": "cool-down over",
        "probes_passed": "probes passed",
        "probes_failed": "probes failed",
        "probes_timed_out": "probes timed out",
        "operator": "an operator",
        "force_expired": "forced mode ended",
        "rebuilt": "rebuilt from a snapshot",
        "too_many_open": "too many models open",
        "last_model": "last model of a route",
    },
}
CLASSES: Mapping[Language, Mapping[str, str]] = {
    "zh": {
        "stuck": "卡字",
        "phrase_loop": "短语循环",
        "sentence_loop": "整句循环",
        "paragraph_loop": "段落循环",
        "restatement": "复述上文",
        "format_runaway": "格式失控",
        "garble": "乱码",
        "rare": "生僻字",
    },
    "en": {
        "stuck": "stuck",
        "phrase_loop": "phrase loop",
        "sentence_loop": "sentence loop",
        "paragraph_loop": "paragraph loop",
        "restatement": "restatement",
        "format_runaway": "format runaway",
    },
}


def said(table: Mapping[Any, Mapping[Any, str]], word: object, language: Language) -> str:
    """The word in the reader's language; itself where there is none."""
    return table[language].get(str(word), str(word))
