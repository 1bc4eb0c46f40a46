"""Rules of peers, as they are, for comparison on the same data. Sources: DETECTION.md sections 3, 5 and 6.

Each takes a text and says whether its rule would flag it.
"""

import math
import re
import zlib
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

from detector import degenerate


def whisper(text: str) -> bool:
    """zlib compression ratio > 2.4 (openai/whisper)."""
    data = text.encode("utf-8", "surrogatepass")
    return bool(data) and len(data) / len(zlib.compress(data)) > 2.4


def _grams(words: list[str], size: int) -> list[tuple[str, ...]]:
    return [tuple(words[at : at + size]) for at in range(len(words) - size + 1)]


def _duplicate_share(parts: list[str]) -> tuple[float, float]:
    seen: set[str] = set()
    lines = chars = 0
    for part in parts:
        lines += part in seen
        chars += len(part) if part in seen else 0
        seen.add(part)
    every = sum(map(len, parts))
    return (lines / len(parts), chars / every) if every else (0.0, 0.0)


def gopher(text: str) -> bool:
    """Gopher's repetition filters (Rae 2021, table A1), split on blanks as datatrove does."""
    for pattern in ("\n{2,}", "\n+"):
        lines, chars = _duplicate_share([part for part in re.split(pattern, text.strip()) if part])
        if lines > 0.30 or chars > 0.20:
            return True
    words = text.split()
    total = len(text) or 1
    for size, limit in ((2, 0.20), (3, 0.18), (4, 0.16)):
        top = Counter(_grams(words, size)).most_common(1)
        if top and len(" ".join(top[0][0])) * top[0][1] / total > limit:
            return True
    for size, limit in ((5, 0.15), (6, 0.14), (7, 0.13), (8, 0.12), (9, 0.11), (10, 0.10)):
        seen: set[tuple[str, ...]] = set()
        repeated = at = 0
        while at <= len(words) - size:
            gram = tuple(words[at : at + size])
            repeated += len("".join(gram)) if gram in seen else 0
            at += size if gram in seen else 1
            seen.add(gram)
        if repeated / total > limit:
            return True
    return False


def chunk_hash(text: str) -> bool:
    """gemini-cli: the same 50 characters ten times, on average at most 250 apart (its resets left out)."""
    places: dict[str, list[int]] = {}
    for at in range(len(text) - 49):
        found = places.setdefault(text[at : at + 50], [])
        found.append(at)
        if len(found) >= 10 and (found[-1] - found[-10]) / 9 <= 250:
            return True
    return False


def identical_chunks(text: str) -> bool:
    """litellm: the last 100 stream chunks equal and longer than two characters, here chunks of 5."""
    chunks = [text[at : at + 5] for at in range(0, len(text), 5)]
    run = 1
    for last, chunk in pairwise(chunks):
        run = run + 1 if chunk == last and len(chunk) > 2 else 1
        if run >= 100:
            return True
    return False


def pattern_32(text: str) -> bool:
    """The brute-force pattern search with its threshold: more than 32 copies."""
    return degenerate(text, 32)


def literal_formulas(text: str) -> bool:
    """The metrics as literally written: character trigrams > 0.6, characters of the last 120 > 0.35."""
    grams = [text[at : at + 3] for at in range(len(text) - 2)]
    tail = text[-120:]
    trigram = 1 - len(set(grams)) / len(grams) if grams else 0.0
    return trigram > 0.6 or (len(tail) == 120 and 1 - len(set(tail)) / 120 > 0.35)


PEERS: dict[str, Callable[[str], bool]] = {
    "zlib ratio > 2.4 (whisper)": whisper,
    "Gopher repetition filters": gopher,
    "50-character chunks x10 (gemini-cli)": chunk_hash,
    "100 identical chunks (litellm)": identical_chunks,
    "pattern repeated > 32 times": pattern_32,
    "literal formulas": literal_formulas,
}


def bounds(hits: int, of: int) -> tuple[float, float]:
    """Clopper-Pearson bounds at 95 % of a share, by bisection on the binomial."""
    if of == 0:
        return 0.0, 1.0

    def below(share: float, count: int) -> float:
        return math.fsum(math.comb(of, k) * share**k * (1 - share) ** (of - k) for k in range(count + 1))

    def solve(wanted: Callable[[float], bool]) -> float:
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if wanted(middle) else (low, middle)
        return low

    lower = 0.0 if hits == 0 else solve(lambda share: 1 - below(share, hits - 1) < 0.025)
    upper = 1.0 if hits == of else solve(lambda share: below(share, hits) > 0.025)
    return lower, upper
