"""Is `max_tokens` likely too small for the JSON that was asked for? A guess on the low side, told as a warning. Pure.

A list that is cut off parses as fewer items, which nobody notices: that is why it is said before the call (SPEC 2.7).
"""

from collections.abc import Mapping
from typing import Any

from detector.checks import Format

FEWEST_ITEMS = 8
"""Items that a list without `minItems` is taken to have: below it, nobody asks a model for a list."""
LEAST_FREE_TOKENS = 64
"""Of JSON whose shape is not known."""
_KEY_TOKENS, _STRING_TOKENS, _SMALL_TOKENS = 4, 8, 2
_DEPTH = 12


def warning_of(body: Mapping[str, Any], expected: Format | None) -> str:
    """`max_tokens_small` where the limit is likely too low for the structure asked for, else nothing."""
    limit = body.get("max_completion_tokens") or body.get("max_tokens")
    if expected is None or not isinstance(limit, int):
        return ""
    return "max_tokens_small" if limit < least_tokens(expected.schema) else ""


def least_tokens(schema: Mapping[str, Any] | None) -> int:
    """Tokens that JSON of this schema takes at least, roughly."""
    if not schema or not ({"properties", "items"} & schema.keys()):
        return LEAST_FREE_TOKENS
    return _least(schema, 0)


def _least(schema: Any, depth: int) -> int:
    if not isinstance(schema, Mapping) or depth > _DEPTH:
        return _SMALL_TOKENS
    properties, items = schema.get("properties"), schema.get("items")
    if isinstance(properties, Mapping):
        required = schema.get("required")
        names = [n for n in required if n in properties] if isinstance(required, list) else list(properties)
        return _SMALL_TOKENS + sum(_KEY_TOKENS + _least(properties[name], depth + 1) for name in names)
    if items is not None:
        fewest = schema.get("minItems")
        return _SMALL_TOKENS + (fewest if isinstance(fewest, int) else FEWEST_ITEMS) * _least(items, depth + 1)
    return _STRING_TOKENS if schema.get("type") == "string" and "enum" not in schema else _SMALL_TOKENS
