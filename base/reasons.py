"""What counts as a reason for an act: two characters or more, or one Chinese character or kana, which says as much.

In:  what a person wrote.  Out: the same without blanks round it, or ValueError in words to be put after the field's name.
"""

from base.names import prose_in

WORD_SIGNS = (("\u3040", "\u30ff"), ("\u3400", "\u9fff"), ("\U00020000", "\U0003ffff"))
"""Hiragana and katakana; CJK ideographs; those beyond the first plane."""
LEAST = 2
HINT = "needs 2 characters or more, or one Chinese character"


def reason_in(text: str) -> str:
    """Raises ValueError."""
    said = prose_in(text.strip())
    if len(said) < LEAST and not any(first <= sign <= last for sign in said for first, last in WORD_SIGNS):
        raise ValueError(HINT)
    return said
