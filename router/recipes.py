"""How the next call differs from the last one: never the same call twice (SPEC 3.4), structured calls made safe (2.7).

Pure: bodies in, new bodies out; a body is shared and read-only, so the top level is copied.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from base.faults import Fault
from detector.checks import LENGTH_FINISH_REASONS
from router.policy import RouterPolicy
from upstream.attempt import Attempt

TOP_P_FACTOR, REPETITION_STEP = 0.9, 0.1
FREQUENCY_STEP, FREQUENCY_CAP = 0.3, 1.0
MIN_P = 0.05
TIGHT_FACTOR, TIGHT_FLOOR = 0.75, 512
ROOM_FACTOR, ROOM_CAP = 2, 32_768
"""A reply cut off by its limit gets twice the room, once; the cap is what common models can write at all."""
MAX_STOPS = 4  # OpenAI's own limit
_NGRAM_KIN = ("no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "dry_multiplier")
_PENALTIES = (
    ("repetition_penalty", 1.0),
    ("repeat_penalty", 1.0),  # llama.cpp and Ollama
    ("frequency_penalty", 0),
    ("presence_penalty", 0),
)
_RULES = {
    "zh": (
        "\n\n写作要求：不要循环使用相同的句子或段落，开头与结尾不要雷同；长文要变换句式；"
        "说完就收，不要反复客套；问题较宽时从几个角度各作简要回答。"
    ),
    "en": (
        "\n\nWriting rules: never loop sentences or paragraphs, and do not open and close with the same words; "
        "vary sentence form in long text; end once everything is said, without endless courtesies; "
        "answer a broad question from several angles, each briefly."
    ),
}
_AGAIN = {
    "zh": "上一次的输出不符合要求的格式（{why}）。请重新作答，只输出符合格式的内容。",
    "en": "The last output did not have the required format ({why}). Answer again, with output in that format only.",
}


def changed(
    body: Mapping[str, Any],
    last: Attempt,
    capabilities: frozenset[str],
    policy: RouterPolicy,
    *,
    structured: bool,
    language: str,
) -> dict[str, Any]:
    """Return the body for another call to the same model after `last` failed."""
    out = dict(body)
    if last.fault is Fault.REPETITION:
        _against_repetition(out, last, capabilities, policy, structured=structured)
    elif last.fault is Fault.INVALID_FORMAT and "messages" in body:
        text = _AGAIN.get(language, _AGAIN["en"]).format(why=last.detail[:200] or "invalid")
        out["messages"] = [*body["messages"], {"role": "user", "content": text}]
        if last.finish_reason in LENGTH_FINISH_REASONS:
            _with_room(out)
    return out


def made_safe(body: Mapping[str, Any], temperature: float | None) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a structured call without what breaks JSON, and the names of the fields changed.

    Keys of a JSON array repeat by nature: n-gram bans and penalties make a model misspell them. `temperature` where the
    caller names none; None leaves it to the model, for those that take no other than their own.
    """
    out, names = safe_defaults(body)
    if out.get("temperature") is None and temperature is not None:
        out["temperature"] = temperature
        names = (*names, "temperature")
    return out, names


def safe_defaults(defaults: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """An endpoint's defaults as a structured call may take them, and the names of the fields changed.

    They are laid under the call after it was made safe, so what was taken out there must not come back here.
    """
    out, names = dict(defaults), []
    for name in _NGRAM_KIN:
        if out.pop(name, None):
            names.append(name)
    for name, neutral in _PENALTIES:
        if out.get(name, neutral) not in (neutral, None):
            out[name] = neutral
            names.append(name)
    return out, tuple(names)


def with_schema(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a json_schema call for a model that cannot decode by schema: the caller's exact schema in the system prompt."""
    named = body["response_format"].get("json_schema") or {}
    schema = msgspec.json.encode(named.get("schema") or {}).decode()
    text = f"Answer with one JSON object only, valid against this JSON Schema:\n{schema}"
    return {**_with_system(body, "\n\n" + text), "response_format": {"type": "json_object"}}


def with_rules(body: Mapping[str, Any], language: str) -> dict[str, Any]:
    """Return the body with the anti-repetition rules at the end of the system prompt.

    The text is the same every time and stands last, so that a vendor's prompt cache keeps working.
    """
    return _with_system(body, _RULES.get(language, _RULES["en"]))


def _with_system(body: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Return the body with `text` at the end of its system prompt."""
    messages = list(body["messages"])
    first = messages[0]
    if first["role"] in ("system", "developer") and isinstance(first.get("content"), str):
        messages[0] = {**first, "content": first["content"] + text}
    elif first["role"] in ("system", "developer") and isinstance(first.get("content"), list):
        messages[0] = {**first, "content": [*first["content"], {"type": "text", "text": text.strip()}]}
    else:
        messages.insert(0, {"role": "system", "content": text.strip()})
    return {**body, "messages": messages}


def _against_repetition(
    out: dict[str, Any], last: Attempt, capabilities: frozenset[str], policy: RouterPolicy, *, structured: bool
) -> None:
    out["top_p"] = round(max(policy.top_p_floor, (out.get("top_p") or 1.0) * TOP_P_FACTOR), 3)
    heat = out.get("temperature")
    if heat is None or heat >= 1.0:
        out["temperature"] = 0.8
    elif heat < 0.2:
        out["temperature"] = 0.3  # greedy decoding is what loops most
    if "min_p" in capabilities:
        out["min_p"] = MIN_P
    if structured:
        return
    if "repetition_penalty" in capabilities:
        penalty = (out.get("repetition_penalty") or 1.0) + REPETITION_STEP
        out["repetition_penalty"] = round(min(policy.repetition_penalty_cap, penalty), 3)
    else:
        penalty = (out.get("frequency_penalty") or 0.0) + FREQUENCY_STEP
        out["frequency_penalty"] = round(max(out.get("frequency_penalty") or 0.0, min(FREQUENCY_CAP, penalty)), 3)
    for name in ("max_tokens", "max_completion_tokens"):
        if isinstance(limit := out.get(name), int) and limit > TIGHT_FLOOR:
            out[name] = max(TIGHT_FLOOR, int(limit * TIGHT_FACTOR))  # a loop runs to its limit
    _stop_at_unit(out, last)


def _with_room(out: dict[str, Any]) -> None:
    """It was cut off by its limit: the same limit would cut it off again."""
    for name in ("max_tokens", "max_completion_tokens"):
        if isinstance(limit := out.get(name), int):
            out[name] = max(limit, min(limit * ROOM_FACTOR, ROOM_CAP))


def _stop_at_unit(out: dict[str, Any], last: Attempt) -> None:
    unit = last.verdict.unit if last.verdict else ""
    if not 4 <= len(unit) <= 64 or not unit.strip():
        return
    stops = out.get("stop") or []
    stops = [stops] if isinstance(stops, str) else list(stops)
    # Twice the unit: said once it may be what the reply is about.
    if len(stops) < MAX_STOPS:
        out["stop"] = [*stops, unit * 2]
