"""Plots of the pages, as SVG without a library: lines over an axis, and bars."""

from collections.abc import Mapping, Sequence
from math import ceil, floor, log10

COLOURS = ("#c0392b", "#2c5f8a", "#3a7d44", "#8e6bb0", "#b8860b")
WIDTH, HEIGHT = 640, 356
LEFT, RIGHT, TOP, BOTTOM = 88, 626, 36, 280

Series = Mapping[str, Sequence[tuple[float, float]]]


def lines(series: Series, *, title: str, across: str, up: str, log_x: bool = True, log_y: bool = False) -> str:
    """A line with dots for each series; the x axis carries the values that were measured, the y axis begins at 0 or a decade."""
    points = [point for each in series.values() for point in each]
    xs = sorted({x for x, _ in points})
    top = max(y for _, y in points)
    low, high = (
        (10.0 ** floor(log10(min(y for _, y in points if y > 0))), 10.0 ** ceil(log10(top)))
        if log_y
        else (0.0, _round(top))
    )

    def at_x(x: float) -> float:
        first, last = (_log(xs[0]), _log(xs[-1])) if log_x else (min(0.0, xs[0]), xs[-1])
        here = _log(x) if log_x else x
        return LEFT + 20 + (RIGHT - LEFT - 40) * ((here - first) / (last - first) if last > first else 0.5)

    def at_y(y: float) -> float:
        part = (log10(max(y, low)) - log10(low)) / (log10(high) - log10(low)) if log_y else (y - low) / (high - low)
        return BOTTOM - (BOTTOM - TOP) * part

    body = _frame(title, across, up)
    for x in xs:
        body.append(f'<text x="{at_x(x):.1f}" y="{BOTTOM + 16}" text-anchor="middle">{x:g}</text>')
    for y in _ticks(low, high, log_y):
        body.append(f'<path d="M{LEFT} {at_y(y):.1f}H{RIGHT}" stroke="#ddd"/>')
        body.append(f'<text x="{LEFT - 6}" y="{at_y(y) + 4:.1f}" text-anchor="end">{_told(y)}</text>')
    for at, (name, each) in enumerate(series.items()):
        colour = COLOURS[at % len(COLOURS)]
        path = " ".join(
            f"{'L' if step else 'M'}{at_x(x):.1f} {at_y(y):.1f}" for step, (x, y) in enumerate(sorted(each))
        )
        body.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        body += [f'<circle cx="{at_x(x):.1f}" cy="{at_y(y):.1f}" r="3.5" fill="{colour}"/>' for x, y in each]
        body.append(f'<text x="{LEFT + 240 * at}" y="{BOTTOM + 64}" fill="{colour}">● {_safe(name)}</text>')
    return _svg(WIDTH, HEIGHT, body)


def bars(rows: Sequence[tuple[str, float]], *, title: str, unit: str) -> str:
    """One bar a row on a logarithmic axis, its figure at the end."""
    most, least = max(value for _, value in rows), min(value for _, value in rows if value > 0)
    low, high = log10(10 ** floor(log10(least))), log10(10 ** ceil(log10(most)))
    height = 60 + 30 * len(rows)
    body = [
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="12" y="22">{_safe(title)}, {unit}</text>',
    ]
    for at, (name, value) in enumerate(rows):
        y = 40 + 30 * at
        long = 380 * (log10(value) - low) / (high - low) if value > 0 else 0.0
        colour = COLOURS[0] if name == "pointsman" else COLOURS[1]
        body.append(f'<text x="150" y="{y + 15}" text-anchor="end">{_safe(name)}</text>')
        body.append(f'<rect x="158" y="{y}" width="{max(1.0, long):.1f}" height="20" fill="{colour}"/>')
        body.append(f'<text x="{166 + long:.1f}" y="{y + 15}">{value:,.0f}</text>')
    return _svg(WIDTH, height, body)


def _frame(title: str, across: str, up: str) -> list[str]:
    middle = (TOP + BOTTOM) / 2
    return [
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="22">{_safe(title)}</text>',
        f'<path d="M{LEFT} {TOP}V{BOTTOM}H{RIGHT}" fill="none" stroke="#444"/>',
        f'<text x="{(LEFT + RIGHT) / 2}" y="{BOTTOM + 40}" text-anchor="middle">{_safe(across)}</text>',
        f'<text x="14" y="{middle}" text-anchor="middle" transform="rotate(-90 14 {middle})">{_safe(up)}</text>',
    ]


def _ticks(low: float, high: float, log_y: bool) -> list[float]:
    if log_y:
        return [10.0**power for power in range(round(log10(low)), round(log10(high)) + 1)]
    return [low + (high - low) * part / 5 for part in range(6)]


def _round(top: float) -> float:
    """The next of 1, 2, 2.5, 5 times a power of ten."""
    power = 10.0 ** floor(log10(top)) if top > 0 else 1.0
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= top)


def _told(y: float) -> str:
    return f"{y:,.0f}" if y >= 1_000 else f"{y:g}"


def _log(x: float) -> float:
    return log10(max(x, 1e-9))


def _safe(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _svg(width: int, height: int, body: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">'
    return "\n".join([head, *body, "</svg>", ""])
