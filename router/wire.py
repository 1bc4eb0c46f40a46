"""What a client sent, checked once: a chat, a completion, or texts to embed.

In:  the bytes of a body and the request's `x-pointsman-*` headers.
Out: a ChatRequest; its `body` is the client's object, unknown fields included.
Raises BadRequest, which names the field and the fix.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec

from base.ids import short_hash
from router.errors import BadRequest
from router.fields import check_fields
from router.messages import checked_messages

_decode = msgspec.json.Decoder().decode
_CJK = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_KANA = re.compile("[\u3040-\u30ff]")
_WORD = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_LANGUAGE_PROBE_CHARS = 2_000  # a language shows within the first lines; a pasted book must not cost more
MAX_DEPTH = 100
"""Lists and objects inside each other; JSON Schemas and tool results stay far below, and encoding must not run out of stack."""
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
MAX_DEADLINE_S = 3_600.0
YES, NO = ("true", "yes", "1"), ("false", "no", "0")
"""A flag in a header, in any case; anything else is refused, since a flag passed over in silence is the worst answer."""


class Kind(StrEnum):
    """What is asked for; the value is the path under `/v1` here and at the upstream."""

    CHAT = "/chat/completions"
    TEXT = "/completions"
    EMBEDDINGS = "/embeddings"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One request to a route. `deadline_s` is what the client allows, None if it said nothing."""

    body: Mapping[str, Any]
    route: str
    stream: bool
    include_usage: bool
    structured: bool
    language: str
    previous: str | None
    session: str
    """A hash: of the header, else of `user`, else of the first user message."""
    scene: str | None = None
    deadline_s: float | None = None
    fallback_allowed: bool = True
    repetition_allowed: bool = False
    auxiliary: bool = False
    kind: Kind = Kind.CHAT
    traceparent: str = ""
    """The client's own trace, if it is in one."""


def parse_chat(raw: bytes, headers: Mapping[str, str], app: str = "", kind: Kind = Kind.CHAT) -> ChatRequest:
    """Check `raw` and the headers (lower-case names). Raises BadRequest."""
    body = _object(raw)
    route = body.get("model")
    if not isinstance(route, str) or not route:
        raise BadRequest("`model` must be a non-empty string: the name of a route (GET /v1/models)", param="model")
    messages = checked_messages(body) if kind is Kind.CHAT else []
    check_fields(body)
    if kind is Kind.EMBEDDINGS and body.get("stream"):
        raise BadRequest("`stream` must be absent: embeddings come whole", param="stream")
    stream = bool(body.get("stream"))
    purpose = _one_of(headers, "x-pointsman-purpose", ("auxiliary", "main"))
    fallback = _one_of(headers, "x-pointsman-fallback", ("none", "auto"))
    asked = headers.get("x-pointsman-session") or body.get("user")
    last_user, first_user = _user_texts(messages) if kind is Kind.CHAT else (_plain_text(body, kind),) * 2
    return ChatRequest(
        body=body,
        route=route,
        stream=stream,
        include_usage=bool((body.get("stream_options") or {}).get("include_usage")),
        structured=is_structured(body),
        language=guess_language(last_user),
        previous=_previous_reply(messages),
        session=short_hash(app, asked or first_user),
        scene=_word(headers, "x-pointsman-scene"),
        deadline_s=_deadline_s(headers),
        fallback_allowed=fallback != "none",
        repetition_allowed=_flag(headers, "x-pointsman-allow-repetition"),
        auxiliary=purpose == "auxiliary",
        kind=kind,
        traceparent=headers.get("traceparent", ""),
    )


def guess_language(text: str) -> str:
    """`zh` when the text holds Chinese characters and no kana, else `en`: the languages phrases are written in."""
    head = text[:_LANGUAGE_PROBE_CHARS]
    return "zh" if _CJK.search(head) and not _KANA.search(head) else "en"


def is_structured(body: Mapping[str, Any]) -> bool:
    """Whether the call asks for JSON or may call tools (SPEC 2.7)."""
    kind = (body.get("response_format") or {}).get("type")
    return kind in ("json_object", "json_schema") or bool(body.get("tools"))


def text_of(content: Any) -> str:
    """The text of a message's content: a string, or the text parts of a list."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (p.get("text") for p in content if isinstance(p, dict))
        return "".join(p for p in parts if isinstance(p, str))
    return ""


def _object(raw: bytes) -> dict[str, Any]:
    if not raw.strip():
        raise BadRequest("the body is empty: send one UTF-8 JSON object")
    try:
        body = _decode(raw)
    except RecursionError:
        raise BadRequest(_too_deep_told("the body")) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        why = _why_no_json(raw) or str(error)
        raise BadRequest(f"the body is not valid JSON: {why}; send one UTF-8 JSON object") from error
    if not isinstance(body, dict):
        raise BadRequest("the body must be a JSON object")
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and (name := _too_deep(body)) is not None:
        raise BadRequest(_too_deep_told(f"`{name[:64]}`"), param=name[:64])
    return body


def _why_no_json(raw: bytes) -> str:
    """What people do wrong most; empty: nothing of that."""
    if raw.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x78\x9c")):
        return "it is compressed, which is not undone here"
    if raw.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        return "it begins with a byte order mark"
    return "half of a surrogate pair (such as \\ud800) stands for no character" if _HALF.search(raw) else ""


def _too_deep_told(what: str) -> str:
    return f"{what} must not nest lists and objects deeper than {MAX_DEPTH}: flatten it"


def _too_deep(body: dict[str, Any]) -> str | None:
    """The name of the first field that nests too deep; level by level, so that no depth can exhaust the stack."""
    for name, value in body.items():
        level, depth = [value], 1
        while level := [
            inner
            for holder in level
            if isinstance(holder, dict | list)
            for inner in (holder.values() if isinstance(holder, dict) else holder)
            if isinstance(inner, dict | list)
        ]:
            depth += 1
            if depth >= MAX_DEPTH:
                return name
    return None


def _plain_text(body: Mapping[str, Any], kind: Kind) -> str:
    """The prompt of a completion, or the first text to embed."""
    name = "prompt" if kind is Kind.TEXT else "input"
    value = body.get(name)
    if isinstance(value, str) and value:
        return value
    if kind is Kind.TEXT:
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
            return value[0]
        raise BadRequest("`prompt` must be one non-empty string: send one request for each", param="prompt")
    if not isinstance(value, list) or not value:
        raise BadRequest("`input` must be a non-empty string or list", param="input")
    for at, one in enumerate(value):
        if isinstance(one, bool) or not isinstance(one, str | int | list):
            raise BadRequest(
                f"`input[{at}]` must be a string, or a token id, or a list of token ids", param=f"input[{at}]"
            )
    return value[0] if isinstance(value[0], str) else ""


def _user_texts(messages: list[dict[str, Any]]) -> tuple[str, str]:
    users = [m for m in messages if m["role"] == "user"]
    return (text_of(users[-1].get("content")), text_of(users[0].get("content"))) if users else ("", "")


def _previous_reply(messages: list[dict[str, Any]]) -> str | None:
    for message in reversed(messages):
        if message["role"] == "assistant" and (text := text_of(message.get("content"))):
            return text
    return None


def _word(headers: Mapping[str, str], name: str) -> str | None:
    value = headers.get(name)
    if value is not None and not _WORD.fullmatch(value):
        raise BadRequest(f"header `{name}` must be 1 to 64 letters, digits, `_`, `.` or `-`", param=name)
    return value


def _one_of(headers: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> str | None:
    value = headers.get(name)
    if value is not None and value not in allowed:
        raise BadRequest(f"header `{name}` must be one of: {', '.join(allowed)}", param=name)
    return value


def _flag(headers: Mapping[str, str], name: str) -> bool:
    value = headers.get(name)
    if value is None:
        return False
    said = value.lower()
    if said not in YES and said not in NO:
        raise BadRequest(f"header `{name}` must be true, yes or 1, or false, no or 0", param=name)
    return said in YES


def _deadline_s(headers: Mapping[str, str]) -> float | None:
    value = headers.get("x-pointsman-deadline-ms")
    if value is None:
        return None
    if not (value.isascii() and value.isdigit()) or not 1 <= int(value) <= MAX_DEADLINE_S * 1000:
        top = int(MAX_DEADLINE_S * 1000)
        raise BadRequest(
            f"header `x-pointsman-deadline-ms` must be whole milliseconds from 1 to {top}",
            param="x-pointsman-deadline-ms",
        )
    return int(value) / 1000
