"""What the gate's policy refuses, and whom it guards."""

import pytest
from pydantic import ValidationError

from detector import GateMode, GatePolicy


def test_defaults_are_those_of_the_contract() -> None:
    policy = GatePolicy()
    assert (policy.max_period, policy.window, policy.check_every, policy.min_repeats, policy.min_run_chars) == (
        32, 1024, 48, 6, 120,
    )  # fmt: skip
    assert (policy.collapse_window, policy.collapse_gram, policy.collapse_threshold) == (192, 8, 0.80)
    assert (policy.escape_chars, policy.hard_stop_chars, policy.max_loop_retries, policy.max_scan_chars) == (
        256, 6000, 2, 200_000,
    )  # fmt: skip
    assert policy.mode is GateMode.SPLICE


@pytest.mark.parametrize("bad", [{"windw": 3}, {"window": 128, "max_period": 64}, {"hard_stop_mode": "suppress"}])
def test_unknown_keys_and_contradictions_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        GatePolicy(**bad)  # type: ignore[arg-type]


def test_globs_choose_models_and_auxiliary_calls_are_left_alone() -> None:
    policy = GatePolicy(models=("qwen*",))
    assert policy.guards(model="qwen-plus") and not policy.guards(model="glm-4")
    assert not policy.guards(model="qwen-plus", auxiliary=True)
    assert GatePolicy(guard_auxiliary=True).guards(model="x", auxiliary=True)
    assert not GatePolicy(mode=GateMode.OFF).guards(model="x")
