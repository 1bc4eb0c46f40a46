"""Checks values against the JSON Schemas that callers mostly send, twenty times as fast as the library for all of them.

Decides; pure.  In:  a schema (draft 2020-12).  Out: a function from a value to error lines, or None for a schema that uses
more than KEYWORDS, is malformed or recursive: jsonschema, which knows every draft, then judges (detector/schema.py).
Why: jsonschema takes 23 MB and a good part of a second to load, and about 6 microseconds a node; a structured reply of a
kilobyte has a hundred nodes. Its order of errors and its words are kept; a test compares the two.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Check = Callable[[Any, str, list[str]], None]
"""Appends `path: message` for what is wrong with a value."""

DRAFT = "https://json-schema.org/draft/2020-12/schema"
NOTES = frozenset(
    {"title", "description", "default", "examples", "$comment", "deprecated", "format", "$defs", "definitions"}
)
"""Say nothing of a value; `format` is a note in this draft."""
MAX_DEPTH, MAX_PARTS = 64, 2_000
"""References are followed into copies: a few that name each other twice would be millions."""
SHORT = 200
"""Characters of a message that are told."""
_NAME = re.compile(r"^[a-zA-Z][a-zA-Z0-9_]*$")
_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "string": lambda v: isinstance(v, str),
    "integer": lambda v: (isinstance(v, int) and not isinstance(v, bool)) or (isinstance(v, float) and v.is_integer()),
    "number": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "array": lambda v: isinstance(v, list),
    "object": lambda v: isinstance(v, dict),
}


class _Beyond(Exception):
    """The schema uses what is not known here."""


def plain_check(schema: Any) -> Callable[[Any, int], list[str]] | None:
    """A function of a value and the most lines to tell; None for a schema that is not plain."""
    try:
        check = _Compiler(schema).compiled(schema, 0)
    except _Beyond:
        return None

    def told(value: Any, most: int) -> list[str]:
        out: list[str] = []
        check(value, "$", out)
        return out[:most]

    return told


class _Compiler:
    def __init__(self, root: Any) -> None:
        self._root = root
        self._parts = 0

    def compiled(self, schema: Any, depth: int) -> Check:
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise _Beyond
        if not isinstance(schema, dict) or depth > MAX_DEPTH or schema.get("$schema", DRAFT).rstrip("#") != DRAFT:
            raise _Beyond
        # In the order of the schema, as the library tells its errors.
        checks = [_KEYWORDS[name](self, operand, schema, depth) for name, operand in schema.items() if self._says(name)]
        if len(checks) == 1:
            return checks[0]

        def every(value: Any, path: str, out: list[str]) -> None:
            for check in checks:
                check(value, path, out)

        return every

    @staticmethod
    def _says(name: str) -> bool:
        if name in _KEYWORDS:
            return True
        if name in NOTES or name == "$schema":
            return False
        raise _Beyond

    def of_type(self, operand: Any, _schema: Any, _depth: int) -> Check:
        names = [operand] if isinstance(operand, str) else operand
        if not isinstance(names, list) or not names or not all(isinstance(n, str) and n in _TYPES for n in names):
            raise _Beyond
        tests, told = [_TYPES[name] for name in names], ", ".join(map(repr, names))

        def check(value: Any, path: str, out: list[str]) -> None:
            for test in tests:
                if test(value):
                    return
            _tell(out, path, f"{value!r} is not of type {told}")

        return check

    def properties(self, operand: Any, _schema: Any, depth: int) -> Check:
        if not isinstance(operand, dict):
            raise _Beyond
        checks = [(name, _step(name), self.compiled(each, depth + 1)) for name, each in operand.items()]

        def check(value: Any, path: str, out: list[str]) -> None:
            if isinstance(value, dict):
                for name, step, each in checks:
                    if name in value:
                        each(value[name], path + step, out)

        return check

    def required(self, operand: Any, _schema: Any, _depth: int) -> Check:
        if not _distinct_words(operand):
            raise _Beyond

        def check(value: Any, path: str, out: list[str]) -> None:
            if isinstance(value, dict):
                for name in operand:
                    if name not in value:
                        _tell(out, path, f"{name!r} is a required property")

        return check

    def additional_properties(self, operand: Any, schema: Any, _depth: int) -> Check:
        if not isinstance(operand, bool):
            raise _Beyond
        known = frozenset(schema.get("properties", ()))

        def check(value: Any, path: str, out: list[str]) -> None:
            if not operand and isinstance(value, dict) and (extras := value.keys() - known):
                told = ", ".join(map(repr, sorted(extras)))
                verb = "was" if len(extras) == 1 else "were"
                _tell(out, path, f"Additional properties are not allowed ({told} {verb} unexpected)")

        return check

    def items(self, operand: Any, _schema: Any, depth: int) -> Check:
        each = self.compiled(operand, depth + 1)

        def check(value: Any, path: str, out: list[str]) -> None:
            if isinstance(value, list):
                for at, item in enumerate(value):
                    each(item, f"{path}[{at}]", out)

        return check

    def enum(self, operand: Any, _schema: Any, _depth: int) -> Check:
        if not isinstance(operand, list) or not all(choice is None or isinstance(choice, str) for choice in operand):
            raise _Beyond  # numbers and truth values are equal in Python where JSON tells them apart

        def check(value: Any, path: str, out: list[str]) -> None:
            if value not in operand:
                _tell(out, path, f"{value!r} is not one of {operand!r}")

        return check

    def any_of(self, operand: Any, _schema: Any, depth: int) -> Check:
        if not isinstance(operand, list) or not operand:
            raise _Beyond
        checks = [self.compiled(each, depth + 1) for each in operand]

        def check(value: Any, path: str, out: list[str]) -> None:
            for each in checks:
                wrong: list[str] = []
                each(value, path, wrong)
                if not wrong:
                    return
            _tell(out, path, f"{value!r} is not valid under any of the given schemas")

        return check

    def ref(self, operand: Any, _schema: Any, depth: int) -> Check:
        found = re.fullmatch(r"#/(\$defs|definitions)/([A-Za-z0-9_.-]+)", operand if isinstance(operand, str) else "")
        defined = self._root.get(found[1]) if found is not None and isinstance(self._root, dict) else None
        if found is None or not isinstance(defined, dict) or found[2] not in defined:
            raise _Beyond
        return self.compiled(defined[found[2]], depth + 1)

    def least(self, unit: type[list[Any]] | type[str], words: tuple[str, str], operand: Any) -> Check:
        if not isinstance(operand, int) or isinstance(operand, bool) or operand < 0:
            raise _Beyond

        def check(value: Any, path: str, out: list[str]) -> None:
            if isinstance(value, unit) and len(value) < operand:
                _tell(out, path, f"{value!r} {words[0] if operand == 1 else words[1]}")

        return check

    def most(self, unit: type[list[Any]] | type[str], words: tuple[str, str], operand: Any) -> Check:
        if not isinstance(operand, int) or isinstance(operand, bool) or operand < 0:
            raise _Beyond

        def check(value: Any, path: str, out: list[str]) -> None:
            if isinstance(value, unit) and len(value) > operand:
                _tell(out, path, f"{value!r} {words[0] if operand == 0 else words[1]}")

        return check

    def bound(self, breaks: Callable[[Any, Any], bool], words: str, operand: Any) -> Check:
        if not _TYPES["number"](operand):
            raise _Beyond

        def check(value: Any, path: str, out: list[str]) -> None:
            if isinstance(value, int | float) and not isinstance(value, bool) and breaks(value, operand):
                _tell(out, path, f"{value!r} is {words} of {operand!r}")

        return check


_LEAST, _MOST = ("should be non-empty", "is too short"), ("is expected to be empty", "is too long")
_KEYWORDS: Mapping[str, Callable[[_Compiler, Any, Any, int], Check]] = {
    "type": _Compiler.of_type,
    "properties": _Compiler.properties,
    "required": _Compiler.required,
    "additionalProperties": _Compiler.additional_properties,
    "items": _Compiler.items,
    "enum": _Compiler.enum,
    "anyOf": _Compiler.any_of,
    "$ref": _Compiler.ref,
    "minItems": lambda to, operand, _schema, _depth: to.least(list, _LEAST, operand),
    "maxItems": lambda to, operand, _schema, _depth: to.most(list, _MOST, operand),
    "minLength": lambda to, operand, _schema, _depth: to.least(str, _LEAST, operand),
    "maxLength": lambda to, operand, _schema, _depth: to.most(str, _MOST, operand),
    "minimum": lambda to, operand, _schema, _depth: to.bound(lambda v, o: v < o, "less than the minimum", operand),
    "maximum": lambda to, operand, _schema, _depth: to.bound(lambda v, o: v > o, "greater than the maximum", operand),
}
KEYWORDS = frozenset(_KEYWORDS)


def _tell(out: list[str], path: str, message: str) -> None:
    out.append(f"{path}: {message[:SHORT]}")


def _step(name: str) -> str:
    """One step of a JSON path."""
    if _NAME.match(name):
        return "." + name
    escaped = name.replace("\\", "\\\\").replace("'", r"\'")
    return f"['{escaped}']"


def _distinct_words(operand: Any) -> bool:
    return (
        isinstance(operand, Sequence)
        and not isinstance(operand, str)
        and all(isinstance(name, str) for name in operand)
        and len(set(operand)) == len(operand)
    )
