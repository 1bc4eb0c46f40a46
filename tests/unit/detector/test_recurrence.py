"""The memory of trigrams: portions do not matter, a whole text leaves the same, memory is bounded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detector.metrics import duplicate_share
from detector.recurrence import MEMORY, WINDOW, Recurrence
from detector.trace import said_again

WORDS = st.lists(st.sampled_from("abcdefg"), max_size=80)


def taken(portions: list[list[str]]) -> Recurrence:
    words = Recurrence()
    for new in portions:
        words.take(new, words.grams(new))
    return words


def state(words: Recurrence) -> tuple[float, int, list[str], dict[tuple[str, str, str], int]]:
    return words.score, words.verbatim, words.window(), dict(words._last)


@given(WORDS, st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_the_state_does_not_depend_on_the_portions(words: list[str], sizes: list[int]) -> None:
    portions, at = [], 0
    while at < len(words):
        size = sizes[len(portions) % len(sizes)]
        portions.append(words[at : at + size])
        at += size
    assert state(taken(portions)) == state(taken([words]))


@given(WORDS)
def test_the_trace_of_a_whole_text_ends_in_the_same_score_and_shares(words: list[str]) -> None:
    trace, resumed, every = said_again(words, statistics=True), Recurrence(), taken([words])
    resumed.resume(words, trace.score, trace.befores)
    assert resumed.score == every.score
    assert [resumed.share(size) for size in range(WINDOW)] == [every.share(size) for size in range(WINDOW)]


@given(WORDS, st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(1, WINDOW))
def test_the_share_of_the_last_words_is_what_counting_them_anew_gives(
    words: list[str], sizes: list[int], size: int
) -> None:
    portions, at = [], 0
    while at < len(words):
        portions.append(words[at : at + sizes[len(portions) % len(sizes)]])
        at += len(portions[-1])
    assert taken(portions).share(size) == pytest.approx(duplicate_share(words[-size:]))


def test_copies_raise_the_score_and_new_words_lower_it_twice_as_fast() -> None:
    words = taken([list("abcdefgh"), list("abcdefgh")])
    assert (words.score, words.verbatim) == (6.0, 6)  # eight, less the two that span the seam
    words.take(["x"], words.grams(["x"]))
    assert (words.score, words.verbatim) == (4.0, 0)


def test_what_was_said_long_ago_counts_as_new() -> None:
    unit = [f"w{at}" for at in range(MEMORY + 10)]
    words = taken([unit, unit])
    assert words.score == 0
    assert taken([unit[: MEMORY - 10]] * 2).score > 300


def test_memory_stays_bounded() -> None:
    words = taken([[f"w{at}", f"v{at}", f"u{at}"] for at in range(20_000)])
    assert len(words._last) <= 4 * MEMORY + 3
    assert len(words.tokens) <= 4 * WINDOW + 3
