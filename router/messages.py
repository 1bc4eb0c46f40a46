"""The messages of a chat, checked down to their parts. Pure; raises BadRequest, which names the place and the fix.

Kinds of parts that we do not know pass: vendors have their own (video, documents).
"""

from collections.abc import Mapping
from typing import Any

from router.errors import BadRequest

_EMPTY_BUT = ("tool_calls", "function_call", "refusal", "audio", "reasoning_content")
"""An assistant's message with one of these may have no content."""
_INSIDE: Mapping[str, tuple[str, type | tuple[type, ...], str]] = {
    "text": ("text", str, "a string"),
    "refusal": ("refusal", str, "a string"),
    "image_url": ("image_url", (dict, str), "an object with `url`"),
    "input_audio": ("input_audio", dict, "an object with `data` and `format`"),
    "file": ("file", dict, "an object"),
}


def checked_messages(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The messages. Raises BadRequest."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise BadRequest("`messages` must be a non-empty list of {role, content}", param="messages")
    for at, message in enumerate(messages):
        _check_message(message, f"messages[{at}]")
    return messages


def _check_message(message: Any, param: str) -> None:
    if not isinstance(message, dict):
        raise BadRequest(f"`{param}` must be an object with `role` and `content`", param=param)
    role, content = message.get("role"), message.get("content")
    if not isinstance(role, str) or not role:
        raise BadRequest(f"`{param}.role` must be a string such as user, system or assistant", param=f"{param}.role")
    calls = message.get("tool_calls")
    if calls is not None:
        _check_calls(calls, f"{param}.tool_calls")
    if role == "tool" and not isinstance(message.get("tool_call_id"), str):
        raise BadRequest(
            f"`{param}.tool_call_id` must be a string: the id of the call that is answered",
            param=f"{param}.tool_call_id",
        )
    if not isinstance(message.get("name"), str | None):
        raise BadRequest(f"`{param}.name` must be a string", param=f"{param}.name")
    if isinstance(content, str):
        return
    if isinstance(content, list):
        _check_parts(content, f"{param}.content")
    elif content is not None:
        raise BadRequest(f"`{param}.content` must be a string or a list of parts", param=f"{param}.content")
    elif role != "assistant":
        raise BadRequest(f"`{param}.content` must be a string or a list of parts, not null", param=f"{param}.content")
    elif not any(name in message for name in _EMPTY_BUT):
        raise BadRequest(
            f"`{param}.content` must be a string or a list of parts: only a message with tool_calls may have none",
            param=f"{param}.content",
        )


def _check_parts(parts: list[Any], param: str) -> None:
    if not parts:
        raise BadRequest(f"`{param}` must be a string or a list of at least one part", param=param)
    for at, part in enumerate(parts):
        here = f"{param}[{at}]"
        if not isinstance(part, dict):
            raise BadRequest(f"`{here}` must be an object such as {{type: text, text: …}}", param=here)
        kind = part.get("type")
        if not isinstance(kind, str):
            raise BadRequest(f"`{here}.type` must be a string such as text or image_url", param=f"{here}.type")
        if (inside := _INSIDE.get(kind)) is None:
            continue
        name, wanted, what = inside
        value = part.get(name)
        if not isinstance(value, wanted):
            raise BadRequest(f"`{here}.{name}` must be {what}", param=f"{here}.{name}")
        if kind == "image_url" and isinstance(value, dict) and not isinstance(value.get("url"), str):
            raise BadRequest(
                f"`{here}.image_url.url` must be a string: an address or a data URL", param=f"{here}.image_url.url"
            )


def _check_calls(calls: Any, param: str) -> None:
    if not isinstance(calls, list):
        raise BadRequest(f"`{param}` must be a list", param=param)
    for at, call in enumerate(calls):
        here = f"{param}[{at}]"
        if not isinstance(call, dict):
            raise BadRequest(f"`{here}` must be an object with `id`, `type` and `function`", param=here)
        if not isinstance(call.get("id"), str):
            raise BadRequest(f"`{here}.id` must be a string", param=f"{here}.id")
        function = call.get("function")
        if function is None and call.get("type") not in (None, "function"):
            continue  # a vendor's own kind of call
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise BadRequest(
                f"`{here}.function` must be an object with `name` and `arguments`", param=f"{here}.function"
            )
        if not isinstance(function.get("arguments"), str | None):
            raise BadRequest(
                f"`{here}.function.arguments` must be a string: JSON, written as text",
                param=f"{here}.function.arguments",
            )
