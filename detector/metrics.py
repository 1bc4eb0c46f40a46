"""The four public metrics of a text, and the literal formulas they replace.

Thresholds: trigram_repeat > 0.6, char_repeat > 0.35, context_sim > 0.85, cycle_count >= 4. Definitions and what they
were measured on: DETECTION.md section 1. The `*_raw` values are for comparison only.
"""

import math
import re
import string
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from detector.text import CJK_RUN, WORD, plain_lines, shape, tokens

_DIGITS, _LETTERS = string.digits.encode(), string.ascii_letters.encode()
_VARIED = 0.65 * (22 + 9 + 5)  # different characters of ASCII, as many as `_expected` may ask for
_SAME = re.compile(r"([\W_])(?=\1)")  # all but the last of a row of one mark


def duplicate_share(toks: Sequence[str]) -> float:
    """1 - distinct / all trigrams of these tokens; 0 below three."""
    n = len(toks) - 2
    return 1 - len(set(zip(toks, toks[1:], toks[2:], strict=False))) / n if n > 0 else 0.0


def _window(text: str, n: int, least: int) -> float:
    tail = text[-n * 12 :]
    if tail.count("\n") >= 6:
        tail = plain_lines(tail)
    toks = tokens(tail)[-n:]
    return duplicate_share(toks) if len(toks) >= least else 0.0


def _cells(text: str, n: int = 120, least: int = 18) -> float:
    """Tables: duplicate cell trigrams beyond what the same cells in random order would give."""
    cells = [c.strip() for c in re.split(r"[|\t\n]", text[-2400:]) if WORD.search(c)][-n:]
    if len(cells) < least:
        return 0.0
    m, counts = len(cells) - 2, Counter(cells)
    expect = float(m)
    if len(counts) <= 12:
        p = [v / len(cells) for v in counts.values()]
        expect = sum(1 - (1 - a * b * d) ** m for a in p for b in p for d in p)
    return max(0.0, 1 - len({tuple(cells[i : i + 3]) for i in range(m)}) / expect)


def trigram_repeat(text: str, kind: str | None = None) -> float:
    """Share of repeated token trigrams over the last 120 tokens, shape-aware. 0..1."""
    value = _window(text, 120, 24)
    kind = kind or shape(text)
    if value <= 0.6 or kind == "prose":
        return value
    return min(value, _cells(text) if kind == "table" else _window(text, 360, 180))


def _kinds(text: str) -> tuple[int, int, int]:
    """How many characters are CJK, digits, other letters."""
    if text.isascii():  # the common case, at C speed
        size, raw = len(text), text.encode()
        return 0, size - len(raw.translate(None, _DIGITS)), size - len(raw.translate(None, _LETTERS))
    others = CJK_RUN.sub("", text)
    cjk = len(text) - len(others)
    if all(map(str.isalpha, set(text).difference(others))):
        letters = sum(map(str.isalpha, others))
    else:  # the block of kana has marks
        letters = sum(map(str.isalpha, text)) - cjk
    return cjk, sum(map(str.isdigit, others)), letters


def _expected(text: str) -> float:
    """Distinct characters healthy text of this script mix shows in as many characters."""
    cjk, digits, letters = _kinds(text)
    other = len(text) - cjk - digits - letters
    known = cjk**0.92 if cjk else 0.0
    known += min(letters, 22 * (1 - math.exp(-letters / 28)))
    known += min(digits, 9 * (1 - math.exp(-digits / 9)))
    return known + min(other, 5 * (1 - math.exp(-other / 12)))


def char_repeat(text: str, kind: str | None = None) -> float:
    """How few different characters the last 120 show against what healthy text shows. 0..1."""
    if len(set(text[-120:])) >= _VARIED and text[-720:].isascii():
        return 0.0  # nearly all English
    tail = _SAME.sub("", text[-240:])[-120:]
    if len(tail) < 120:
        tail = _SAME.sub("", text[-720:])[-120:]
    if len(tail) < 48:
        return 0.0
    value = max(0.0, 1 - len(set(tail)) / (0.65 * _expected(tail)))
    if value > 0.35 and (kind or shape(text)) != "prose" and trigram_repeat(text, kind) <= 0.6:
        return 0.35
    return value


def context_sim(new: str, old: str, least: int = 24) -> float:
    """How far `new` says `old` again: bigram cosine or share of trigrams already in it. 0..1."""
    a, b = tokens(new), tokens(old)
    if len(a) < least or len(b) < least:
        # Below the least size only the same words count, asked-for courtesies of a few words aside.
        return float(a == b and len(a) >= 4)
    x, y = (Counter(pairwise(k)) for k in (a, b))
    dot = sum(v * y[g] for g, v in x.items())
    cosine = dot / math.sqrt(sum(v * v for v in x.values()) * sum(v * v for v in y.values()))
    s, t = (set(zip(k, k[1:], k[2:], strict=False)) for k in (a, b))
    return max(cosine, len(s & t) / len(s))


def trigram_repeat_raw(text: str) -> float:
    """The literal formula: 1 - distinct / all character trigrams of the whole text."""
    n = len(text) - 2
    return 1 - len({text[i : i + 3] for i in range(n)}) / n if n > 0 else 0.0


def char_repeat_raw(text: str) -> float:
    """The literal formula: 1 - distinct / all of the last 120 characters."""
    tail = text[-120:]
    return 1 - len(set(tail)) / len(tail) if tail else 0.0


def context_sim_raw(new: str, old: str) -> float:
    """The literal formula: cosine of character counts."""
    x, y = Counter(new), Counter(old)
    size = math.sqrt(sum(v * v for v in x.values()) * sum(v * v for v in y.values()))
    return sum(v * y[c] for c, v in x.items()) / size if size else 0.0
