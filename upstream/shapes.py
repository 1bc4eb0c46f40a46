"""The fields of a vendor's JSON that we read; everything else passes by undecoded.

Types are as wide as vendors are loose: `content` may be a list of parts, `choices` null, `usage` half empty.
"""

from typing import Any

import msgspec

from upstream.attempt import Usage

_ABSENT = msgspec.Raw()
"""The default of a raw field: `is` tells that the field was not there."""


class UsageShape(msgspec.Struct):
    prompt_tokens: int | float | None = None
    completion_tokens: int | float | None = None

    def usage(self) -> Usage:
        return Usage(prompt_tokens=int(self.prompt_tokens or 0), completion_tokens=int(self.completion_tokens or 0))


class Delta(msgspec.Struct):
    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    refusal: str | None = None
    tool_calls: msgspec.Raw = _ABSENT
    function_call: msgspec.Raw = _ABSENT


class Choice(msgspec.Struct):
    delta: Delta | None = None
    message: Delta | None = None
    text: str | None = None
    finish_reason: str | None = None
    logprobs: msgspec.Raw = _ABSENT


class Event(msgspec.Struct):
    """One stream event or one whole reply. `error`, and `object: "error"`, are how vendors fail under status 200."""

    choices: list[Choice] | None = None
    usage: UsageShape | None = None
    model: str | None = None
    system_fingerprint: Any = None
    error: Any = None
    object: str | None = None
    code: Any = None
    message: Any = None

    @property
    def failed(self) -> bool:
        if self.choices and self.error is None and self.object != "error":
            return False
        return bool(self.error) or self.object == "error" or (not self.choices and bool(self.code and self.message))


decode_event = msgspec.json.Decoder(Event).decode
"""Raises one of NOT_JSON (ValidationError is a DecodeError) for what is no such object."""
NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises for bytes of a stranger; RecursionError for brackets nested too deep."""


def text_of(value: Any) -> str:
    """The text of a content field: a string, or the text parts of a list of parts."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list):
        texts = (p.get("text") for p in value if isinstance(p, dict))
        return "".join(t for t in texts if isinstance(t, str))
    return ""


def has_tools(delta: Delta) -> bool:
    """Whether a delta or message calls a tool: absent, `null`, `[]` and `{}` call none."""
    if delta.tool_calls is _ABSENT and delta.function_call is _ABSENT:
        return False  # nearly every event
    return bytes(delta.tool_calls) not in _NO_TOOLS or bytes(delta.function_call) not in _NO_TOOLS


_NO_TOOLS = (b"", b"null", b"[]", b"{}")
