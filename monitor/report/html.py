"""The report as one HTML file: no script, no font, no picture and no request to anywhere; light and dark by the reader's own setting.

Pure. Everything that a model or a vendor said is escaped by the template engine; the loop is marked in it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from monitor.report import charts, words
from monitor.report.document import ModelPart, Part, Report
from monitor.report.words import Language


@lru_cache(maxsize=1)
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("monitor.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(report: Report, language: Language) -> str:
    """The whole page."""
    text = words.TEXT[language]
    top = charts.nice(max((model.high for model in report.models), default=0.0))
    unsure = not report.worse and any(
        model.standing in ("too_few", "no_baseline", "sampled") for model in report.models
    )
    return _environment().get_template("report.html").render(
        report=report,
        language=language,
        t=text,
        headline=headline(report, language),
        mood="bad" if report.worse else "unsure" if unsure or not report.models else "calm",
        trends=_trends(report, text),
        bars={model.model: _bar(model, top, text) for model in report.models},
        classes=_matrix(report, "classes", words.CLASSES[language]),
        lures=_matrix(report, "lures", words.LURES[language]),
        languages=_matrix(report, "languages", words.LANGUAGES[language]),
        json_bars={model.model: _json_bar(model, text) for model in report.models},
        changes=[(model, change_lines(model, language)) for model in report.models if model.baseline],
        class_name=lambda word: words.name_of(words.CLASSES, language, word),
        lure_name=lambda word: words.name_of(words.LURES, language, word),
        language_name=lambda word: words.name_of(words.LANGUAGES, language, word),
        fault_name=lambda word: words.name_of(words.FAULTS, language, word),
        step_name=lambda word: words.name_of(words.STEPS, language, word),
        reason_name=lambda word: words.name_of(words.REASONS, language, word),
        standing_name=lambda word: words.name_of(words.STANDINGS, language, word),
        pct=charts.percent,
        money=lambda amount: words.money(amount, report.currency),
        moment=lambda at: moment(at, report.timezone),
        ordered=lambda counts: sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])),
    )  # fmt: skip


def headline(report: Report, language: Language) -> str:
    """The night in one sentence."""
    text = words.TEXT[language]
    judged = [model for model in report.models if model.total.n]
    if not judged:
        return text["none_judged"]
    if report.worse:
        return text["some_worse"].format(k=len(report.worse), names=_names(report.worse, language))
    if report.sampled:
        return text["sampled"].format(n=report.prompts)
    for standing, words_ in (("too_few", "too_few"), ("no_baseline", "no_baseline_yet")):
        if found := [model for model in judged if model.standing == standing]:
            return text[words_].format(names=_names(found, language))
    return text["all_well"].format(n=len(judged))


def _names(models: Sequence[ModelPart], language: Language) -> str:
    """The models' names, the first four of them: a sentence that is read at a glance."""
    shown = ("、" if language == "zh" else ", ").join(model.model for model in models[:4])
    rest = len(models) - 4
    if rest <= 0:
        return shown
    return f"{shown} 等 {len(models)} 个" if language == "zh" else f"{shown} and {rest} more"


def change_lines(model: ModelPart, language: Language) -> list[str]:
    """What changed against the baseline, and how sure that is: the whole rate first, then each class that moved."""
    text = words.TEXT[language]
    lines: list[str] = []
    if model.baseline is None:
        return lines
    arrow = f"{charts.percent(model.baseline_rate)} → {charts.percent(model.total.ratio)}"
    moved = model.standing in ("worse", "doubled", "better")
    told = [text["rate"], arrow, _moved(model.growth, text) if moved else text["flat"]]
    if moved:
        told.append(text["sure"].format(sure=words.sure_of(model.chance)))
    if model.confirmed:
        told.append(text["confirmed"])
    separator = "，" if language == "zh" else ", "
    lines.append(f"{told[0]} {separator.join(told[1:])}")
    for change in model.changes:
        if change.chance >= 0.05 or abs(change.tonight.ratio - change.baseline.ratio) < 0.005:
            continue  # noise, or too small to act on
        name = words.name_of(words.CLASSES, language, change.loop_class)
        arrow = f"{charts.percent(change.baseline.ratio)} → {charts.percent(change.tonight.ratio)}"
        lines.append(f"{name} {arrow}{separator}{text['sure'].format(sure=words.sure_of(change.chance))}")
    if model.newly_ill or model.no_longer_ill:
        newly, gone = text["newly"].format(n=len(model.newly_ill)), text["gone"].format(n=model.no_longer_ill)
        lines.append(f"{newly}{separator}{gone}")
    if model.served_before and model.served and model.served_before not in model.served:
        lines.append(text["served_changed"].format(before=model.served_before, now=", ".join(model.served)))
    return lines


def _moved(growth: float, text: Mapping[str, str]) -> str:
    return text["up" if growth > 1 else "down"].format(times=f"{growth:.1f}")


def moment(at: float, zone: str) -> str:
    return f"{datetime.fromtimestamp(at, ZoneInfo(zone)):%Y-%m-%d %H:%M}"


def _trends(report: Report, text: Mapping[str, str]) -> dict[str, Any]:
    """The trend for a wide page and for a phone, and the names of its lines."""
    days = sorted({point.day for point in report.trend})
    # Tonight's order, the worst first: they get the colours when there are more models than colours.
    series: dict[str, dict[str, float]] = {model.model: {} for model in report.models}
    for point in report.trend:
        if point.total.n:
            series.setdefault(point.model, {})[point.day] = point.total.ratio
    shown = {name: values for name, values in series.items() if values}
    # charts.py escapes what is not its own.
    wide, narrow = (Markup(charts.trend(days, shown, text["trend_alt"], f)) for f in (charts.WIDE, charts.NARROW))  # noqa: S704
    names = [(name, Markup(charts.key(number))) for number, name in enumerate(list(shown)[: charts.SERIES])]  # noqa: S704
    return {"wide": wide, "narrow": narrow, "names": names, "days": len(days), "unshown": list(shown)[charts.SERIES :]}


def _bar(model: ModelPart, top: float, text: Mapping[str, str]) -> Markup:
    title = (
        f"{text['rate']} {charts.percent(model.total.ratio)} ({charts.percent(model.low)}–{charts.percent(model.high)})"
    )
    baseline = model.baseline_rate if model.baseline else None
    return Markup(charts.interval_bar(model.total.ratio, model.low, model.high, baseline, top, title))  # noqa: S704


def _json_bar(model: ModelPart, text: Mapping[str, str]) -> Markup:
    found = model.json
    parts = (
        (text["parsed"], found.parsed, "b2"),
        (text["valid"], found.valid, "b1"),
        (text["right"], found.right, "b0"),
    )
    title = ", ".join(f"{name} {count}/{found.asked}" for name, count, _ in parts)
    return Markup(charts.shares(parts, found.asked, title))  # noqa: S704


def _matrix(report: Report, kind: str, names: Mapping[str, str]) -> dict[str, Any]:
    """Rows by class, lure or language, columns by model: (k, n, shade 0..4). Rows that nobody has are left out."""

    def cell(model: ModelPart, row: str) -> Part:
        if kind == "classes":
            return Part(n=model.total.n, k=model.classes.get(row, 0))
        return parts(model).get(row, Part(n=0, k=0))

    def parts(model: ModelPart) -> Mapping[str, Part]:
        return model.languages if kind == "languages" else model.lures

    found: set[str] = set()
    for model in report.models:
        found |= set(model.classes if kind == "classes" else parts(model))
    known = [name for name in names if name in found]
    rows: Sequence[str] = [*known, *sorted(found - set(known))]
    cells = {row: [(one := cell(model, row), _shade(one.ratio)) for model in report.models] for row in rows}
    return {"rows": rows, "cells": cells, "columns": [model.model for model in report.models]}


def _shade(ratio: float) -> int:
    """The cell's shade: by the breaker's own lines, so that a dark cell means what the levels mean."""
    return sum(ratio >= line for line in (0.005, 0.08, 0.15, 0.25))
