"""The templates, with the few filters they use. Everything is escaped: replies and reasons are written by strangers."""

import math
from datetime import UTC, datetime
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from base.clock import Clock
from console.charts import gauge, heat, sparkline
from console.words import duration


def environment() -> Environment:
    """Strict: a name that a page forgot to hand over is an error in a test, not a hole in the page."""
    made = Environment(
        loader=PackageLoader("console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {"pct": pct, "num": num, "span": _span, "moment": _moment, "ms": ms}
    made.globals |= {"sparkline": sparkline, "gauge": gauge, "heat": heat, "zip": zip}
    return made


def pct(ratio: float | None, digits: int = 1) -> str:
    """`0.153` as `15.3 %`, with a space that does not break; a dash for what is not known."""
    if ratio is None or math.isnan(ratio):
        return "–"
    return f"{ratio * 100:.{digits}f}\u00a0%"


def num(value: float | None) -> str:
    """Short and readable: 1,234 or 0.4; a dash for what is not known."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"


def ms(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}\u00a0ms" if value < 1_000 else f"{value / 1000:,.1f}\u00a0s"


@pass_context
def _span(context: Context, seconds: float) -> str:
    return duration(context["t"], seconds)


@pass_context
def _moment(context: Context, at: Any, style: str = "time") -> Markup:
    return moment(context["visit"].site.clock, at, style)


def iso(clock: Clock, at: float) -> str:
    """A moment in UTC for a file: to the second, with its zone."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if clock.real_s(1.0) == 1.0 else f"{at:.0f}"


def moment(clock: Clock, at: Any, style: str = "time") -> Markup:
    """A `<time>` in UTC, which the browser puts into the reader's own zone; a dash for no moment."""
    if not at:
        return Markup("–")
    try:
        when = datetime.fromtimestamp(float(at), UTC)
    except (ValueError, OverflowError, OSError):
        return escape("–")
    shown = when.strftime({"full": "%Y-%m-%d %H:%M:%S", "sec": "%m-%d %H:%M:%S"}.get(style, "%m-%d %H:%M"))
    # In compressed time a moment lies centuries ahead: a browser could make nothing of it.
    told = Markup('<time datetime="{}" data-style="{}">{} UTC</time>')
    return told.format(when.isoformat(), style, shown) if clock.real_s(1.0) == 1.0 else escape(shown)
