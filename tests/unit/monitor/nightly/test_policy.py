"""The `nightly` part of the configuration."""

import pytest
from pydantic import ValidationError

from monitor.nightly.policy import NightlyPolicy, Price


def test_a_vendor_has_limits_of_its_own_or_the_common_ones() -> None:
    policy = NightlyPolicy.model_validate({"vendors": {"x": {"per_minute": 5}}})
    assert policy.limits_of("x").per_minute == 5
    assert policy.limits_of("y") == policy.limits


def test_prices_are_per_million_tokens() -> None:
    assert Price(input=2.0, output=10.0).of(500_000, 100_000) == pytest.approx(2.0)


@pytest.mark.parametrize("when", ["0 8 * * *", "30 8 * * *", "* 8 * * *", "*/15 8 * * *"])
def test_the_report_does_not_go_out_when_robots_are_flooded(when: str) -> None:
    with pytest.raises(ValidationError, match="full or half hour"):
        NightlyPolicy(report=when)
