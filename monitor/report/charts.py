"""Charts of the report as SVG text: drawn here, so that the page needs no script and no other file.

Pure. Colours are the page's CSS classes, for light and dark; a series is told apart by its dashes and its name at the end of
the line as well, never by colour alone. Text that comes from outside is escaped.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

HEIGHT = 260
LEFT, TOP, BOTTOM, NARROW_RIGHT = 46, 14, 30, 18
SERIES = 8
"""Series that have a colour and dashes of their own; further ones are in the table below the chart."""
LABEL_GAP = 15


def percent(ratio: float, digits: int = 1) -> str:
    return f"{ratio * 100:.{digits}f}%"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The size of a line chart; `right` is the room for names at the ends of the lines, 0: none are drawn."""

    width: int
    right: int = 0

    @property
    def end(self) -> int:
        """Where the plot ends."""
        return self.width - (self.right or NARROW_RIGHT)


WIDE = Frame(width=760, right=150)
NARROW = Frame(width=360)
"""For a phone: names would take half of it, so the page lists them below."""


def trend(days: Sequence[str], series: Mapping[str, Mapping[str, float]], title: str, frame: Frame = WIDE) -> str:
    """Lines over days. `series`: by name, the ratio by day; a day without one is a gap in its line."""
    names = list(series)[:SERIES]
    top = nice(max((value for name in names for value in series[name].values()), default=0.0))
    x = {day: LEFT + (frame.end - LEFT) * (n / max(1, len(days) - 1)) for n, day in enumerate(days)}
    if len(days) == 1:
        x = {days[0]: (LEFT + frame.end) / 2}

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top)

    parts = [_grid(top, y, frame), *_days(days, x, 7 if frame.right else 4)]
    ends: list[tuple[float, int, str]] = []
    for number, name in enumerate(names):
        here = [(x[day], y(series[name][day])) if day in series[name] else None for day in days]
        parts += _line(here, number)
        last = [point for point in here if point is not None]
        if last:
            ends.append((last[-1][1], number, name))
    if frame.right:
        parts += _labels(ends, frame)
    return _svg(frame.width, HEIGHT, title, parts)


def key(number: int) -> str:
    """The short line that stands for a series in a list of names."""
    line = f'<line class="line s{number}" x1="0" x2="22" y1="6" y2="6"/>'
    return f'<svg class="swatch" viewBox="0 0 22 12" aria-hidden="true">{line}</svg>'


def nice(value: float) -> float:
    """The round number at or above `value` that the axis ends at; at least 2 %."""
    for step in (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8):
        if value <= step:
            return step
    return 1.0


def interval_bar(ratio: float, low: float, high: float, baseline: float | None, top: float, title: str) -> str:
    """A rate with its 95 % interval on one line, and a mark where the baseline stands."""
    width, height = 180, 22

    def x(value: float) -> float:
        return 2 + (width - 4) * min(1.0, value / top)

    parts = [
        f'<line class="axis" x1="2" x2="{width - 2}" y1="11" y2="11"/>',
        f'<rect class="range" x="{x(low):.1f}" y="7" width="{max(1.0, x(high) - x(low)):.1f}" height="8" rx="4"/>',
        f'<circle class="now" cx="{x(ratio):.1f}" cy="11" r="4.5"/>',
    ]
    if baseline is not None:
        at = x(baseline)
        parts.append(f'<path class="base" d="M{at:.1f} 2V20M{at - 3:.1f} 2h6M{at - 3:.1f} 20h6"/>')
    return _svg(width, height, title, parts, "bar")


def shares(parts_: Sequence[tuple[str, int, str]], whole: int, title: str) -> str:
    """Nested counts of one whole, as bars behind each other: (name, count, css class), the widest first."""
    width, height = 180, 14
    drawn = [f'<rect class="track" x="0" y="0" width="{width}" height="{height}" rx="3"/>']
    for _, count, css in parts_:
        size = width * count / whole if whole else 0
        drawn.append(f'<rect class="{css}" x="0" y="0" width="{size:.1f}" height="{height}" rx="3"/>')
    return _svg(width, height, title, drawn, "bar")


def curve(
    points: Sequence[tuple[float, float]], chosen: tuple[float, float] | None, now: tuple[float, float] | None, title: str,
    x_name: str, y_name: str,
) -> str:  # fmt: skip
    """A trade-off: false alarms (x) against what is found (y), both 0..1; two marks on it."""
    width, height, pad = 420, 300, 46
    right = nice(max((p[0] for p in points), default=0.0))

    def at(point: tuple[float, float]) -> tuple[float, float]:
        return pad + (width - pad - 14) * point[0] / right, 14 + (height - pad - 14) * (1 - point[1])

    parts = [
        f'<line class="grid" x1="{pad}" x2="{width - 14}" y1="{at((0, v))[1]:.1f}" y2="{at((0, v))[1]:.1f}"/>'
        f'<text class="tick" x="{pad - 6}" y="{at((0, v))[1] + 4:.1f}" text-anchor="end">{percent(v, 0)}</text>'
        for v in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]
    parts += [
        f'<text class="tick" x="{at((right * v, 0))[0]:.1f}" y="{height - pad + 18}" text-anchor="middle">'
        f"{percent(right * v, 1)}</text>"
        for v in (0.0, 0.5, 1.0)
    ]
    parts.append(
        f'<text class="tick" x="{width / 2:.0f}" y="{height - 8}" text-anchor="middle">{escape(x_name)}</text>'
    )
    parts.append(f'<text class="tick" x="12" y="{height / 2:.0f}" transform="rotate(-90 12 {height / 2:.0f})" '
                 f'text-anchor="middle">{escape(y_name)}</text>')  # fmt: skip
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(at, sorted(points)))
    parts.append(f'<polyline class="line s0" points="{path}"/>')
    parts += [f'<circle class="dot s0" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>' for x, y in map(at, points)]
    for mark, css, radius in ((now, "mark-now", 7.0), (chosen, "mark-chosen", 5.0)):
        if mark is not None:
            x, y = at(mark)
            parts.append(f'<circle class="{css}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>')
    return _svg(width, height, title, parts)


def _svg(width: int, height: int, title: str, parts: Sequence[str], css: str = "chart") -> str:
    head = f'<svg class="{css}" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">'
    return f"{head}<title>{escape(title)}</title>{''.join(parts)}</svg>"


def _grid(top: float, y: Callable[[float], float], frame: Frame) -> str:
    out = []
    for step in range(5):
        value = top * step / 4
        digits = 0 if (top * 25) == int(top * 25) and top >= 0.1 else 1
        at = y(value)
        out.append(
            f'<line class="grid" x1="{LEFT}" x2="{frame.end}" y1="{at:.1f}" y2="{at:.1f}"/>'
            f'<text class="tick" x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{percent(value, digits)}</text>'
        )
    return "".join(out)


def _days(days: Sequence[str], x: Mapping[str, float], most: int) -> list[str]:
    every = max(1, (len(days) + most - 1) // most)
    shown = [day for n, day in enumerate(days) if (len(days) - 1 - n) % every == 0]
    return [
        f'<text class="tick" x="{x[day]:.1f}" y="{HEIGHT - 8}" text-anchor="middle">{escape(day[5:])}</text>'
        for day in shown
    ]


def _line(points: Sequence[tuple[float, float] | None], number: int) -> list[str]:
    """The line in pieces, broken where a day has no value; a dot on every value."""
    pieces: list[list[tuple[float, float]]] = [[]]
    for point in points:
        if point is None:
            pieces.append([])
        else:
            pieces[-1].append(point)
    drawn = [
        f'<polyline class="line s{number}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in piece)}"/>'
        for piece in pieces
        if len(piece) > 1
    ]
    dots = [f'<circle class="dot s{number}" cx="{p[0]:.1f}" cy="{p[1]:.1f}" r="3"/>' for p in points if p is not None]
    return drawn + dots


def _labels(ends: Sequence[tuple[float, int, str]], frame: Frame) -> list[str]:
    """Names at the ends of the lines, moved apart where they would lie on each other."""
    places = _apart([y for y, _, _ in sorted(ends)], HEIGHT - BOTTOM)
    out = []
    for at, (_, number, name) in zip(places, sorted(ends), strict=True):
        short = name if len(name) <= 18 else f"{name[:17]}…"
        out.append(
            f'<line class="line s{number}" x1="{frame.end + 6}" x2="{frame.end + 24}" y1="{at:.1f}" y2="{at:.1f}"/>'
            f'<text class="label" x="{frame.end + 29}" y="{at + 4:.1f}">{escape(short)}</text>'
        )
    return out


def _apart(wanted: Sequence[float], lowest: float) -> list[float]:
    """Heights in order, at least a label apart, pushed up again where they would run over the axis."""
    places: list[float] = []
    for y in wanted:
        places.append(max(y, places[-1] + LABEL_GAP) if places else y)
    for n in range(len(places) - 1, -1, -1):
        below = lowest if n == len(places) - 1 else places[n + 1] - LABEL_GAP
        places[n] = min(places[n], below)
    return places
