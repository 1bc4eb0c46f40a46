"""The signed link that names one incident."""

import pytest

from monitor.alerts.acklink import VALID_S, make, read

KEY, NOW = b"k", 1_700_000_000.0


def test_a_token_names_its_incident_for_a_week() -> None:
    token = make(KEY, 17, NOW)
    assert read(KEY, token, NOW) == read(KEY, token, NOW + VALID_S - 1) == 17
    assert read(KEY, token, NOW + VALID_S) is None


@pytest.mark.parametrize("change", ["18" + "{rest}", "{token}x", "", "17", "17.1.abc", "{token}\n", "-17{rest}"])
def test_a_token_that_was_changed_names_nothing(change: str) -> None:
    token = make(KEY, 17, NOW)
    assert read(KEY, change.format(token=token, rest=token[2:]), NOW) is None


def test_another_key_s_token_names_nothing() -> None:
    assert read(b"other", make(KEY, 17, NOW), NOW) is None
