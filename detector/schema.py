"""Whether a JSON value keeps the caller's schema, and what in it was copied from the prompt's example.

Decides; opens no URL: a `$ref` that leaves the schema is a fault of the schema, reported by `schema_problem`.
In:  a parsed value, a JSON Schema (any draft that `$schema` names, 2020-12 otherwise), the example.
Out: error lines `path: message`; paths of leaked values.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from detector.brackets import scan_brackets

if TYPE_CHECKING:
    import jsonschema_rs

Schema = Mapping[str, Any] | bool
MAX_ERRORS = 8
"""Schema errors told; more would only lengthen the retry prompt."""
SHORT = 200
"""Characters told of one error."""
_TRIVIAL_WIDTH = 3
"""Values this narrow (CJK counts 2) are equal by chance: `ok`, `3`, `是`."""


DRAFTS = re.compile(r"https?://json-schema\.org/(draft/2020-12|draft/2019-09|draft-0[467])/schema#?")
"""Whose rules the library knows; a schema that names another is read as 2020-12, like one that names none."""
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*")


class SchemaFault(Exception):
    """The schema itself is wrong; its message says how."""


@lru_cache(maxsize=64)
def _compiled(schema_text: str) -> "jsonschema_rs.Validator":
    """Raises SchemaFault."""
    import jsonschema_rs  # 10 MB and 30 ms: only where structure is asked for

    schema = json.loads(schema_text)
    if target := _remote_reference(schema):
        raise SchemaFault(f"remote $ref is not followed: {target}")
    if isinstance(schema, dict) and not DRAFTS.fullmatch(str(schema.get("$schema", ""))):
        schema.pop("$schema", None)
    try:
        # offline: the library would fetch a reference, a request forged by whoever sent the schema.
        return jsonschema_rs.validator_for(schema, offline=True)
    except jsonschema_rs.ValidationError as error:
        raise SchemaFault(f"not a JSON Schema: {error.message[:SHORT]}") from error


def _validator_for(schema: Schema) -> "jsonschema_rs.Validator":
    """Raises SchemaFault."""
    try:
        return _compiled(json.dumps(schema))
    except (TypeError, ValueError, RecursionError) as error:
        raise SchemaFault(f"not a JSON Schema: {error}") from error


def schema_problem(schema: Schema) -> str | None:
    """What is wrong with the caller's schema, None when it can be applied; the caller's fault, told before the call."""
    try:
        _validator_for(schema)
    except SchemaFault as fault:
        return str(fault)
    return None


def _remote_reference(node: Any) -> str | None:
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            target = node.get("$ref")
            if isinstance(target, str) and re.match(r"https?:", target):
                return target
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
    return None


def schema_errors(value: Any, schema: Schema) -> tuple[str, ...]:
    """Where `value` breaks `schema`, at most MAX_ERRORS lines; () for a schema that cannot be applied."""
    try:
        validator = _validator_for(schema)
    except SchemaFault:
        return ()
    try:
        errors = list(islice(validator.iter_errors(value), MAX_ERRORS))
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON may write and no text may hold
        whole = json.dumps(value, ensure_ascii=False).encode(errors="replace")
        errors = list(islice(validator.iter_errors(json.loads(whole)), MAX_ERRORS))
    return tuple(f"{_json_path(error.instance_path)}: {error.message[:SHORT]}" for error in errors)


def _json_path(steps: Sequence[str | int]) -> str:
    """`$.items[3].name`; a name that is no word stands as `['a name']`."""
    return "$" + "".join(
        f"[{step}]" if isinstance(step, int) else f".{step}" if _NAME.fullmatch(step) else f"[{step!r}]"
        for step in steps
    )


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
