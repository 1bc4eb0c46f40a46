"""What an operator typed becomes a phrase file that reads back as it was meant."""

from hypothesis import given
from hypothesis import strategies as st

from fallback_phrases.catalog import Phrases, load, parse
from fallback_phrases.writing import flaws, lines_of, written

LINES = st.lists(st.text(min_size=1).filter(lambda t: t.strip() and "\n" not in t), min_size=1, max_size=4)


@given(default=LINES, closing=LINES, unreachable=st.just([]) | LINES)
def test_whatever_is_written_reads_back_the_same(
    default: list[str], closing: list[str], unreachable: list[str]
) -> None:
    scenes = {"default": tuple(default), 'odd "name"': ("x",)}
    phrases = Phrases(language="en", scenes=scenes, closing=tuple(closing), unreachable=tuple(unreachable))
    try:
        text = written(phrases)
        text.encode()
    except UnicodeEncodeError:
        return  # a lone surrogate is in no file
    assert parse(text, "test") == phrases


def test_the_shipped_phrases_have_no_flaw() -> None:
    for phrases in load().languages.values():
        assert flaws(phrases, frozenset(phrases.scenes)) == []


def test_a_program_gets_no_phrases_and_an_unknown_scene_is_named() -> None:
    phrases = Phrases(language="en", scenes={"default": ("All well.",), "structured": ("No.",)}, closing=("End.",))
    assert [(flaw.scene, flaw.why) for flaw in flaws(phrases, frozenset({"structured"}))] == [
        ("structured", "silent_scene")
    ]
    odd = Phrases(language="en", scenes={"default": ("All well.",), "tea": ("Later.",)}, closing=("End.",))
    assert [(flaw.scene, flaw.why) for flaw in flaws(odd, frozenset())] == [("tea", "unknown_scene")]


def test_blank_lines_part_phrases_and_say_nothing() -> None:
    assert lines_of("  One. \n\n\nTwo.\n") == ("One.", "Two.")
