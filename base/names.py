"""What may not stand in a name that a person types, nor in the reason of an act: signs that nobody sees.

A line break in an app's name splits its row in tables, logs and messages; a sign that turns the direction of writing
makes one name look like another; NUL is refused by PostgreSQL. In:  text as typed.  Out: the same, or a ValueError in
words to be put after the field's name.
"""

import unicodedata

UNSEEN = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Unicode's categories of control characters, lone surrogates, line and paragraph separators."""
TURNS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
"""Marks of direction, and the mark of byte order; joiners within emoji and scripts are none of these."""
IN_PROSE = frozenset("\n\r\t")


def unseen(text: str, *, prose: bool = False) -> str:
    """The first such sign, as `U+000A`; empty: there is none. Prose may have lines and tabs."""
    for sign in text:
        if (unicodedata.category(sign) in UNSEEN or sign in TURNS) and not (prose and sign in IN_PROSE):
            return f"U+{ord(sign):04X}"
    return ""


def name_in(text: str) -> str:
    """The name without blanks round it. Raises ValueError."""
    name = text.strip(" ")
    if found := unseen(name):
        raise ValueError(f"has a line break or a sign that nobody sees ({found}): take it out")
    return name


def word_in(text: str) -> str:
    """A name that holds no blanks. Raises ValueError."""
    if (name := name_in(text)) != text or any(sign.isspace() for sign in text):
        raise ValueError("must be one word: take the blanks out")
    return name


def prose_in(text: str) -> str:
    """Raises ValueError."""
    if found := unseen(text, prose=True):
        raise ValueError(f"has a sign that nobody sees ({found}): take it out")
    return text
