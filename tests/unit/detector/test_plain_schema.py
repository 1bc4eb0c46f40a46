"""The quick check of plain schemas says what jsonschema says, word for word, and leaves to it what it does not know."""

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from detector.plain_schema import KEYWORDS, SHORT, plain_check

NAMES = st.sampled_from(["a", "b_1", "with blank", "it's", "数", ""])
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-3, 12)
    | st.sampled_from([1.0, 2.5, -0.5])
    | st.sampled_from(["", "a", "xyz"])
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=12
)
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])


def schemas() -> st.SearchStrategy[dict[str, Any]]:
    plain = st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
            "enum": st.lists(st.none() | st.sampled_from(["", "a", "xyz"]), min_size=1, max_size=3),
            "minLength": st.integers(0, 3), "maxLength": st.integers(0, 3),
            "minItems": st.integers(0, 3), "maxItems": st.integers(0, 3),
            "minimum": st.integers(-2, 5), "maximum": st.integers(-2, 5) | st.just(2.5),
            "required": st.lists(NAMES, max_size=3, unique=True), "additionalProperties": st.booleans(),
            "title": st.just("a note"), "format": st.just("date"),
        },
    )  # fmt: skip
    return st.recursive(
        plain,
        lambda inner: st.fixed_dictionaries(
            {},
            optional={
                "type": TYPES,
                "properties": st.dictionaries(NAMES, inner, max_size=4),
                "required": st.lists(NAMES, max_size=3, unique=True),
                "additionalProperties": st.booleans(),
                "items": inner,
                "anyOf": st.lists(inner, min_size=1, max_size=3),
                "$ref": st.just("#/$defs/one"),
            },
        ),
        max_leaves=8,
    )


def told_by_library(schema: dict[str, Any], value: Any) -> list[str]:
    Draft202012Validator.check_schema(schema)
    return [f"{e.json_path}: {e.message[:SHORT]}" for e in Draft202012Validator(schema).iter_errors(value)]


@settings(max_examples=400, deadline=None)
@given(schemas(), schemas(), VALUES)
def test_it_says_what_the_library_says(schema: dict[str, Any], defined: dict[str, Any], value: Any) -> None:
    check = plain_check({**schema, "$defs": {"one": {k: v for k, v in defined.items() if k in ("type", "enum")}}})
    assert check is not None
    whole = {**schema, "$defs": {"one": {k: v for k, v in defined.items() if k in ("type", "enum")}}}
    assert check(value, 1_000) == told_by_library(whole, value)


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"oneOf": [{}]}, id="a keyword it does not know"),
        pytest.param({"properties": {"a": {"if": {}}}}, id="deep inside"),
        pytest.param({"type": "objekt"}, id="no such type"),
        pytest.param({"type": []}, id="no type at all"),
        pytest.param({"required": "a"}, id="required is no list"),
        pytest.param({"required": ["a", "a"]}, id="required twice"),
        pytest.param({"minLength": True}, id="a truth value for a number"),
        pytest.param({"minLength": -1}, id="less than nothing"),
        pytest.param({"minimum": "1"}, id="a text for a number"),
        pytest.param({"enum": [1, True]}, id="numbers and truth values apart"),
        pytest.param({"items": False}, id="a truth value as a schema"),
        pytest.param({"additionalProperties": {"type": "string"}}, id="a schema for further properties"),
        pytest.param({"$ref": "http://127.0.0.1/x"}, id="a reference to elsewhere"),
        pytest.param({"$ref": "#/$defs/none", "$defs": {}}, id="a reference to nothing"),
        pytest.param({"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}}, id="recursive"),
        pytest.param({"$schema": "http://json-schema.org/draft-04/schema#"}, id="another draft"),
        pytest.param(True, id="no object"),
    ],
)
def test_what_is_not_plain_is_left_to_the_library(schema: Any) -> None:
    assert plain_check(schema) is None


def test_references_that_double_at_each_step_are_left_to_the_library() -> None:
    parts = {f"d{at}": {"anyOf": [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(25)}
    assert plain_check({"$ref": "#/$defs/d0", "$defs": {**parts, "d25": {"type": "string"}}}) is None


def test_no_more_lines_are_told_than_asked_for() -> None:
    check = plain_check({"items": {"type": "string"}})
    assert check is not None and len(check([1] * 50, 8)) == 8
    assert "items" in KEYWORDS


def test_a_plain_schema_does_not_load_the_library() -> None:
    code = (
        "import sys; from detector.structured import parse_structured as p; "
        "assert p('{\"a\": 1}', {'type': 'object', 'required': ['b']}).errors; "
        "assert p('{\"a\": 1}', {'type': 'object', 'required': ['a']}).usable; "
        "sys.exit('jsonschema' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
