"""What one reply amounts to, and JSON told apart by parse, schema and content."""

import pytest

from base.faults import Fault
from monitor.nightly.judge import judged, same_answer
from monitor.nightly.policy import KeptReplies, Price
from monitor.nightly.records import Result
from monitor.nightly.shapes import Lure, Prompt
from tests.support.evals import FINE, LOOP, RUN, attempt, prompt
from upstream.attempt import Attempt

SCHEMA = {"type": "object", "required": ["age"], "properties": {"age": {"type": "integer"}}}


def made(question: Prompt, answer: Attempt, keep: KeptReplies = KeptReplies.DEGENERATE) -> Result:
    price = Price(input=1.0, output=2.0)
    return judged(question, answer, run=RUN, model="a", round_=1, at=3.0, price=price, parameters={"t": 0}, keep=keep)


def test_a_healthy_reply_is_counted_priced_and_not_kept() -> None:
    found = made(prompt(), attempt(FINE))
    assert (found.counted, found.ill, found.reply, found.reply_chars) == (True, False, "", len(FINE))
    assert found.cost == pytest.approx((10 + 40) / 1e6)


def test_a_loop_is_ill_and_kept_with_its_span() -> None:
    found = made(prompt(), attempt(LOOP))
    assert (found.counted, found.ill, found.loop_class) == (True, True, "phrase_loop")
    assert found.reply == LOOP and found.asked == "question 1"
    assert 0 <= found.start < found.end <= len(LOOP)


@pytest.mark.parametrize(("keep", "kept"), [(KeptReplies.ALL, FINE), (KeptReplies.NONE, "")])
def test_text_is_kept_as_the_setting_says(keep: KeptReplies, kept: str) -> None:
    assert made(prompt(), attempt(FINE), keep).reply == kept
    assert made(prompt(), attempt(LOOP), KeptReplies.NONE).reply == ""


@pytest.mark.parametrize("fault", [Fault.SERVER_ERROR, Fault.RATE_LIMITED, Fault.REFUSAL, Fault.TIMEOUT_TOTAL])
def test_what_is_no_reply_of_the_model_is_not_counted(fault: Fault) -> None:
    found = made(prompt(), attempt("", fault))
    assert (found.counted, found.ill, found.fault) == (False, False, fault.value)


@pytest.mark.parametrize(
    ("text", "parsed", "schema_ok", "content_ok", "why"),
    [
        pytest.param('{"age": 32}', True, True, True, "", id="right"),
        pytest.param('Sure! ```json\n{"age": 32}\n```', True, True, True, "", id="wrapped and right"),
        pytest.param('{"age": 31}', True, True, False, "content", id="wrong value"),
        pytest.param('{"age": "32"}', True, False, False, "schema", id="wrong type"),
        pytest.param("I do not know.", False, False, False, "no_json", id="no JSON"),
    ],
)
def test_parse_schema_and_content_are_told_apart(
    text: str, parsed: bool, schema_ok: bool, content_ok: bool, why: str
) -> None:
    found = made(prompt(lure=Lure.JSON, schema=SCHEMA, expect={"age": 32}), attempt(text))
    assert (found.parsed, found.schema_ok, found.content_ok) == (parsed, schema_ok, content_ok)
    assert found.why_not.startswith(why)


def test_a_looping_array_is_no_answer_and_a_failed_call_says_nothing() -> None:
    question = prompt(lure=Lure.JSON, schema={"type": "array"}, expect=[1])
    looped = made(question, attempt('[{"a": "the tram stops here again"}, ' * 60))
    assert looped.ill and looped.parsed is False
    assert made(question, attempt("", Fault.SERVER_ERROR)).parsed is None
    assert made(prompt(), attempt(FINE)).parsed is None


@pytest.mark.parametrize(
    ("expected", "got", "same"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": 1}, {"b": 2}, False),
        ([1, 2], [1, 2], True),
        ([1, 2], [1, 2, 3], False),
        ("Bergen", " bergen", True),
        ("１２", "12", True),
        (6, 6.0, True),
        (1, True, False),
        (True, 1, False),
        ("1", 1, False),
    ],
)
def test_an_answer_is_the_same_whatever_its_case_and_width(expected: object, got: object, same: bool) -> None:
    assert same_answer(expected, got) is same
