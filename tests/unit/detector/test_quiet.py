"""Passing over what is quiet changes nothing: not the finding, not what the engine remembers."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.eval_detector import profile_for, records
from detector.profile import profile_of
from detector.quiet import Quiet
from detector.score import scan
from detector.text import LIST_MARK, beyond_ascii, blanked, tokens, words_of
from detector.watch import STEP, Watch

WORDS = st.sampled_from(
    ["court", "the", "an", "of", "好", "的", "马", "item", "7", "extraordinarily", "\n2. ", "!", "😀"]
)
VOCABULARY = [
    "the",
    "of",
    "a",
    "court",
    "route",
    "item",
    "extraordinarily",
    "好",
    "的",
    "马",
    "我们",
    "天气",
    "7",
    "12",
    "–",
    "“x”",
    "!",
    "...",
    "\n2.",
    "\n-",
    "a",
    "b",
    "é",
    "😀",
    "│",
    "═",
    "Ж",
    "слово",
]
PROSE = """Nobody's sure when the mill was built - the oldest letter that names it is from the spring of 1713, and it's
already called old there. It burned down twice, each time in a dry August, and was put up again by the same family."""
UNITS = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)


def agree(text: str, profile: str | None = None) -> None:
    every, some = Watch(profile_of(profile)), Watch(profile_of(profile))
    found = scan(every, text, skip=False)
    assert scan(some, text) == found, text
    assert some.metric() == every.metric()
    if found is None:
        assert some.words.score == every.words.score


def passed(text: str) -> float:
    """The share of a text's checks that is passed over."""
    watch = Watch(profile_of(None))
    watch.push(text)
    quiet = Quiet(watch)
    list(quiet.prepared())
    last = len(text) - len(text) % STEP
    if quiet.loud:
        return 0.0
    checked = [watch.check(at) for at in quiet.checks(last)]
    return 1 - len(checked) * STEP / max(STEP, last)


def test_it_never_hides_what_the_engine_finds_in_the_corpora() -> None:
    for record in records():
        for profile in dict.fromkeys((None, profile_for(record))):
            agree(record["text"], profile)


@settings(deadline=None, max_examples=300)
@given(UNITS, UNITS, st.integers(1, 14), UNITS, st.sampled_from(["", " ", "\n", ", "]))
def test_it_never_hides_a_built_loop(head: str, unit: str, times: int, tail: str, joint: str) -> None:
    agree(head + " " + (unit + joint) * times + tail)


@pytest.mark.parametrize("letters", range(9, 24))
def test_it_never_hides_a_unit_that_ends_in_the_word_it_begins_with(letters: int) -> None:
    word = "".join(chr(97 + (at * 7 + letters) % 26) for at in range(letters))
    for times in (3, 4, 5):
        for before in range(0, 33, 8):
            agree(f"{'x' * before} {f'{word} {word}' * times}{word}")


def test_it_never_hides_a_random_loop_inside_a_healthy_reply() -> None:
    chance = random.Random(5)
    heads = [record["text"][:600] for record in records() if record["label"] == "healthy"]
    for _ in range(2000):
        unit = chance.choice(["", " "]).join(chance.choices(VOCABULARY, k=chance.choice([1, 2, 3, 5, 8, 13, 30])))
        joint, times = chance.choice([" ", "", "\n", ", ", "。", "\n1. "]), chance.randint(2, 14)
        exact = (unit + joint) * times
        numbered = "".join(f"\n{at}. {unit}" for at in range(times))
        rotated = " ".join(chance.choices(unit.split() or ["a"], k=12 * times))
        body = chance.choice([exact, numbered, rotated])
        agree(f"{chance.choice(heads)}\n{body}\n\n{chance.choice(['', *heads])}")


@pytest.mark.parametrize("letters", [1000, 1500, 4000])
def test_it_never_hides_copies_longer_than_the_memory_of_words(letters: int) -> None:
    chance = random.Random(letters)
    tail = "".join(chr(0x4E00 + chance.randrange(3000)) for _ in range(3000))
    unit = "".join(chr(0x4E00 + chance.randrange(3000)) for _ in range(letters))
    agree(tail[:500] + unit * 4 + tail)
    assert scan(Watch(profile_of(None)), tail[:500] + unit * 4 + tail) is not None


@pytest.mark.parametrize("size", [20, 30, 47, 48, 63, 64, 65, 90, 200])
def test_it_never_hides_what_stands_beside_a_long_word(size: int) -> None:
    chance = random.Random(size)
    for _ in range(60):
        long = "".join(chance.choices("abcdef0123456789", k=size))
        unit = " ".join([long, *chance.choices(VOCABULARY, k=chance.choice([0, 1, 2, 4, 9]))])
        agree(f"{PROSE}\n{(unit + chance.choice(['', ' ', ' - '])) * chance.randint(2, 6)}\n{PROSE[::-1]}")


def test_it_never_hides_a_list_of_few_items() -> None:
    chance = random.Random(9)
    items = ["apple", "green pear", "马", "item 7", "the court, of course", "---", "é"]
    for _ in range(400):
        kinds = chance.sample(items, chance.randint(1, 5))
        marks = chance.choice(["{}. ", "- ", "• ", "{}、", "", "({}) "])
        lines = [marks.format(at) + chance.choice(kinds) for at in range(chance.randint(5, 30))]
        if chance.random() < 0.5:
            lines[chance.randrange(len(lines))] = "A stranger among them"
        agree("\n".join([PROSE, *lines, chance.choice(["", PROSE])]), chance.choice([None, "list"]))


def test_it_never_hides_what_stands_beside_a_run_of_marks() -> None:
    chance = random.Random(8)
    for _ in range(300):
        marks = chance.choice("-=_*~.·—│😀 ") * chance.choice([40, 47, 48, 51, 52, 60, 100, 119, 120, 200])
        unit = " ".join([*chance.choices(VOCABULARY, k=chance.choice([0, 1, 2, 4, 9])), marks])
        agree(f"{PROSE}\n{(unit + chance.choice(['', ' ', chr(10)])) * chance.randint(1, 6)}\n{PROSE[::-1]}")


def test_the_words_of_a_text_with_other_letters_are_those_the_engine_reads() -> None:
    for text in (
        "Straße, ÉTÉ·42 “so” — 😀ok",
        "e\u0301te\u0301 ab",
        "İstanbul ﬁn",
        "天气 is好 7、\n1、马",
        "²½ Ⅷ ٣٤ x_y",
    ):
        agree(text)
        others = beyond_ascii(text)
        blanks = blanked(text, others)
        if blanks is not None:
            assert len(blanks) == len(text)
            assert words_of(blanks, cjk=True) == tokens(LIST_MARK.sub("\n", f"\n{text}"))


def test_list_marks_without_words_are_left_to_the_engine() -> None:
    assert passed("\n2. " * 240) == 0


def test_three_blocks_of_one_word_and_many_marks_are_left_to_the_engine() -> None:
    text = PROSE * 2 + "\nSection\n" + 3 * ("-" * 95 + "\nSection\n") + PROSE
    agree(text)
    assert scan(Watch(profile_of(None)), text) is not None


def test_it_passes_over_most_of_what_is_healthy() -> None:
    for language in ("zh", "en"):
        healthy = [r["text"] for r in records() if r["label"] == "healthy" and r["lang"] == language]
        assert sum(map(passed, healthy)) >= 0.9 * len(healthy)


def test_a_typographic_mark_in_english_does_not_send_it_to_the_engine() -> None:
    assert passed((PROSE + PROSE.upper()[::-1]).replace("'", "’").replace(" - ", " — ")) == 1


def test_ordinary_prose_is_passed_over() -> None:
    assert passed("The route is closed until noon, so take the coast road and turn left at the old mill.") == 1
