"""The sampled search behind `detect`: prefix hashes over numpy arrays, the winner checked against the text itself.

Decides; pure. Imported by exact.py when first needed, since numpy costs 100 ms and 25 MB.
In:  code points as an array, the shortest and longest unit.
Out: (copies, unit length, start) of the winner by (most copies, longer unit, earlier start), or None.
Hashes can only over-report equality, so a winner that fails the direct comparison is searched again modulo a prime, and
at last without hashes: the answer is exact whatever the text.
"""

from typing import Any

import numpy as np

Ints = np.ndarray[Any, np.dtype[Any]]
_PRIME = np.uint64(2**31 - 1)
_MAX_SAMPLES = 1 << 18
"""Samples looked at together: bounds memory (a few MB per array) on texts of any length."""


class WordHash:
    """Polynomial prefix hash modulo 2^64: fast, but Thue-Morse words collide."""

    base: int = 0x9E3779B97F4A7C15

    def __init__(self, codes: Ints) -> None:
        size = len(codes)
        self.powers = np.empty(size + 1, np.uint64)
        self.powers[0] = 1
        self.powers[1:] = np.uint64(self.base)
        np.cumprod(self.powers, out=self.powers)
        self.sums = np.zeros(size + 1, np.uint64)
        np.cumsum(_mixed(codes) * self.powers[:size], out=self.sums[1:])

    def same(self, at: Ints, length: Ints, shift: Ints) -> Ints:
        """Whether s[at:at+length] == s[at+shift:at+shift+length], elementwise."""
        sums = self.sums
        equal: Ints = (sums[at + length] - sums[at]) * self.powers[shift] == sums[at + shift + length] - sums[
            at + shift
        ]
        return equal


class PrimeHash(WordHash):
    """The same modulo 2^31-1: slower, without the algebra that Thue-Morse words exploit."""

    base: int = 1_103_515_245

    def __init__(self, codes: Ints) -> None:
        size = len(codes)
        self.powers = np.ones(size + 1, np.uint64)
        known = 1
        while known <= size:
            step = np.uint64(pow(self.base, known, int(_PRIME)))
            self.powers[known : 2 * known] = self.powers[: min(known, size + 1 - known)] * step % _PRIME
            known *= 2
        self.sums = np.zeros(size + 1, np.uint64)
        np.cumsum((_mixed(codes) % _PRIME) * self.powers[:size] % _PRIME, out=self.sums[1:])
        self.sums %= _PRIME

    def same(self, at: Ints, length: Ints, shift: Ints) -> Ints:
        sums = self.sums
        left = (sums[at + length] + _PRIME - sums[at]) % _PRIME * self.powers[shift] % _PRIME
        equal: Ints = left == (sums[at + shift + length] + _PRIME - sums[at + shift]) % _PRIME
        return equal


def _mixed(codes: Ints) -> Ints:
    mixed = codes.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    out: Ints = mixed ^ (mixed >> np.uint64(31))
    return out


def best_run(codes: Ints, least: int, longest: int) -> tuple[int, int, int] | None:
    """Search with the fast hash, then the sound one, then none."""
    for hasher in (WordHash, PrimeHash):
        best = sampled(codes, least, longest, hasher)
        repeat, unit, start = best[0], best[1], -best[2]
        end = start + repeat * unit
        if repeat < 2:
            return None
        if np.array_equal(codes[start : end - unit], codes[start + unit : end]):
            return repeat, unit, start
    best = direct(codes, least, longest)
    return (best[0], best[1], -best[2]) if best[0] >= 2 else None


def sampled(codes: Ints, least: int, longest: int, hasher: type[WordHash]) -> tuple[int, int, int]:
    """The winner as (copies, unit, -start), (1, 0, 0) for none; trusts the hashes."""
    size = len(codes)
    hashes = hasher(codes)
    best = (1, 0, 0)
    low = least
    while low <= (top := min(longest, size // max(best[0], 2))):
        copies = max(best[0], 2)
        high = min(top, 2 * low - 1, low + max(0, _MAX_SAMPLES * low * (copies - 1) // size))
        unit, at, stride = _samples(codes, low, high, copies)
        keep = _half_matches(hashes, unit, at, (stride + 1) >> 1, size)
        best = max(best, _longest(hashes, unit[keep], at[keep], size))
        low = high + 1
    return best


def _samples(codes: Ints, low: int, high: int, copies: int) -> tuple[Ints, Ints, Ints]:
    """Every multiple of (copies-1)*unit for the units low..high where the text equals itself shifted by the unit."""
    units = np.arange(low, high + 1, dtype=np.int64)
    strides = units * (copies - 1)
    counts = (len(codes) - units - 1) // strides + 1
    unit = np.repeat(units, counts)
    stride = np.repeat(strides, counts)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    at = (np.arange(len(unit), dtype=np.int64) - first) * stride
    keep = codes[at] == codes[at + unit]
    return unit[keep], at[keep], stride[keep]


def _half_matches(hashes: WordHash, unit: Ints, at: Ints, half: Ints, size: int) -> Ints:
    """A block of the wanted length reaches half of it to the right or to the left of its sample."""
    fits = np.zeros(len(unit), bool)
    room = at + half + unit <= size
    fits[room] = hashes.same(at[room], half[room], unit[room])
    room = ~fits & (at >= half)
    fits[room] = hashes.same(at[room] - half[room], half[room], unit[room])
    return fits


def _longest(hashes: WordHash, unit: Ints, at: Ints, size: int) -> tuple[int, int, int]:
    if not len(unit):
        return (1, 0, 0)
    right = _reach(lambda length: hashes.same(at, length, unit), size - unit - at)
    left = _reach(lambda length: hashes.same(at - length, length, unit), at)
    copies, start = 1 + (right + left) // unit, at - left
    winner = np.lexsort((-start, unit, copies))[-1]
    return int(copies[winner]), int(unit[winner]), -int(start[winner])


def _reach(same: Any, limit: Ints) -> Ints:
    """Per sample the largest length <= limit for which `same` holds, by bisection."""
    low, high = np.zeros(len(limit), np.int64), limit.copy()
    while (low < high).any():
        middle = (low + high + 1) >> 1
        holds = same(middle)
        # Where low == high, middle is that length too and holds by what was found before (or is 0): nothing moves.
        low, high = np.where(holds, middle, low), np.where(holds, high, np.maximum(low, middle - 1))
    return low


def direct(codes: Ints, least: int, longest: int) -> tuple[int, int, int]:
    """One comparison of the whole text per unit length: quadratic, exact, reached only if both hashes lie."""
    size = len(codes)
    best = (1, 0, 0)
    unit = least
    while unit <= min(longest, size // max(best[0], 2)):
        unequal = np.flatnonzero(codes[: size - unit] != codes[unit:])
        edges = np.concatenate(([-1], unequal, [size - unit]))
        runs = np.diff(edges) - 1
        widest = int(np.argmax(runs // unit))
        found = (1 + int(runs[widest]) // unit, unit, -int(edges[widest] + 1))
        best = max(best, found) if found[0] >= 2 else best
        unit += 1
    return best
