"""The ladder of structured replies: which step parses, what is lost, what was copied, why it failed."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detector.brackets import scan_brackets
from detector.schema import example_in, schema_errors, schema_problem
from detector.structured import Parsed, Reason, Step, parse_structured

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
}
GOOD = '{"city": "上海", "days": 3}'


@pytest.mark.parametrize(
    ("text", "step", "reason"),
    [
        pytest.param(GOOD, Step.AS_IS, None, id="as it is"),
        pytest.param(f"\ufeff {GOOD}\n", Step.AS_IS, None, id="blanks and a byte order mark around"),
        pytest.param(f"```json\n{GOOD}\n```", Step.UNFENCED, Reason.FENCE, id="in a fence"),
        pytest.param(f"好的：\n```\n{GOOD}\n```\n请查收", Step.UNFENCED, Reason.PROSE, id="prose around a fence"),
        pytest.param(f"Here you are: {GOOD} Enjoy!", Step.BALANCED, Reason.PROSE, id="prose around"),
        pytest.param(f"Note [see below] {GOOD}", Step.BALANCED, Reason.PROSE, id="a bracket in the prose"),
        pytest.param(
            f"Steps [1] and [2]: {GOOD}", Step.BALANCED, Reason.PROSE, id="the value that fits the schema is taken"
        ),
        pytest.param('{"city": "a}b{", "days": 1} x', Step.BALANCED, Reason.PROSE, id="brackets inside strings"),
        pytest.param("{'city': 'Rome', 'days': 3,}", Step.REPAIRED, Reason.SYNTAX, id="single quotes, trailing comma"),
        pytest.param('{"city": "Rome", "days": 3', Step.REPAIRED, Reason.SYNTAX, id="closing bracket forgotten"),
    ],
)
def test_first_step_that_parses_wins_and_says_what_was_wrong(text: str, step: Step, reason: Reason | None) -> None:
    parsed = parse_structured(text, SCHEMA)
    assert (parsed.step, parsed.reason, parsed.errors) == (step, reason, ())
    assert parsed.usable
    assert json.loads(parsed.text) == parsed.value


@pytest.mark.parametrize(
    ("text", "finish", "reason"),
    [
        pytest.param("I cannot do that.", "stop", Reason.NO_JSON, id="no JSON at all"),
        pytest.param("", "stop", Reason.NO_JSON, id="nothing"),
        pytest.param("", "length", Reason.CUT_OFF, id="nothing, length"),
        pytest.param("{", "stop", Reason.SYNTAX, id="a lone bracket is not an empty object"),
    ],
)
def test_what_does_not_parse_tells_why(text: str, finish: str, reason: Reason) -> None:
    assert parse_structured(text, finish_reason=finish) == Parsed(reason=reason)


def test_repaired_reply_that_was_cut_off_is_lossy() -> None:
    cut = parse_structured('{"items": [{"a": 1}, {"a": 2}, {"a": "br', finish_reason="length")
    assert (cut.step, cut.lossy, cut.reason) == (Step.REPAIRED, True, Reason.CUT_OFF)
    assert not parse_structured("{'a': 1}", finish_reason="stop").lossy


def test_schema_errors_name_path_and_type() -> None:
    parsed = parse_structured('{"city": "上海", "days": "three"}', SCHEMA)
    assert parsed.reason is Reason.SCHEMA
    assert not parsed.usable
    assert parsed.errors == ('$.days: "three" is not of type "integer"',)


def test_nan_is_not_handed_on_as_json() -> None:
    parsed = parse_structured('{"a": NaN}')
    assert parsed.step in (None, Step.REPAIRED)
    assert "NaN" not in parsed.text or json.loads(parsed.text)["a"] == "NaN"


def test_values_copied_from_the_example_are_flagged() -> None:
    example = '{"title": "Example Hotel", "tags": ["cosy place"], "stars": 5}'
    reply = '{"title": "Example Hotel", "tags": ["new", "cosy place"], "stars": 5}'
    assert parse_structured(reply, example=example).example_leak == ("$.title", "$.tags[*]")
    assert parse_structured(reply, example=example, source="Rate the Example Hotel, a cosy place").example_leak == ()
    enum = {"properties": {"title": {"enum": ["Example Hotel"]}}}
    assert parse_structured(reply, enum, example).example_leak == ("$.tags[*]",)


def test_example_is_found_in_a_prompt_and_a_schema_is_not_taken_for_one() -> None:
    prompt = 'Schema: {"properties": {"a": {"type": "string"}}} Example: {"a": "Blue Lagoon"} Now you.'
    assert example_in(prompt) == {"a": "Blue Lagoon"}
    assert example_in("no example here") is None


def test_broken_and_remote_schemas_are_the_callers_fault() -> None:
    assert schema_problem({"type": "object"}) is None
    assert "not a JSON Schema" in (schema_problem({"type": "objekt"}) or "")
    assert "remote" in (schema_problem({"properties": {"a": {"$ref": "http://127.0.0.1/x"}}}) or "")
    assert schema_errors({"a": 1}, {"properties": {"a": {"$ref": "http://127.0.0.1:1/x"}}}) == ()
    assert parse_structured("{}", {"type": "objekt"}).usable


def test_local_references_are_followed() -> None:
    schema = {"$defs": {"n": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/n"}}}
    assert schema_errors({"a": "x"}, schema) == ('$.a: "x" is not of type "integer"',)


def test_a_schema_of_an_older_draft_or_of_none_that_is_known_is_applied() -> None:
    exclusive = {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 3, "exclusiveMinimum": True}
    assert len(schema_errors(3, exclusive)) == 1
    own = {"$schema": "https://example.com/our-own", "type": "integer"}
    assert schema_problem(own) is None
    assert len(schema_errors("a", own)) == 1


def test_a_path_names_places_and_names_that_are_no_words() -> None:
    schema = {"additionalProperties": {"items": {"type": "integer"}}}
    assert schema_errors({"the list": [1, "a"]}, schema) == ('$[\'the list\'][1]: "a" is not of type "integer"',)


def test_half_a_surrogate_pair_in_a_reply_is_judged_like_any_text() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["b"]}
    assert schema_errors({"a": "\ud83d"}, schema) == ('$: "b" is a required property',)
    assert schema_errors("\ud83d", {"type": "string"}) == ()


def test_an_endless_reference_ends() -> None:
    schema = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}
    assert schema_errors({"a": 1}, schema) == () or schema_problem(schema) is not None


def test_a_pattern_that_backtracks_for_ever_is_not_waited_for() -> None:
    assert len(schema_errors({"a": "a" * 5_000 + "!"}, {"properties": {"a": {"pattern": "^(a+)+$"}}})) == 1


def test_no_more_than_eight_errors_are_told() -> None:
    assert len(schema_errors([1] * 50, {"items": {"type": "string"}})) == 8


def test_brackets_of_hostile_texts_are_scanned_in_linear_time() -> None:
    for text in ("[" * 300_000, "{[" * 100_000 + "}" * 100_000, '{"' * 100_000, "]" * 300_000, "{ " * 150_000):
        started = time.process_time()
        scan_brackets(text)
        assert time.process_time() - started < 2.0


@settings(max_examples=300, deadline=None)
@given(
    st.text(alphabet=st.sampled_from(list("{}[]\"':,\\`~ \n1ae/*-中😀\ud800")), max_size=60),
    st.sampled_from([None, "stop", "length"]),
)
def test_no_text_raises(text: str, finish: str | None) -> None:
    parsed = parse_structured(text, SCHEMA, '{"city": "Example City"}', finish)
    if parsed.step is not None:
        json.loads(parsed.text)


@settings(max_examples=200, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda leaf: st.lists(leaf, max_size=4) | st.dictionaries(st.text(max_size=5), leaf, max_size=4),
        max_leaves=12,
    )
)
def test_strict_json_always_parses_as_is(value: object) -> None:
    parsed = parse_structured(json.dumps(value))
    assert (parsed.step, parsed.value) == (Step.AS_IS, value)


@pytest.mark.parametrize("unit", ['{"', "{a]", "[", "{{'{", '{"a":', "' {", "[1] ", "```json\n{\n"])
def test_floods_of_brackets_are_not_repaired_at_quadratic_cost(unit: str) -> None:
    started = time.process_time()
    parse_structured('{"list": ' + unit * (60_000 // len(unit)), SCHEMA, finish_reason="length")
    assert time.process_time() - started < 2.0


def test_long_array_cut_off_is_still_repaired() -> None:
    items = ", ".join(json.dumps({"name": f"item {at}", "value": at * 37 % 1009}) for at in range(800))
    parsed = parse_structured('{"items": [' + items + ', {"name": "ite', finish_reason="length")
    assert (parsed.step, parsed.lossy) == (Step.REPAIRED, True)
    assert len(parsed.value["items"]) >= 800
