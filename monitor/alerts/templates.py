"""The message templates: packaged ones for each kind and language, and the operator's own beside them.

A file of the operator's folder (`FOLDER/zh/transition.md`) stands for the packaged one of the same name. One that cannot
be read, or fails on an alert, is replaced by the packaged one, and the message says so: a slip in a template must not
cost an alert. Templates run in Jinja's sandbox, with the values documented in docs/alerts.md and nothing else.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from jinja2 import BaseLoader, ChainableUndefined, ChoiceLoader, FileSystemLoader, FunctionLoader, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from monitor.alerts.alert import AlertKind
from monitor.alerts.channel import Language
from monitor.alerts.words import CLASSES, LEVELS, said
from monitor.gray_report import REASONS as GRAY_REASONS
from monitor.gray_report import STAGES as GRAY_STAGES

LANGUAGES: tuple[Language, ...] = ("zh", "en")
MOST_CHARS = 20_000
"""More than any robot takes; what a template makes beyond it is not looked at."""
_BLANK = "⁠"
"""Stands for an empty line that is meant, until the others are dropped."""


class AsIs(str):
    """Markdown of our own making: passed on with its marks."""

    __slots__ = ()


class Templates:
    """`folder`: the operator's own, or None. `zone`: the time zone moments are told in."""

    def __init__(self, folder: Path | None = None, zone: str = "Asia/Shanghai") -> None:
        self._zone = ZoneInfo(zone)
        self._packaged = {language: self._environment(language, None) for language in LANGUAGES}
        self._own = {language: self._environment(language, folder) for language in LANGUAGES} if folder else {}

    def text(self, kind: str, language: Language, values: Mapping[str, Any]) -> tuple[str, str]:
        """The message, and what was wrong with the operator's template ("": nothing)."""
        wrong = ""
        if own := self._own.get(language):
            try:
                return _rendered(own, kind, values), ""
            except Exception as error:
                wrong = _words(error)
        return _rendered(self._packaged[language], kind, values), wrong

    def problems(self, values: Mapping[str, Any]) -> Iterator[str]:
        """Render the operator's templates of every kind on `values`; what went wrong, file by file."""
        for language, own in self._own.items():
            for kind in AlertKind:
                try:
                    _rendered(own, kind, values)
                except Exception as error:
                    yield f"{language}/{kind}.md: {_words(error)}"

    def _environment(self, language: Language, folder: Path | None) -> ImmutableSandboxedEnvironment:
        packaged: BaseLoader = FunctionLoader(lambda name: _packaged(language, name))
        loader = ChoiceLoader([FileSystemLoader(folder / language), packaged]) if folder else packaged
        made = ImmutableSandboxedEnvironment(
            loader=loader,
            undefined=ChainableUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,
            finalize=_harmless,
            auto_reload=True,
        )
        made.filters |= {
            "pct": _percent,
            "num": lambda value: f"{value:g}" if isinstance(value, int | float) else value,
            "times": lambda value: f"{value:.1f}×" if isinstance(value, int | float) else value,
            "span": lambda value: span(value, language),
            "when": self._when,
            "code": _code,
            "counts": lambda value: _counts(value, language),
            "pairs": lambda value: list(value.items()) if isinstance(value, Mapping) else [],
            "level_name": lambda value: said(LEVELS, value, language),
            "gray_stage": lambda value: said(GRAY_STAGES, value, language),
            "gray_reason": lambda value: said(GRAY_REASONS, value, language),
            "own_language": lambda value: value.get(language, "") if isinstance(value, Mapping) else value,
            "as_is": lambda value: AsIs(re.sub(r"\n\s*\n", f"\n{_BLANK}\n", str(value))),
        }
        return made

    def _when(self, moment: Any) -> str:
        """Seconds since the epoch as a moment in the zone of the people on call."""
        if not isinstance(moment, int | float):
            return str(moment)
        try:
            here = datetime.fromtimestamp(moment, UTC).astimezone(self._zone)
        except (OverflowError, ValueError, OSError):  # scaled time leaves the calendar behind
            return f"{moment:.0f}"
        return f"{here:%Y-%m-%d %H:%M:%S %Z}"


def _rendered(environment: ImmutableSandboxedEnvironment, kind: str, values: Mapping[str, Any]) -> str:
    text = _tidy(environment.get_template(f"{kind}.md").render(values))
    if not text:
        raise ValueError("no first line: it says nothing")
    return text


def span(seconds: Any, language: Language) -> str:
    """A duration in its two largest units."""
    if not isinstance(seconds, int | float):
        return str(seconds)
    units = {"zh": ("天", "小时", "分钟", "秒"), "en": ("d", "h", "min", "s")}[language]
    rest, parts = max(0, round(seconds)), []
    for unit, size in zip(units, (86_400, 3_600, 60, 1), strict=True):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or f"0 {units[-1]}"


def _packaged(language: str, name: str) -> str | None:
    file = files("monitor.alerts") / "templates" / language / name
    return file.read_text(encoding="utf-8") if file.is_file() else None


def _harmless(value: Any) -> Any:
    """What comes from outside calls nobody and is no link: robots read `<@user>` and `<at …>` anywhere in a text, and a link
    or a picture of somebody else's in an alert is what a phisher wants."""
    if isinstance(value, str) and not isinstance(value, AsIs):
        return value.replace("<", "‹").replace(">", "›").replace("](", "] (")
    return value


def _percent(value: Any) -> Any:
    return f"{value:.1%}".replace(".0%", "%") if isinstance(value, int | float) else value


def _code(value: Any) -> str:
    """One line of inline code."""
    text = " ".join(str(value).replace("`", "'").split())
    return f"`{text}`"


def _counts(value: Any, language: Language) -> str:
    """`stuck 12, phrase loop 3`: the three most frequent of a mapping, or the words of a list."""
    if isinstance(value, Mapping):
        top = sorted(value.items(), key=lambda pair: (-_number(pair[1]), str(pair[0])))[:3]
        words = [f"{said(CLASSES, name, language)} {count}" for name, count in top]
    else:
        listed: Sequence[Any] = [value] if isinstance(value, str) else list(value)
        words = [said(CLASSES, name, language) for name in listed[:3]]
    return ("、" if language == "zh" else ", ").join(words)


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _tidy(text: str) -> str:
    """Without the empty lines that the templates' blocks leave behind."""
    lines = [line.rstrip() for line in text[:MOST_CHARS].splitlines() if line.strip()]
    return "\n".join("" if line == _BLANK else line for line in lines)


def _words(error: Exception) -> str:
    line = getattr(error, "lineno", None)
    where = f" (line {line})" if line else ""
    what = error.message if isinstance(error, TemplateError) and error.message else str(error) or type(error).__name__
    return f"{what}{where}"[:200]
