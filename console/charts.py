"""Small charts as SVG without style attributes, which the page's policy forbids: numbers in, markup out.

Lines and colours mean what they mean everywhere on the console: the three lines of the breaker, and a level's colour.
"""

from collections.abc import Sequence
from functools import lru_cache

from markupsafe import Markup

from console.fleet_now import Bar

GAUGE_END = 0.40
"""The right edge of a ratio gauge: what lies beyond it is drawn at the edge and said in figures."""
SPARK_HEIGHT, SPARK_STEP, SPARK_BAR = 28, 5, 4
KEPT = 512
"""Drawings of two kilobytes or less, of 200 models in two languages."""


def severity(ratio: float | None, lines: Sequence[float]) -> int:
    """How many of the breaker's lines `ratio` has reached: 0 to 3."""
    return 0 if ratio is None else sum(ratio >= line - 1e-9 for line in lines)


def gauge(ratio: float | None, lines: Sequence[float], label: str, *, known: bool = True) -> Markup:
    """A ratio on a scale of 0 to 40 % with the breaker's three lines."""
    ticks = "".join(f'<path class="tick t{at + 1}" d="M{_x(line)} 0v12"/>' for at, line in enumerate(lines))
    mark = ""
    if ratio is not None:
        here = min(ratio, GAUGE_END)
        kind = f"s{severity(ratio, lines)}" + ("" if known else " faint")
        mark = (
            f'<rect class="fill {kind}" x="0" y="4" width="{_x(here)}" height="4" rx="2"/>'
            f'<circle class="dot {kind}" cx="{max(3.0, min(97.0, _x(here)))}" cy="6" r="3"/>'
        )
    return Markup(
        '<svg class="gauge" viewBox="0 0 100 12" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<rect class="rail" x="0" y="4" width="100" height="4" rx="2"/>{}{}</svg>'
    ).format(label, Markup(ticks), Markup(mark))  # noqa: S704 - numbers of ours


def _x(ratio: float) -> float:
    return round(ratio / GAUGE_END * 100, 1)


@lru_cache(maxsize=KEPT)
def sparkline(bars: tuple[Bar, ...], lines: tuple[float, ...], label: str) -> Markup:
    """One bar for each five minutes; a stub where nothing repeated, a gap where nothing was asked.

    Kept as drawn: the bars of a fleet change once a minute, and whoever watches it fetches them every other second.
    """
    paths = ["", "", "", ""]
    for at, bar in enumerate(bars):
        if (ratio := bar.ratio) is None:
            continue
        height = max(1.5, min(ratio, GAUGE_END) / GAUGE_END * SPARK_HEIGHT)
        paths[severity(ratio, lines)] += f"M{at * SPARK_STEP} {SPARK_HEIGHT}h{SPARK_BAR}v{-height:.1f}h-{SPARK_BAR}z"
    drawn = "".join(f'<path class="s{level}" d="{path}"/>' for level, path in enumerate(paths) if path)
    line = round(SPARK_HEIGHT - lines[0] / GAUGE_END * SPARK_HEIGHT, 1)
    width = len(bars) * SPARK_STEP
    return Markup(
        '<svg class="spark" viewBox="0 0 {w} {h}" preserveAspectRatio="none" role="img" aria-label="{label}">'
        '<path class="floor" d="M0 {h}H{w}"/><path class="line" d="M0 {line}H{w}"/>{drawn}</svg>'
    ).format(w=width, h=SPARK_HEIGHT, label=label, line=line, drawn=Markup(drawn))  # noqa: S704 - numbers of ours


def heat(ratio: float | None, lines: Sequence[float]) -> str:
    """The class of one cell of a heat map."""
    if ratio is None:
        return "none"
    if ratio == 0:
        return "zero"
    return ("low", "s1", "s2", "s3")[severity(ratio, lines)]
