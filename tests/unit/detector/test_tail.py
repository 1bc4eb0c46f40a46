"""Tail runs against brute force."""

from hypothesis import given, settings
from hypothesis import strategies as st

from detector.tail import periods, run_length


@settings(deadline=None)
@given(st.text("ab", max_size=40), st.integers(1, 12))
def test_a_run_is_as_long_as_brute_force_says(text: str, period: int) -> None:
    if period > len(text):
        return
    run = period
    while run < len(text) and text[len(text) - run - 1] == text[len(text) - run - 1 + period]:
        run += 1
    assert run_length(text, len(text), period) == run


def test_candidate_units_come_smallest_first_and_are_bounded() -> None:
    text = "abcd" * 50
    found = list(periods(text, len(text), anchor=8, least=1, most=100, tries=5))
    assert found == [4, 8, 12, 16, 20]
    assert list(periods("abcdefghijkl", 12, anchor=4, least=1, most=100, tries=5)) == []
