"""The last words: prepared sentences by language and scene, and closing lines for replies that had to be cut.

Reads its own TOML files once (or those of a given folder); afterwards only picks.
Scene `structured` has no phrases: a sentence is not the JSON a program waits for.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from random import Random
from typing import Any

DEFAULT_SCENE = "default"
PLAIN_LANGUAGE = "en"
SILENT_SCENES = frozenset({"structured", "auxiliary"})


class BadPhraseFile(ValueError):
    """A phrase file that cannot be used; the message names the file and what is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrases:
    """One language: phrases by scene (`default` always there) and closing lines, none of them empty.

    `unreachable`: said in every scene where no model gave any reply, so that other words would not help; files from
    before it was known have none, and say the scene's.
    """

    language: str
    scenes: Mapping[str, tuple[str, ...]]
    closing: tuple[str, ...]
    unreachable: tuple[str, ...] = ()


class Catalog:
    """Phrases of every language. An unknown language speaks English, an unknown scene its default."""

    def __init__(self, languages: Iterable[Phrases]) -> None:
        self._languages = {p.language: p for p in languages}
        if PLAIN_LANGUAGE not in self._languages:
            raise BadPhraseFile(f"no phrase file for language {PLAIN_LANGUAGE!r}, which stands in for all others")

    @property
    def languages(self) -> Mapping[str, Phrases]:
        return self._languages

    def pick(self, language: str, scene: str, rng: Random, *, replied: bool = True) -> str | None:
        """One phrase; None for scenes whose reader is a program. `replied`: some model gave a reply, of no use."""
        if scene in SILENT_SCENES:
            return None
        spoken = self._spoken(language)
        if not replied and spoken.unreachable:
            return rng.choice(spoken.unreachable)
        return rng.choice(spoken.scenes.get(scene) or spoken.scenes[DEFAULT_SCENE])

    def closing_line(self, language: str, rng: Random) -> str:
        return rng.choice(self._spoken(language).closing)

    def _spoken(self, language: str) -> Phrases:
        return self._languages.get(language) or self._languages[PLAIN_LANGUAGE]


def load(folder: Path | None = None) -> Catalog:
    """Read every `*.toml` of `folder`, else the files that ship with this package. Raises BadPhraseFile."""
    source: Traversable = folder if folder is not None else files("fallback_phrases")
    found = sorted((f for f in source.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name)
    return Catalog(parse(f.read_text(encoding="utf-8"), f.name) for f in found)


def parse(text: str, name: str) -> Phrases:
    """Read one phrase file. Raises BadPhraseFile."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadPhraseFile(f"{name}: {error}") from error
    unknown = set(data) - {"language", "closing", "unreachable", "scenes"}
    if unknown:
        raise BadPhraseFile(f"{name}: unknown keys {', '.join(sorted(unknown))}")
    scenes = data.get("scenes")
    if not isinstance(data.get("language"), str) or not isinstance(scenes, dict) or DEFAULT_SCENE not in scenes:
        raise BadPhraseFile(f"{name}: needs `language` and a list `scenes.{DEFAULT_SCENE}`")
    return Phrases(
        language=data["language"],
        scenes={scene: _lines(lines, f"{name}: scenes.{scene}") for scene, lines in scenes.items()},
        closing=_lines(data.get("closing"), f"{name}: closing"),
        unreachable=_lines(data["unreachable"], f"{name}: unreachable") if "unreachable" in data else (),
    )


def _lines(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(v, str) and v.strip() for v in value):
        raise BadPhraseFile(f"{where} must be a list of non-empty sentences")
    return tuple(value)
