"""What a terminal says in the place of the admin JSON's words: the console's, so that both call one thing the same.

One rule for all commands: what has two languages comes in the reader's, the one asked for, else the terminal's (`LC_ALL`,
`LC_MESSAGES`, `LANG`), else English. Heads of tables, help and errors are English; `--json` hands out the words themselves.
"""

import os
from datetime import datetime
from functools import cache
from zoneinfo import ZoneInfo

import typer

from console.words import LANGUAGES, Words, duration, load

LanguageOption: str = typer.Option(
    "", "--language", "--lang", help="Of words and sentences: zh or en; else the terminal's (LANG), else en."
)


@cache
def words(language: str = "en") -> Words:
    return load()[language]


def language(asked: str = "") -> str:
    """`asked`, else the terminal's own. Tells and exits (2) when nothing is written in the one asked for."""
    if asked:
        if asked not in LANGUAGES:
            typer.echo(f"pointsman: --language {asked}: one of {', '.join(LANGUAGES)}", err=True)
            raise typer.Exit(2)
        return asked
    # The first that is set decides, as everywhere: LC_ALL=C silences a LANG of zh_CN.
    set_to = next((value for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (value := os.environ.get(name))), "")
    return "zh" if set_to.lower().startswith("zh") else "en"


def level(word: str, language: str = "en") -> str:
    return said("level", word, language)


def mode(word: str, language: str = "en") -> str:
    return said("mode", word, language)


def reason(word: str, language: str = "en") -> str:
    return said("reason", word, language)


def said(kind: str, word: str, language: str = "en") -> str:
    """A word that a newer service knows and we do not is shown as it is."""
    t = words(language)
    return t(f"{kind}.{word}") if f"{kind}.{word}" in t else word


def span(seconds: float, language: str = "en") -> str:
    """`45 s`, `12 min`, `3 h 20 min`."""
    return duration(words(language), seconds)


def moment(at: float | None, zone: str = "") -> str:
    """`2026-11-30 14:05:10 CST`: in `zone`, else in the reader's own; nothing for no moment."""
    if at is None:
        return ""
    try:
        when = datetime.fromtimestamp(at, ZoneInfo(zone)) if zone else datetime.fromtimestamp(at).astimezone()
    except (OverflowError, ValueError, OSError):  # scaled time leaves the calendar behind
        return f"{at:.0f}"
    return when.strftime("%Y-%m-%d %H:%M:%S %Z")
