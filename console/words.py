"""What the console says, in Chinese and English: the locale files, and which language a reader gets.

Files `locales/LANGUAGE.toml` ship with the package; both hold the same keys (a test compares them).
"""

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

LANGUAGES = ("zh", "en")
NAMES = {"zh": "中文", "en": "English"}
MINUTE_S, HOUR_S, DAY_S = 60, 3_600, 86_400
HTML_TAGS = {"zh": "zh-CN", "en": "en"}


class Words:
    """One language. A word that is missing shows as its key: ugly, seen at once, and never an error page at 3 a.m."""

    def __init__(self, language: str, words: Mapping[str, str]) -> None:
        self.language = language
        self._words = words

    def __call__(self, key: str, **values: object) -> str:
        found = self._words.get(key)
        if found is None:
            return key
        return found.format(**values) if values else found

    def __contains__(self, key: str) -> bool:
        return key in self._words

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(self._words)


def load() -> Mapping[str, Words]:
    """All languages, read once at start."""
    folder = files("console") / "locales"
    return {name: Words(name, _flat(tomllib.loads((folder / f"{name}.toml").read_text("utf-8")))) for name in LANGUAGES}


def preferred(accept_language: str) -> str:
    """The reader's language by their browser: Chinese if it is named before English, English if only that is."""
    for part in accept_language.lower().split(","):
        tag = part.partition(";")[0].strip()
        if tag.startswith("zh"):
            return "zh"
        if tag.startswith("en"):
            return "en"
    return "zh"


def duration(words: Words, seconds: float) -> str:
    """One or two units: `45 s`, `12 min`, `3 h 20 min`, `5 d 4 h`."""
    left = max(0, int(seconds))
    if left < MINUTE_S:
        return words("unit.s", n=left)
    if left < HOUR_S:
        return words("unit.min", n=left // MINUTE_S)
    if left < DAY_S:
        hours, minutes = left // HOUR_S, left % HOUR_S // MINUTE_S
        return words("unit.h", n=hours) + (f" {words('unit.min', n=minutes)}" if minutes else "")
    days, hours = left // DAY_S, left % DAY_S // HOUR_S
    return words("unit.d", n=days) + (f" {words('unit.h', n=hours)}" if hours and days < 10 else "")


def _flat(tree: Mapping[str, Any], before: str = "") -> dict[str, str]:
    out: dict[str, str] = {}
    for key, value in tree.items():
        name = f"{before}{key}"
        if isinstance(value, Mapping):
            out |= _flat(value, f"{name}.")
        else:
            out[name] = str(value)
    return out
