"""The next call is never the last one again, and structured calls lose what breaks JSON."""

import pytest

from base.faults import Fault
from detector.verdict import Verdict
from router.policy import RouterPolicy
from router.recipes import changed, made_safe, with_rules
from upstream.attempt import Attempt

POLICY = RouterPolicy()
BODY = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
LOOPED = Attempt(started_at=0, elapsed_s=1, fault=Fault.REPETITION, verdict=Verdict(unit="and again "))


def test_after_a_loop_sampling_is_loosened_by_what_the_model_can() -> None:
    new = changed(BODY, LOOPED, frozenset({"min_p", "repetition_penalty"}), POLICY, structured=False, language="en")
    assert (new["top_p"], new["min_p"], new["repetition_penalty"]) == (0.9, 0.05, 1.1)
    assert new["stop"] == ["and again and again "]
    assert "top_p" not in BODY, "the client's own body is never changed"


@pytest.mark.parametrize(("before", "after"), [(0.0, 0.3), (1.2, 0.8), (0.6, 0.6)])
def test_temperature_leaves_both_ends(before: float, after: float) -> None:
    new = changed({**BODY, "temperature": before}, LOOPED, frozenset(), POLICY, structured=False, language="en")
    assert new["temperature"] == after


def test_penalties_stop_at_their_caps_and_never_fall() -> None:
    body = {**BODY, "top_p": 0.4, "frequency_penalty": 1.9}
    new = changed(body, LOOPED, frozenset(), POLICY, structured=False, language="en")
    assert (new["top_p"], new["frequency_penalty"]) == (0.5, 1.9)


def test_a_structured_call_gets_no_penalty_even_after_a_loop() -> None:
    new = changed(BODY, LOOPED, frozenset({"repetition_penalty"}), POLICY, structured=True, language="en")
    assert not {"repetition_penalty", "frequency_penalty", "stop"} & set(new)


def test_after_a_format_failure_the_model_is_told_why() -> None:
    bad = Attempt(started_at=0, elapsed_s=1, fault=Fault.INVALID_FORMAT, detail="`age` is no number")
    new = changed(BODY, bad, frozenset(), POLICY, structured=True, language="zh")
    assert "`age` is no number" in new["messages"][-1]["content"]


def test_what_breaks_json_is_taken_out_and_named() -> None:
    safe, names = made_safe(
        {**BODY, "no_repeat_ngram_size": 3, "repetition_penalty": 1.2, "repeat_penalty": 1.1, "temperature": 0.7},
        0.2,
    )
    assert names == ("no_repeat_ngram_size", "repetition_penalty", "repeat_penalty")
    assert safe["repetition_penalty"] == safe["repeat_penalty"] == 1.0
    assert safe["temperature"] == 0.7


def test_the_rules_end_the_system_prompt_and_are_the_same_every_time() -> None:
    system = {"role": "system", "content": "You are kind."}
    once = with_rules({**BODY, "messages": [system, *BODY["messages"]]}, "en")
    assert once["messages"][0]["content"].startswith("You are kind.\n\nWriting rules:")
    assert with_rules(BODY, "zh")["messages"][0]["role"] == "system"
    assert with_rules(BODY, "zh") == with_rules(BODY, "zh")


@pytest.mark.parametrize(
    ("asked", "policy", "sent"), [(None, 0.2, 0.2), (None, None, None), (0.7, 0.2, 0.7), (1, None, 1)]
)
def test_a_structured_call_gets_a_low_temperature_unless_it_or_the_settings_say_otherwise(
    asked: float | None, policy: float | None, sent: float | None
) -> None:
    safe, names = made_safe({**BODY, "temperature": asked} if asked is not None else BODY, policy)
    assert safe.get("temperature") == sent
    assert ("temperature" in names) is (asked is None and policy is not None)


def test_how_far_a_retry_goes_is_configuration() -> None:
    gentle = RouterPolicy(top_p_floor=0.95, repetition_penalty_cap=1.05)
    new = changed(BODY, LOOPED, frozenset({"repetition_penalty"}), gentle, structured=False, language="en")
    assert (new["top_p"], new["repetition_penalty"]) == (0.95, 1.05)
