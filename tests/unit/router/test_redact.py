"""Nothing personal survives in what is kept of a failed reply."""

import pytest

from router.redact import excerpt, redact


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("打 13812345678 找我", "打 [phone] 找我"),
        ("+86 138-1234-5678", "[phone]"),
        ("call (415) 555-2671 now", "call [phone] now"),
        ("身份证 11010519491231002X。", "身份证 [id]。"),
        ("card 6222 0210 0111 5678 123 ok", "card [card] ok"),
        ("mail li.wei@example.com.cn!", "mail [email]!"),
        ("key sk-abcdefghijklmnop1234 end", "key [key] end"),
        ("Authorization: Bearer abc.def-ghi123", "Authorization: [key]"),
        ("password: hunter22 then", "[key] then"),
        ("in 2024 there were 12 of 3456", "in 2024 there were 12 of 3456"),
    ],
)
def test_personal_data_and_keys_are_replaced_by_their_kind(text: str, kept: str) -> None:
    assert redact(text) == kept


def test_an_excerpt_is_bounded_and_stands_round_the_onset() -> None:
    text = "a" * 5_000 + "ONSET" + "b" * 5_000
    cut = excerpt(text, 5_000, 500)
    assert len(cut) <= 500
    assert "ONSET" in cut


def test_a_number_cut_by_the_border_of_the_excerpt_does_not_leak() -> None:
    text = "x" * 295 + "13812345678" + " " + "y" * 1_000
    for onset in range(480, 520):
        assert "2345678" not in excerpt(text, onset, 500)


def test_no_text_is_kept_where_none_may_be() -> None:
    assert excerpt("anything", 3, 0) == ""
