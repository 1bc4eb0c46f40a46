"""The four metrics by their definitions, the raw ones, and what a token is."""

import pytest

from detector import StreamGate, char_repeat, context_sim, score, trigram_repeat
from detector.metrics import char_repeat_raw, context_sim_raw, trigram_repeat_raw
from detector.text import TOKEN, shape, tokens, width

PROSE = (
    "The route is closed until noon, so take the coast road and turn left at the old mill. After that the printer needs "
    "paper, the meeting moves to Thursday, and somebody has to tell the caterers about eleven more guests."
)


def test_tokens_are_words_and_single_cjk_characters() -> None:
    assert tokens("Go_to 北京 now2") == ["go", "to", "北", "京", "now2"]
    assert tokens("İstanbul") == TOKEN.findall("İstanbul".casefold())
    assert width("北京 ok") == 7


@pytest.mark.parametrize("text", [PROSE, PROSE.replace(" ", "\n"), "a_b-c " * 3, "\x00\x1f x", "É à la carte"])
def test_the_fast_road_for_ascii_finds_the_same_tokens(text: str) -> None:
    assert tokens(text) == TOKEN.findall(text.casefold())


def test_healthy_prose_stays_below_every_threshold() -> None:
    assert trigram_repeat(PROSE) < 0.1
    assert char_repeat(PROSE) < 0.35
    assert context_sim(PROSE, "Another reply about gardens. " * 3) < 0.5


def test_loops_pass_the_thresholds() -> None:
    assert trigram_repeat("not called and then called again " * 20) > 0.6
    assert char_repeat("你！你！你你！" * 30) > 0.35
    assert context_sim(PROSE, PROSE) > 0.85


def test_the_literal_formulas_flag_healthy_text_and_are_for_comparison_only() -> None:
    assert char_repeat_raw(PROSE) > 0.35
    assert 0 < trigram_repeat_raw(PROSE) < 1
    assert context_sim_raw(PROSE, "An unrelated answer about trains and the weather in the north.") > 0.8
    assert (char_repeat_raw(""), trigram_repeat_raw("ab"), context_sim_raw("", "x")) == (0.0, 0.0, 0.0)


def test_tables_and_code_are_told_from_prose() -> None:
    assert shape("| a | b |\n" * 4) == "table"
    assert shape("int f() {\n  return 1;\n}\nint g() {\n") == "code"
    assert shape(PROSE) == "prose"


def test_a_clean_reply_has_its_characters_counted_the_same_whole_and_streamed() -> None:
    poor = (
        "the hat that the man had at the meet had a tear the man ate at the mat and the tan hen met a ram in the heat that "
        "ham then the ten men met ten more hens at a tent near the mat and then"
    )
    counting = "、".join(f"{tens}十{ones}" for tens in "二三四五六七八九" for ones in "一二三四五六七八九")
    for text in (PROSE, poor, counting, "Fine."):
        gate = StreamGate()
        for at in range(0, len(text), 7):
            gate.feed(text[at : at + 7], 0.0)
        gate.finish()
        whole = score(text)
        assert not whole.degenerate
        assert gate.verdict.metrics == whole.metrics
    assert score(poor).metrics.char_repeat == char_repeat(poor) > 0.1
    # Numerals are few: they do not count against the line.
    assert char_repeat(counting) > 0.35 == score(counting).metrics.char_repeat
