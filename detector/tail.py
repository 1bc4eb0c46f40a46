"""Does a text end in copies of one unit? Bounded, online, standard library.

A unit of length p can only end the text if its last characters also end p characters earlier: candidates are the
places of a short anchor, found backwards at C speed and confirmed by comparing slices (DETECTION.md section 2).
"""

from collections.abc import Iterator

SHORT = 512  # longest unit the frequent check looks for
LONG = 4096  # longest unit at all: 5 % of real loops pass 1,024 (DETECTION.md section 1)
KEEP = 4 * LONG  # characters that any rule looks back


def run_length(text: str, end: int, period: int, floor: int = 0) -> int:
    """Length of the longest stretch from `floor` or later up to `end` that repeats with `period`. O(run)."""
    low, step, most = period, period, end - floor
    while (
        low + step <= most
        and text[end - low - step : end - low] == text[end - low - step + period : end - low + period]
    ):
        low += step
        step *= 2
    high = min(most, low + step)
    while low < high:
        middle = (low + high + 1) >> 1
        if text[end - middle : end - low] == text[end - middle + period : end - low + period]:
            low = middle
        else:
            high = middle - 1
    return low


def periods(text: str, end: int, *, anchor: int, least: int, most: int, tries: int) -> Iterator[int]:
    """Yield, smallest first, unit lengths the text may end with; at most `tries` of them."""
    mark = text[end - anchor : end]
    floor = max(0, end - anchor - most)
    stop = end - least
    for _ in range(tries):
        at = text.rfind(mark, floor, stop)
        if at < 0:
            return
        yield end - anchor - at
        stop = at + anchor - 1
