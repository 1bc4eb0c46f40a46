"""One number per loop, the same wherever a replica joined it.

64 bits of the least rotation of the primitive unit after NFKC, casefold and blank collapse (SPEC 2.1).
"""

import hashlib
import unicodedata


def fingerprint(unit: str) -> int:
    """Return the fingerprint of a loop's unit; 0 <= value < 2**64."""
    text = unicodedata.normalize("NFKC", unit[:8192]).casefold()
    # Blanks are collapsed as on a ring, so that the cut through a blank does not matter.
    words = text.split()
    ring = " ".join(words) + (" " if words and (text[0].isspace() or text[-1].isspace()) else "")
    least = _least_rotation(_primitive(ring))
    digest = hashlib.blake2b(least.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def _primitive(unit: str) -> str:
    at = (unit + unit).find(unit, 1) if unit else 0
    return unit[:at]


def _least_rotation(unit: str) -> str:
    """Booth's algorithm, O(n)."""
    i, j, k, n = 0, 1, 0, len(unit)
    while i < n and j < n and k < n:
        a, b = unit[(i + k) % n], unit[(j + k) % n]
        if a == b:
            k += 1
            continue
        if a > b:
            i += k + 1
        else:
            j += k + 1
        j += i == j
        k = 0
    at = min(i, j)
    return unit[at:] + unit[:at]
