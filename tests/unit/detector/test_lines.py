"""Lists that go on by themselves, and when they may be suspected."""

from detector import Rule, score
from detector.lines import Lines


def lines(*texts: str) -> Lines:
    seen = Lines()
    for text in texts:
        seen.take(text)
    return seen


def test_two_lines_equal_but_for_numbers_make_a_third_suspicious_as_far_as_it_goes_alike() -> None:
    seen = lines("Wait, I should check item 1.", "Wait, I should check item 2.")
    assert seen.expects("Wait, I sh", counting=True)
    assert not seen.expects("Wait, I sh", counting=False)
    assert not seen.expects("Wait, no", counting=True)
    assert not seen.counts(8)


def test_items_that_come_round_are_expected_in_their_order() -> None:
    seen = lines("1. dog", "2. cat", "3. cow", "4. hen", "5. dog", "6. cat", "7. cow")
    assert seen.expecting
    assert seen.expects("8. he", counting=False)
    assert not seen.expects("8. ox", counting=False)
    assert not seen.rotates(8, final=False)


def test_ten_short_lines_that_count_are_an_output_and_ten_long_ones_a_loop() -> None:
    assert not lines(*(f"{n}. Answer is: {n}" for n in range(10))).counts(8)
    assert lines(*(f"Wait, I should check item {n} once more." for n in range(10))).counts(8)


def test_numbers_and_rules_without_a_word_do_not_count() -> None:
    assert not lines(*(f"{n}. ————————————————————————————————" for n in range(20))).counts(8)


def test_four_long_lines_that_count_by_one_are_enough_and_of_values_eight_are_needed() -> None:
    counter = [f"Section {at}: Use Energy Star-rated LED light bulbs in every room of the house." for at in range(1, 5)]
    assert score("\n".join(counter)).rules == (Rule.ENUMERATION,)
    values = [
        f"Step {at}: {left} divided by 7 is {left // 7}, remainder {left % 7}. Bring down the next digit."
        for at, left in enumerate((52, 31, 38, 36, 15, 12), 1)
    ]
    assert not score("\n".join(values)).degenerate
