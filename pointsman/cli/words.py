"""What a terminal says in the place of the admin JSON's words: the console's English, so that both call one thing the same.

`--json` goes on handing out the words themselves.
"""

import time
from functools import cache

from console.words import Words, duration, load


@cache
def words() -> Words:
    return load()["en"]


def level(word: str) -> str:
    return _said("level", word)


def mode(word: str) -> str:
    return _said("mode", word)


def reason(word: str) -> str:
    return _said("reason", word)


def _said(kind: str, word: str) -> str:
    """A word that a newer service knows and we do not is shown as it is."""
    return words()(f"{kind}.{word}") if f"{kind}.{word}" in words() else word


def span(seconds: float) -> str:
    """`45 s`, `12 min`, `3 h 20 min`."""
    return duration(words(), seconds)


def moment(at: float) -> str:
    """In the reader's own zone."""
    return time.strftime("%m-%d %H:%M:%S", time.localtime(at))
