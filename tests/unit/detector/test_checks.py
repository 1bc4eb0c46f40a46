"""The order of checks on a finished reply, and which failure each symptom is."""

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from detector.checks import (
    Failure,
    FailureKind,
    Format,
    FormatKind,
    Validator,
    check_reply,
    format_asked,
    is_blank,
    load_validators,
    missing_sections,
    unclosed_fence,
)
from detector.verdict import CLEAN, Health, LoopClass, Verdict

LOOP = Verdict(health=Health.DEGENERATE, loop_class=LoopClass.PHRASE_LOOP)
GARBLE = Verdict(health=Health.DEGENERATE, loop_class=LoopClass.GARBLE)
JSON = Format(kind=FormatKind.JSON_OBJECT)


def check(text: str = "Fine.", **changes: Any) -> Failure | None:
    given: dict[str, Any] = {"tool_only": False, "finish_reason": "stop", "reasoning_chars": 0, "verdict": CLEAN}
    return check_reply(text, **(given | changes))


@pytest.mark.parametrize(
    ("text", "changes", "kind"),
    [
        pytest.param("Fine.", {}, None, id="a healthy reply is no failure"),
        pytest.param("", {}, FailureKind.EMPTY, id="nothing"),
        pytest.param(" \u200b\n", {}, FailureKind.EMPTY, id="nothing to see"),
        pytest.param("", {"tool_only": True}, None, id="a tool-only turn has no text and is healthy"),
        pytest.param(
            "",
            {"finish_reason": "length", "reasoning_chars": 900},
            FailureKind.LENGTH_IN_REASONING,
            id="reasoning used the limit up",
        ),
        pytest.param("", {"finish_reason": "length"}, FailureKind.EMPTY, id="length without reasoning"),
        pytest.param(
            "",
            {"finish_reason": "content_filter"},
            FailureKind.REFUSAL,
            id="a filtered reply is empty, and a refusal first",
        ),
        pytest.param("x", {"refusal": "I can't"}, FailureKind.REFUSAL, id="the refusal field"),
        pytest.param(
            "x", {"verdict": LOOP, "expected": JSON}, FailureKind.REPETITION_DETECTED, id="repetition before format"
        ),
        pytest.param("x", {"verdict": GARBLE, "expected": JSON}, FailureKind.GARBLE, id="garble before format"),
        pytest.param(
            "x", {"finish_reason": "repetition"}, FailureKind.REPETITION_DETECTED, id="the upstream's own word"
        ),
        pytest.param(
            "", {"finish_reason": "repetition"}, FailureKind.REPETITION_DETECTED, id="the upstream kept the loop back"
        ),
        pytest.param("no", {"expected": JSON}, FailureKind.INVALID_FORMAT, id="no JSON"),
        pytest.param("[1]", {"expected": JSON}, FailureKind.INVALID_FORMAT, id="json_object wants an object"),
        pytest.param('{"a": 1}', {"expected": JSON}, None, id="an object"),
        pytest.param(
            "抱歉，我无法提供该信息。",
            {"expected": JSON},
            FailureKind.REFUSAL,
            id="declined in words where JSON was due",
        ),
        pytest.param("I'm sorry, but I can't help.", {"expected": JSON}, FailureKind.REFUSAL, id="declined in English"),
        pytest.param("抱歉，我无法联网。", {}, None, id="in prose an apology is an answer"),
    ],
)
def test_each_symptom_has_its_kind(text: str, changes: dict[str, Any], kind: FailureKind | None) -> None:
    failure = check(text, **changes)
    assert (failure.kind if failure else None) is kind


def test_schema_failure_tells_the_model_where() -> None:
    expected = Format(kind=FormatKind.JSON_SCHEMA, schema={"type": "object", "required": ["city"]})
    failure = check("{}", expected=expected)
    assert failure is not None
    assert (failure.reason, failure.detail) == ("schema", '$: "city" is a required property')


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        pytest.param("```py\nx\n```", True, id="closed"),
        pytest.param("```py\nx", False, id="open"),
        pytest.param("````\n```\n````", True, id="a shorter fence inside"),
        pytest.param("~~~\n```\n~~~", True, id="another mark inside"),
        pytest.param("```x``` is inline", True, id="inline code"),
        pytest.param("- ```\n  x\n  ```", True, id="in a list"),
    ],
)
def test_code_fences_must_close(text: str, closed: bool) -> None:
    assert (unclosed_fence(text) is None) is closed
    failure = check(text, expected=Format(kind=FormatKind.MARKDOWN))
    assert (failure is None) is closed


def test_required_sections_are_found_by_title() -> None:
    text = "# 1. 概述\n内容\n\nSummary\n-------\n\n**Risks:**\nnone"
    assert missing_sections(text, ["概述", "summary", "Risks"]) is None
    assert missing_sections(text, ["概述", "结论"]) == "missing sections: 结论"


def test_plugins_come_last_and_a_crashing_one_costs_nothing() -> None:
    seen: list[str] = []

    def crash(text: str, expected: Format | None) -> str | None:
        raise RuntimeError("bug")

    def picky(text: str, expected: Format | None) -> str | None:
        return "too short" if len(text) < 10 else None

    plugins = (Validator(name="crash", check=crash), Validator(name="picky", check=picky))
    failure = check("Short.", validators=plugins, on_validator_error=lambda name, error: seen.append(name))
    assert failure == Failure(kind=FailureKind.CUSTOM, detail="too short", reason="picky")
    assert seen == ["crash"]
    assert check("long enough text", validators=plugins) is None
    empty = check("", validators=plugins)
    assert empty is not None and empty.kind is FailureKind.EMPTY


def test_entry_points_are_loaded_by_name_and_broken_ones_left_out() -> None:
    lost: list[str] = []
    points = [
        EntryPoint(name="b", value="detector.checks:unclosed_fence", group="pointsman.validators"),
        EntryPoint(name="a", value="no_such_module:f", group="pointsman.validators"),
    ]
    found = load_validators(points, lambda name, error: lost.append(name))
    assert [plugin.name for plugin in found] == ["b"]
    assert lost == ["a"]
    assert load_validators() == ()


def test_blank_means_nothing_to_see() -> None:
    assert is_blank("\u2800\ufeff\u200d")
    assert not is_blank("。")


def test_format_is_read_from_the_request() -> None:
    schema = {"type": "object"}
    named = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    assert format_asked(named) == Format(kind=FormatKind.JSON_SCHEMA, schema=schema)
    assert format_asked({"type": "json_object"}) == JSON
    for other in (None, "json", {"type": "text"}, {}):
        assert format_asked(other) is None


def test_the_plug_in_that_the_operating_guide_shows_works_as_it_says() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "operating.md").read_text(encoding="utf-8")
    shown = guide.split("## Checks of your own", 1)[1].split("```python\n", 1)[1].split("```", 1)[0]
    made: dict[str, Any] = {}
    exec(shown, made)  # our own page
    validators = (Validator(name="no-rival", check=made["no_rival"]),)
    assert (found := check("Buy Acme.", validators=validators)) is not None and found.detail == "it recommends Acme"
    assert check("Buy ours.", validators=validators) is None
