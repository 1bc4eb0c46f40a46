"""What counts as a reason, the same at every door."""

import pytest

from base.reasons import reason_in


@pytest.mark.parametrize("text", ["误报", "恢复", "修", "ok", "𠮷", " 误报 ", "か", "vendor incident", "修!"])
def test_a_chinese_word_is_a_reason_although_it_is_short(text: str) -> None:
    assert reason_in(text) == text.strip()


@pytest.mark.parametrize("text", ["", " ", "\u3000\u3000", "x", ".", "。", "！", "\n\t x"])
def test_a_blank_and_a_single_sign_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="needs 2 characters or more, or one Chinese character"):
        reason_in(text)
