"""`detect` and `locate` against brute force, on random and on constructed strings, and their acceptance values."""

import random
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detector.exact import PatternMatch, degenerate, detect, locate
from detector.exact_search import PrimeHash, direct, sampled


def brute(text: str, least: int = 1, most: int | None = None) -> tuple[str, int, int, int] | None:
    """The definition of SPEC §2.4, word by word."""
    best, size = None, len(text)
    for start in range(size):
        for unit in range(least, min(size // 2 if most is None else most, (size - start) // 2) + 1):
            reach = 0
            while start + unit + reach < size and text[start + reach] == text[start + unit + reach]:
                reach += 1
            copies = 1 + reach // unit
            if copies >= 2:
                key = (copies, unit * copies, -unit, -start)
                best = key if best is None else max(best, key)
    if best is None:
        return None
    copies, unit, start = best[0], -best[2], -best[3]
    return text[start : start + unit], copies, start, start + copies * unit


def brute_locate(text: str, unit: str) -> tuple[str, int, int, int] | None:
    best = (0, 0)
    for start in range(len(text)):
        copies = 0
        while text.startswith(unit, start + copies * len(unit)):
            copies += 1
        best = max(best, (copies, -start))
    copies, start = best[0], -best[1]
    return (unit, copies, start, start + copies * len(unit)) if copies else None


def flat(found: PatternMatch | None) -> tuple[str, int, int, int] | None:
    return None if found is None else (found.pattern, found.repeat, found.start, found.end)


def random_text(rng: random.Random) -> str:
    letters = "abc"[: rng.choice([1, 2, 2, 2, 3, 3])]
    size, shape = rng.randint(0, 48), rng.random()
    if shape < 0.5:
        return "".join(rng.choice(letters) for _ in range(size))
    if shape < 0.8:  # runs that touch
        text = ""
        while len(text) < size:
            text += "".join(rng.choice(letters) for _ in range(rng.randint(1, 9))) * rng.randint(1, 6)
        return text[:size]
    unit = "".join(rng.choice(letters) for _ in range(rng.randint(1, 12)))
    chars = list((unit * 20)[rng.randint(0, 5) :][:size])
    for _ in range(rng.randint(0, 2)):
        if chars:
            chars[rng.randrange(len(chars))] = rng.choice(letters)
    return "".join(chars)


@pytest.mark.parametrize("seed", range(4))
def test_random_strings_agree_with_brute_force(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(6_000):
        text = random_text(rng)
        least, most = rng.choice([1, 1, 1, 2, 3, 5]), rng.choice([None, None, None, 1, 2, 3, 8, 20])
        assert flat(detect(text, least, most)) == brute(text, least, most), (text, least, most)


def test_both_slower_searches_agree_too() -> None:
    rng = random.Random(9)
    for _ in range(3_000):
        text = random_text(rng)
        if len(text) < 2:
            continue
        codes = np.array([ord(char) for char in text], dtype=np.uint32)
        hashed, plain = sampled(codes, 1, len(text) // 2, PrimeHash), direct(codes, 1, len(text) // 2)
        assert hashed == plain or max(hashed, plain)[0] < 2


def fibonacci(size: int) -> str:
    left, right = "a", "ab"
    while len(right) < size:
        left, right = right, right + left
    return right[:size]


def thue_morse(size: int) -> str:
    return "".join("ab"[at.bit_count() & 1] for at in range(size))


@pytest.mark.parametrize(
    "text",
    [
        fibonacci(150),
        thue_morse(160),
        "a" * 101,
        "ab" * 40 + "cd" * 40,
        "aab" * 9 + "aba" * 9,
        "".join(map(str, range(60))),
    ],
    ids=["fibonacci", "thue-morse", "one letter", "touching runs", "sharing runs", "numbers"],
)
def test_constructed_strings_agree_with_brute_force(text: str) -> None:
    for least in (1, 2, 5):
        assert flat(detect(text, least)) == brute(text, least)


def test_long_thue_morse_defeats_the_hash_but_not_the_answer() -> None:
    found = detect(thue_morse(1 << 14))
    assert found is not None
    assert found.repeat == 2  # overlap-free: no unit stands three times
    assert found.pattern * 2 == thue_morse(1 << 14)[found.start : found.end]


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("", {}, None),
        (None, {}, None),
        ("abc", {}, None),
        ("aa", {}, ("a", 2, 0, 2)),
        ("abcabcabcx", {}, ("abc", 3, 0, 9)),
        ("abababcdcdcd", {}, ("ab", 3, 0, 6)),
        ("xyxyxyabcabcabc", {}, ("abc", 3, 6, 15)),
        ("aabb", {}, ("a", 2, 0, 2)),
        ("mississippi", {}, ("iss", 2, 1, 7)),
        ("aaaaaa", {"min_pattern_len": 2}, ("aa", 3, 0, 6)),
        ("aaaaa", {"min_pattern_len": 2}, ("aa", 2, 0, 4)),
        ("aaaabababab", {"min_pattern_len": 2}, ("ab", 4, 3, 11)),
        ("ababababab", {"min_pattern_len": 3}, ("abab", 2, 0, 8)),
        ("abc" * 6, {"min_pattern_len": 4}, ("abcabc", 3, 0, 18)),
        ("abc" * 4, {"max_pattern_len": 2}, None),
        ("abc" * 4, {"min_pattern_len": 3, "max_pattern_len": 2}, None),
        ("AbabABx", {"ignore_case": True}, ("Ab", 3, 0, 6)),
        ("😀😀😀", {}, ("😀", 3, 0, 3)),
        ("e\u0301e\u0301e\u0301", {}, ("e\u0301", 3, 0, 6)),
        ("straßeSTRASSE", {"ignore_case": True}, ("straße", 2, 0, 13)),
        ("ßßßß", {"ignore_case": True}, ("ß", 4, 0, 4)),
        ("İxİxİx", {"ignore_case": True}, ("İx", 3, 0, 6)),
    ],
)
def test_acceptance_values_of_detect(
    text: str, options: dict[str, int], expected: tuple[str, int, int, int] | None
) -> None:
    assert flat(detect(text, **options)) == expected


@pytest.mark.parametrize(
    ("text", "unit", "options", "expected"),
    [
        ("aXaXbXaXaX", "aX", {}, ("aX", 2, 0, 4)),
        ("aaaaa", "aa", {}, ("aa", 2, 0, 4)),
        ("abc", "z", {}, None),
        (None, "z", {}, None),
        ("ßßßß", "ß", {"ignore_case": True}, ("ß", 4, 0, 4)),
        ("ßßSS", "ss", {"ignore_case": True}, ("ß", 3, 0, 4)),
        ("xABab", "ab", {"ignore_case": True}, ("AB", 2, 1, 5)),
    ],
)
def test_acceptance_values_of_locate(text: str, unit: str, options: dict[str, bool], expected: object) -> None:
    assert flat(locate(text, unit, **options)) == expected


def test_bad_arguments_are_value_errors() -> None:
    with pytest.raises(ValueError, match="pattern must not be empty"):
        locate("abc", "")
    with pytest.raises(ValueError, match="min_pattern_len must be >= 1"):
        detect("abc", 0)


def test_locate_agrees_with_brute_force() -> None:
    rng = random.Random(5)
    for _ in range(5_000):
        text = random_text(rng)
        unit = "".join(rng.choice("ab") for _ in range(rng.randint(1, 4)))
        assert flat(locate(text, unit)) == brute_locate(text, unit), (text, unit)


def test_degenerate_wants_more_than_32_copies() -> None:
    assert not degenerate("-" * 32)
    assert degenerate("-" * 33)
    assert degenerate("abab", 1)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=st.sampled_from(list("aAßẞſsSİiıﬃfe\u0301😀\ud800\x00")), max_size=30))
def test_ignoring_case_never_shifts_offsets(text: str) -> None:
    found = detect(text, ignore_case=True)
    if found is not None:
        assert 0 <= found.start < found.end <= len(text)
        assert text.startswith(found.pattern, found.start)
        assert text[found.start : found.end].casefold() == found.pattern.casefold() * found.repeat


def test_cost_stays_far_from_quadratic() -> None:
    for text in (fibonacci(64_000), thue_morse(64_000), "a" * 64_000, "word salad " * 20 + thue_morse(30_000)):
        started = time.perf_counter()
        detect(text)
        assert time.perf_counter() - started < 2.0  # measured 10 to 150 ms; wide, for loaded machines
