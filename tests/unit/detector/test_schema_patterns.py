"""Expressions of a caller's schema cannot hold up whoever checks a reply."""

import pytest

from detector.schema import schema_errors, schema_problem

TEXT = "a" * 2_000 + "!"


@pytest.mark.timeout(10)
@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(a|a)*$", r"([a-zA-Z]+)*$", r"(.*)*x", r"^(\w+\s?)*$", r"(.*)\1\1z"])
def test_a_schema_with_an_endless_expression_is_answered_at_once(pattern: str) -> None:
    schema = {"properties": {"x": {"type": "string", "pattern": pattern}}}
    schema_errors({"x": TEXT}, schema)
    assert schema_errors({"x": 3}, schema) != (), "its other rules hold"
    schema_errors({TEXT: 3}, {"patternProperties": {pattern: {"type": "string"}}})


def test_a_usual_expression_tells_what_does_not_match() -> None:
    schema = {"properties": {"day": {"pattern": r"^\d{4}-\d{2}-\d{2}$"}}}
    (told,) = schema_errors({"day": "30.11."}, schema)
    assert "day" in told
    assert schema_errors({"day": "2026-11-30"}, schema) == ()
    assert schema_problem(schema) is None
