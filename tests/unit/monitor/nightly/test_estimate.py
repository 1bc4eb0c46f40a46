"""What a run will cost, before the first call."""

from dataclasses import replace

import pytest

from monitor.nightly.estimate import estimated, prompt_tokens
from monitor.nightly.policy import NightlyPolicy
from tests.support.evals import prompt, prompts, target

PRICED = NightlyPolicy.model_validate({"prices": {"a": {"input": 1, "output": 4}}, "limits": {"per_minute": 10}})


def test_cost_is_told_for_models_with_a_price_only() -> None:
    a, b = estimated(prompts(100), [target("a"), target("b", "w")], PRICED)
    assert (a.prompts, a.most_tokens_out, a.tokens_out) == (100, 10_000, 6_000)
    assert a.cost == pytest.approx((a.tokens_in + 4 * 6_000) / 1e6)
    assert a.most_cost == pytest.approx((a.tokens_in + 4 * 10_000) / 1e6)
    assert (b.cost, b.most_cost) == (None, None)


def test_what_the_model_took_last_time_is_a_better_guess() -> None:
    (one,) = estimated(prompts(100), [target()], PRICED, {"a": 33.0})
    assert one.tokens_out == 3_300


def test_the_pace_is_shared_by_the_models_of_one_vendor() -> None:
    alone = estimated(prompts(100), [target("a")], PRICED)[0].seconds
    both = estimated(prompts(100), [target("a"), target("b")], PRICED)[0].seconds
    assert (alone, both) == (600.0, 1_200.0)


def test_chinese_takes_more_tokens_a_character() -> None:
    zh = prompt(messages=({"role": "user", "content": "请介绍一下这座城市" * 10},))
    en = prompt(messages=({"role": "user", "content": "x" * 90},))
    assert prompt_tokens(zh) > 2 * prompt_tokens(en)


def test_the_room_that_a_model_needs_to_reason_is_in_the_estimate() -> None:
    plain, thinks = estimated(prompts(10), [target("a"), replace(target("b"), least_tokens=4_000)], PRICED)
    assert thinks.most_tokens_out == 40_000 > plain.most_tokens_out
