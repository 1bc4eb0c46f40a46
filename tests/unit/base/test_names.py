"""Signs that nobody sees, in names and reasons."""

import pytest

from base.names import name_in, prose_in, word_in


@pytest.mark.parametrize("name", ["shop", "车载助手", "a b", "vendor/model-1", "👩‍💻 desk", "می‌خواهم"])
def test_names_in_any_script_stay_as_they_are(name: str) -> None:
    assert name_in(f"  {name} ") == name


@pytest.mark.parametrize(
    ("name", "told"),
    [
        pytest.param("sh\nop", "U+000A", id="line break"),
        pytest.param(
            "shop\n", "U+000A", id="line break at the end, which a shell's $(…) leaves out but a file does not"
        ),
        pytest.param("sh\rop", "U+000D", id="carriage return"),
        pytest.param("sh\top", "U+0009", id="tab"),
        pytest.param("sh\x00op", "U+0000", id="NUL"),
        pytest.param("sh\x1b[31mop", "U+001B", id="a terminal's colour"),
        pytest.param("sh\x85op", "U+0085", id="next line"),
        pytest.param("sh\u2028op", "U+2028", id="line separator"),
        pytest.param("\u202epohs", "U+202E", id="written backwards"),
        pytest.param("\u061cshop", "U+061C", id="the Arabic mark of direction"),
        pytest.param("sh\ud800op", "U+D800", id="half of a pair"),
    ],
)
def test_a_name_of_two_lines_was_taken(name: str, told: str) -> None:
    with pytest.raises(ValueError, match=f"\\({told.replace('+', chr(92) + '+')}\\): take it out"):
        name_in(name)


def test_a_word_has_no_blanks() -> None:
    assert word_in("车载") == "车载"
    for name in (" a", "a b", "a\u3000b", "a "):
        with pytest.raises(ValueError, match="one word"):
            word_in(name)


def test_a_reason_may_have_lines_and_tabs_and_nothing_else_unseen() -> None:
    assert prose_in("vendor says:\n\tall well\r\n") == "vendor says:\n\tall well\r\n"
    with pytest.raises(ValueError, match="U\\+0000"):
        prose_in("a\x00b")
