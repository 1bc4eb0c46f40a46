"""What an alert says: model, level and what was done, numbers against the line, since when, why, what comes next.

In:  the fields of a transition, as the outbox keeps them.  Out: a Message in Chinese (default) or English.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from breaker.explain import NAMES
from monitor.alerts.channel import Message

Language = Literal["zh", "en"]

_LEVELS = {
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
_DONE = {
    "zh": {
        "healthy": "流量已恢复到配置的份额。",
        "warn": "仅告警，流量不变。",
        "reduced": "流量份额已降到 10 %，其余由其他模型承担。",
        "open": "已停止向它发送请求，流量全部转到其他模型。",
        "recovering": "冷却结束，用探测请求验证，正式流量仍走其他模型。",
    },
    "en": {
        "healthy": "Traffic is back at its configured share.",
        "warn": "Alert only; traffic is unchanged.",
        "reduced": "Its share is cut to 10 %; other models carry the rest.",
        "open": "It gets no more requests; other models carry all traffic.",
        "recovering": "Cool-down is over; probes decide, live traffic stays elsewhere.",
    },
}
_NEXT = {
    "zh": {
        "healthy": "无需操作。",
        "warn": "下一步：低于 6.4 % 持续 10 分钟自动解除；继续上升则降权。",
        "reduced": "下一步：观察 30 分钟，低于 12 % 后恢复；达到 25 % 则熔断。",
        "open": "下一步：冷却后自动探测；也可由值班人员强制或重置。",
        "recovering": "下一步：探测通过后以 10 % 份额恢复，失败则继续熔断。",
    },
    "en": {
        "healthy": "Nothing to do.",
        "warn": "Next: clears below 6.4 % for 10 minutes; rising further cuts its share.",
        "reduced": "Next: watched for 30 minutes, back below 12 %; opens at 25 %.",
        "open": "Next: probes after the cool-down; an operator may force or reset it.",
        "recovering": "Next: back at a 10 % share if the probes pass, open again if not.",
    },
}
_REASONS_ZH = {
    **{reason.value: name for reason, name in NAMES.items()},
    "cleared": "已回落到解除线以下",
    "cooled_down": "冷却结束",
    "probes_passed": "探测通过",
    "probes_failed": "探测未通过",
    "probes_timed_out": "探测超时",
    "operator": "人工操作",
    "force_expired": "强制状态到期",
    "flapping": "状态反复",
}
_NUMBERS_ZH = {
    "ratio": "比率",
    "n": "判定数",
    "k": "复读数",
    "line": "线",
    "same": "同一指纹",
    "bad": "坏回复",
    "clean": "好回复",
    "sessions": "会话数",
    "stuck": "卡死的流",
    "streams": "流",
    "hard": "硬故障",
    "attempts": "请求数",
    "errors": "循环错误",
}
_WORDS = {
    "zh": {"why": "原因", "numbers": "数据", "at": "时间", "actor": "操作", "id": "告警编号", "test": "测试消息"},
    "en": {"why": "Why", "numbers": "Numbers", "at": "At", "actor": "By", "id": "Alert", "test": "Test message"},
}


def render(kind: str, body: Mapping[str, Any], alert_id: str, language: Language = "zh") -> Message:
    """Return the message of one alert; a kind that is no transition says its `text`."""
    words = _WORDS[language]
    if kind != "transition":
        text = str(body.get("text", words["test"]))
        return Message(title=f"Pointsman: {text[:60]}", markdown=f"**Pointsman** {text}\n> {words['id']} `{alert_id}`")
    model, level, was = str(body["model"]), str(body["to_level"]), str(body["from_level"])
    levels = _LEVELS[language]
    title = f"{model}: {levels[was]} → {levels[level]}"
    at = datetime.fromtimestamp(float(body["at"]), UTC)
    lines = [f"**{title}**", _DONE[language][level]]
    if body.get("reasons"):
        lines.append(f"> {words['why']}: {', '.join(_reason(str(r), language) for r in body['reasons'])}")
    if body.get("numbers"):
        lines.append(
            f"> {words['numbers']}: {', '.join(_number(name, value, language) for name, value in body['numbers'])}"
        )
    if body.get("actor", "breaker") != "breaker":
        lines.append(f"> {words['actor']}: {body['actor']} {body.get('note', '')}".rstrip())
    lines += [f"> {words['at']}: {at:%Y-%m-%d %H:%M:%S} UTC", _NEXT[language][level], f"> {words['id']} `{alert_id}`"]
    return Message(title=title, markdown="\n".join(lines))


def _reason(reason: str, language: Language) -> str:
    """The rule in words, then its own name, by which documents and the admin JSON know it."""
    word = _REASONS_ZH.get(reason) if language == "zh" else None
    return f"{word}（{reason}）" if word else reason


def _number(name: str, value: float, language: Language) -> str:
    short = name.rpartition(".")[2]  # before the dot stands the rule, which the line above names
    figure = f"{value:.1%}" if "ratio" in name or (short == "line" and value <= 1) else f"{value:g}"
    return f"{_NUMBERS_ZH.get(short, short) if language == 'zh' else short} {figure}"
