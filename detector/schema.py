"""Whether a JSON value keeps the caller's schema, and what in it was copied from the prompt's example.

Decides; opens no URL: a `$ref` that leaves the schema is a fault of the schema, reported by `schema_problem`.
In:  a parsed value, a JSON Schema (any draft that `$schema` names, 2020-12 otherwise), the example.
Out: error lines `path: message`; paths of leaked values.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from detector.brackets import scan_brackets
from detector.plain_schema import plain_check

Schema = Mapping[str, Any] | bool
MAX_ERRORS = 8
"""Schema errors told; more would only lengthen the retry prompt."""
_TRIVIAL_WIDTH = 3
"""Values this narrow (CJK counts 2) are equal by chance: `ok`, `3`, `是`."""


@lru_cache(maxsize=64)
def _plain(schema_text: str) -> Any:
    """A quick check for a schema that is plain, None for another."""
    return plain_check(json.loads(schema_text))


@lru_cache(maxsize=64)
def _validator(schema_text: str) -> Any:
    """A validator for the schema, or the text of what is wrong with it."""
    import referencing.jsonschema
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for

    schema = json.loads(schema_text)
    cls = validator_for(schema, default=Draft202012Validator)
    try:
        cls.check_schema(schema)
    except (SchemaError, RecursionError) as error:
        return f"not a JSON Schema: {getattr(error, 'message', error)}"
    # An explicit registry: the library's default one would fetch a remote $ref, a request forged by whoever sent it.
    return cls(schema, registry=referencing.jsonschema.EMPTY_REGISTRY)


def _validator_for(schema: Schema) -> Any:
    try:
        return _validator(json.dumps(schema))
    except (TypeError, ValueError, RecursionError) as error:
        return f"not a JSON Schema: {error}"


def schema_problem(schema: Schema) -> str | None:
    """What is wrong with the caller's schema, None when it can be applied; the caller's fault, told before the call."""
    validator = _validator_for(schema)
    if isinstance(validator, str):
        return validator
    return _remote_reference(schema)


def _remote_reference(node: Any) -> str | None:
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            target = node.get("$ref")
            if isinstance(target, str) and re.match(r"https?:", target):
                return f"remote $ref is not followed: {target}"
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
    return None


def schema_errors(value: Any, schema: Schema) -> tuple[str, ...]:
    """Where `value` breaks `schema`, at most MAX_ERRORS lines; () for a schema that cannot be applied."""
    try:
        plain = _plain(json.dumps(schema))
    except (TypeError, ValueError, RecursionError):
        return ()
    if plain is not None:
        return tuple(plain(value, MAX_ERRORS))
    validator = _validator_for(schema)
    if isinstance(validator, str):
        return ()
    lines: list[str] = []
    try:
        for error in validator.iter_errors(value):
            lines.append(f"{error.json_path}: {error.message[:200]}")
            if len(lines) >= MAX_ERRORS:
                break
    except (
        Exception
    ):  # an unresolvable or endless $ref shows only while validating; the schema's fault, not the reply's
        return ()
    return tuple(lines)


def example_paths(value: Any, example: Any, schema: Schema | None = None, source: str = "") -> tuple[str, ...]:
    """Paths in `value` whose content equals the example's at the same path (list places do not count).

    Not leaks: values narrower than four columns, booleans, values the schema names in `enum` or `const`, values that
    stand in `source`.
    """
    shown = _from_text(example) if isinstance(example, str) else example
    known = {(path, leaf) for path, leaf in _leaves(shown, "$") if _telling(leaf)}
    if not known:
        return ()
    named = _named_values(schema)
    leaked = (
        path for path, leaf in _leaves(value, "$") if (path, leaf) in known and leaf not in named and leaf not in source
    )
    return tuple(dict.fromkeys(leaked))


def example_in(prompt: str) -> Any:
    """The last JSON value in a prompt that looks like an example and not like a schema; None when there is none."""
    scan = scan_brackets(prompt)
    for start, end in reversed(scan.spans):
        value = _from_text(prompt[start:end])
        if (
            isinstance(value, dict | list)
            and value
            and not (isinstance(value, dict) and {"properties", "$schema"} & value.keys())
        ):
            return value
    return None


def _from_text(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _leaves(root: Any, root_path: str) -> Iterator[tuple[str, str]]:
    waiting: list[tuple[str, Any]] = [(root_path, root)]
    while waiting:
        path, node = waiting.pop()
        if isinstance(node, dict):
            waiting.extend((f"{path}.{key}", child) for key, child in reversed(node.items()))
        elif isinstance(node, list):
            waiting.extend((f"{path}[*]", child) for child in reversed(node))
        elif node is not None and not isinstance(node, bool):
            yield path, str(node)


def _telling(leaf: str) -> bool:
    return sum(2 if ord(char) > 0x2E7F else 1 for char in leaf.strip()) > _TRIVIAL_WIDTH


def _named_values(schema: Schema | None) -> set[str]:
    named: set[str] = set()
    waiting: list[Any] = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            choices = node.get("enum")
            named.update(str(choice) for choice in choices if choice is not None) if isinstance(choices, list) else None
            if "const" in node:
                named.add(str(node["const"]))
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
    return named
