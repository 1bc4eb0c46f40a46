"""Whole texts: classes, spans, profiles, previous replies, odd input."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detector import LoopClass, Rule, StreamGate, fingerprint, score
from detector.profile import PROFILES, profile_of

HEAD = "The route is closed until noon, so take the coast road and turn left at the old mill. "
PARAGRAPH = (
    "Bread has been baked for thousands of years, and almost every culture has its own way to make it. Where rye grows "
    "better than wheat, loaves are dark; in the south they are flat, thin and eaten warm with oil and salt.\n\n"
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("G" * 200, LoopClass.STUCK, id="one letter"),
        pytest.param("你！你！你你！" * 30, LoopClass.STUCK, id="one word with marks"),
        pytest.param("好的，马上 " * 30, LoopClass.PHRASE_LOOP, id="short phrase"),
        pytest.param(
            "I will now update the workflow file so that it runs. " * 8, LoopClass.SENTENCE_LOOP, id="sentence"
        ),
        pytest.param(PARAGRAPH * 3, LoopClass.PARAGRAPH_LOOP, id="paragraph"),
        pytest.param("！" * 200, LoopClass.FORMAT_RUNAWAY, id="marks"),
        pytest.param(
            "".join(f"{n}. Use less water.\n" for n in range(30)), LoopClass.FORMAT_RUNAWAY, id="numbers run on"
        ),
        pytest.param("🌟" * 80, LoopClass.FORMAT_RUNAWAY, id="emoji"),
    ],
)
def test_each_class_is_named(text: str, wanted: LoopClass) -> None:
    verdict = score(HEAD + text)
    assert verdict.degenerate
    near = {LoopClass.STUCK, LoopClass.PHRASE_LOOP}
    assert verdict.loop_class is wanted or {verdict.loop_class, wanted} <= near


def test_the_span_holds_the_run_and_the_onset_is_one_unit_later() -> None:
    verdict = score(HEAD + "court placeholder " * 20)
    assert verdict.start <= len(HEAD) <= verdict.start + 1 + len("court placeholder ")
    assert verdict.onset == verdict.start + len(verdict.unit)
    assert verdict.end == len(HEAD) + 20 * len("court placeholder ")
    assert verdict.rules == (Rule.CYCLE,)


@pytest.mark.parametrize(
    ("unit", "joint"), [("ha", " "), ("court order", " "), ("好的，马上", "，"), ("Use less water.", "\n")]
)
@pytest.mark.parametrize("end", ["", ". Then we went home, and it was fine."])
def test_a_last_copy_that_lacks_only_the_blank_or_mark_after_it_counts(unit: str, joint: str, end: str) -> None:
    verdict = score(f"{HEAD}\n{joint.join([unit] * 40)}{end}")
    assert verdict.repeats == 40


def test_the_fingerprint_is_the_same_wherever_the_loop_was_joined() -> None:
    assert fingerprint("court placeholder ") == fingerprint("placeholder court ") == fingerprint("Court  PLACEHOLDER ")
    assert fingerprint("abab") == fingerprint("ba")
    assert fingerprint("ab") != fingerprint("abb")
    assert score("x" + "court placeholder " * 20).fingerprint == score("holder " + "court placeholder " * 9).fingerprint


def test_a_paragraph_said_twice_is_left_alone() -> None:
    assert not score(PARAGRAPH * 2).degenerate


def test_an_earlier_reply_said_again_is_a_restatement() -> None:
    verdict = score(PARAGRAPH, previous="As I said: " + PARAGRAPH)
    assert verdict.loop_class is LoopClass.RESTATEMENT
    assert verdict.metrics.context_sim > 0.85
    assert not score(HEAD * 1, previous=PARAGRAPH).degenerate
    assert not score(PARAGRAPH, previous=PARAGRAPH, repetition_allowed=True).degenerate


def test_declared_repetition_passes_up_to_a_width_of_400() -> None:
    refrain = "Row, row, row your boat,\n" * 8
    assert not score(refrain, repetition_allowed=True).degenerate
    assert score("Row, row, row your boat,\n" * 40, repetition_allowed=True).degenerate


@pytest.mark.parametrize(
    ("text", "looser"),
    [
        pytest.param(HEAD + "court order " * 7, {"cycle_count": 12}, id="six copies at the end"),
        pytest.param(HEAD + "court " * 9, {"stuck_words": 40, "cycle_count": 40}, id="one word seven times"),
        pytest.param(HEAD + PARAGRAPH[:60] * 3, {"block_width": 400}, id="three copies of a block"),
        pytest.param(HEAD + "🎉🎊 🥳🎉 🎊🥳 🥳🎊 " * 14, {"symbols": 4}, id="emoji"),
        pytest.param(
            " ".join(random.Random(5).choices(["red", "blue", "green", "black", "white"], k=200)),
            {"trigram_repeat": 0.98},
            id="a rotation of few words",
        ),
    ],
)
def test_a_looser_profile_loosens_every_line_that_belongs_to_it(text: str, looser: dict[str, float]) -> None:
    assert score(text).degenerate
    assert not score(text, profile=replace(profile_of(None), **looser)).degenerate


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown profile"):
        profile_of("poetry")
    assert all(score(HEAD, profile=name).profile == name for name in PROFILES)


def test_only_a_timer_that_is_handed_in_is_read() -> None:
    ticks = iter([1.0, 1.5])
    assert score(HEAD, timer=lambda: next(ticks)).cost_us == pytest.approx(500_000)
    assert score(HEAD).cost_us == 0


@settings(deadline=None, max_examples=300)
@given(st.text(st.characters(), max_size=300), st.integers(1, 12), st.none() | st.text(max_size=60))
def test_no_input_raises(text: str, times: int, previous: str | None) -> None:
    verdict = score(text * times, previous=previous)
    assert 0 <= verdict.start <= verdict.end <= len(text) * times


@pytest.mark.parametrize("text", ["", "\x00" * 500, "\ud800" * 300, "\n" * 3000, "a\u0301" * 200])
def test_odd_texts_get_a_verdict(text: str) -> None:
    score(text)


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(["court ", "好的，马上 ", "I will now update the file. ", PARAGRAPH]), st.integers(1, 30))
def test_more_repetition_never_turns_a_flagged_text_clean(unit: str, times: int) -> None:
    if score(HEAD + unit * times).degenerate:
        assert score(HEAD + unit * (times + 3)).degenerate


@pytest.mark.parametrize("blanks", [" ", "\n", "\n\n", " \n\n", "\u3000\n"])
@pytest.mark.parametrize("unit", ["你！", "啊", "abc ", "好的，", "go\n", "the the ", "and the new day began, "])
def test_blanks_after_the_last_copy_hide_no_loop(unit: str, blanks: str) -> None:
    for copies in range(3, 25):
        text = f"Well. {unit * copies}"
        bare, padded = score(text), score(text + blanks)
        assert bare.degenerate is padded.degenerate, copies
        assert abs((bare.onset or 0) - (padded.onset or 0)) < len(unit), copies
        gate = StreamGate()
        gate.feed(text + blanks, 0.0)
        assert gate.finish().verdict.degenerate == padded.degenerate
