"""What is wrong with one value, in the words of whoever has to mend it.

In:  one of pydantic's errors, as a mapping (this room imports no library).  Out: `must be …`, to be put after the name of the field.
"""

from collections.abc import Callable, Mapping
from typing import Any

Context = Mapping[str, Any]

FIXED: Mapping[str, str] = {
    "missing": "is missing",
    "extra_forbidden": "unknown key",
    "string_type": "must be text",
    "string_unicode": "must be text",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "decimal_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "dict_type": "must be a mapping",
    "mapping_type": "must be a mapping",
    "model_type": "must be a mapping",
    "model_attributes_type": "must be an object",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "set_type": "must be a list",
    "frozen_set_type": "must be a list",
    "path_type": "must be the path of a file or folder",
    "url_type": "must be a URL such as https://host/v1",
    "url_syntax_violation": "must be a URL such as https://host/v1",
    "none_required": "must be left out",
    "json_invalid": "is not JSON",
    "time_parsing": "must be a time such as 09:30",
    "date_parsing": "must be a date such as 2026-01-31",
    "datetime_parsing": "must be a moment such as 2026-01-31T09:30:00Z",
}
FILLED: Mapping[str, Callable[[Context], str]] = {
    "greater_than": lambda c: f"must be above {c['gt']:g}",
    "greater_than_equal": lambda c: f"must be {c['ge']:g} or more",
    "less_than": lambda c: f"must be below {c['lt']:g}",
    "less_than_equal": lambda c: f"must be {c['le']:g} or less",
    "string_too_short": lambda c: f"needs {_many(c['min_length'], 'character')}",
    "string_too_long": lambda c: f"may have {_many(c['max_length'], 'character')} at most",
    "too_short": lambda c: f"needs {_many(c['min_length'], 'entry', 'entries')} or more",
    "too_long": lambda c: f"may have {_many(c['max_length'], 'entry', 'entries')} at most",
    "string_pattern_mismatch": lambda c: f"does not match {c['pattern']}",
    "literal_error": lambda c: f"must be {c['expected']}",
    "enum": lambda c: f"must be {c['expected']}",
    "url_scheme": lambda c: f"must be a URL that begins with {c['expected_schemes']}",
    "url_parsing": lambda _: FIXED["url_type"],
    "url_too_long": lambda c: f"may have {_many(c['max_length'], 'character')} at most",
}


def wrong(error: Mapping[str, Any]) -> str:
    """What to mend. An error of a kind that has no words of ours keeps its library's."""
    kind, context = str(error["type"]), error.get("ctx") or {}
    if kind in FIXED:
        return FIXED[kind]
    if kind in FILLED:
        return FILLED[kind](context)
    # Ours begin with the part they are about where several fields contradict each other; the caller names that already.
    said = str(error["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
    place = next((str(part) for part in reversed(error.get("loc", ())) if isinstance(part, str)), "")
    return said.removeprefix(f"{place}: ") if place else said


def _many(count: int, one: str, more: str = "") -> str:
    return f"{count} {one if count == 1 else more or one + 's'}"
