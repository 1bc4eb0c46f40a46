"""Phrases as an operator writes them: checked line by line, and put into the text of a phrase file.

Pure. In: scenes with their lines.  Out: TOML text that `catalog.parse` reads back, or what is wrong with which line.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fallback_phrases.catalog import DEFAULT_SCENE, SILENT_SCENES, Phrases

LEAST_CHARS, MOST_CHARS = 2, 300
"""A user reads a phrase in place of an answer: a word says too little, a page too much."""
MOST_LINES = 50
CLOSING, UNREACHABLE = "closing", "unreachable"
"""Lists that belong to no scene."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """What is wrong, where: `scene` (or `closing`, `unreachable`), the line counted from 1 (0: the whole list), and a word for the page."""

    scene: str
    line: int
    why: str


def lines_of(text: str) -> tuple[str, ...]:
    """One phrase a line; blank lines part them and say nothing."""
    return tuple(line.strip() for line in text.split("\n") if line.strip())


def flaws(phrases: Phrases, scenes: frozenset[str]) -> list[Flaw]:
    """Everything that must be mended before these phrases may be used. `scenes`: those that routes can have."""
    found = list(_list_flaws(CLOSING, phrases.closing))
    if phrases.unreachable:
        found += _list_flaws(UNREACHABLE, phrases.unreachable)
    if not phrases.scenes.get(DEFAULT_SCENE):
        found.append(Flaw(scene=DEFAULT_SCENE, line=0, why="no_default"))
    for scene, lines in phrases.scenes.items():
        if scene != DEFAULT_SCENE and scene not in scenes:
            found.append(Flaw(scene=scene, line=0, why="unknown_scene"))
        if scene in SILENT_SCENES:
            # A sentence is not the JSON a program waits for: it would never be said.
            found.append(Flaw(scene=scene, line=0, why="silent_scene"))
        found += _list_flaws(scene, lines)
    return found


def _list_flaws(scene: str, lines: Sequence[str]) -> Iterator[Flaw]:
    if not lines:
        yield Flaw(scene=scene, line=0, why="empty")
    if len(lines) > MOST_LINES:
        yield Flaw(scene=scene, line=0, why="too_many")
    for number, line in enumerate(lines, 1):
        if not LEAST_CHARS <= len(line) <= MOST_CHARS:
            yield Flaw(scene=scene, line=number, why="length")
        elif not line.isprintable():
            yield Flaw(scene=scene, line=number, why="unprintable")
        elif line in lines[: number - 1]:
            yield Flaw(scene=scene, line=number, why="twice")


def written(phrases: Phrases) -> str:
    """The text of a phrase file. JSON's strings are TOML's basic strings, as long as nothing beyond them is escaped."""
    parts = [f"language = {_quoted(phrases.language)}", f"closing = {_list(phrases.closing)}"]
    if phrases.unreachable:
        parts.append(f"unreachable = {_list(phrases.unreachable)}")
    parts += ["", "[scenes]"]
    parts += [f"{_quoted(scene)} = {_list(lines)}" for scene, lines in phrases.scenes.items()]
    return "\n".join(parts) + "\n"


def _list(lines: Sequence[str]) -> str:
    return "[\n" + "".join(f"  {_quoted(line)},\n" for line in lines) + "]"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def texts(phrases: Phrases) -> Mapping[str, str]:
    """Each list as the text of a form field: one phrase a line."""
    apart = {CLOSING: phrases.closing} | ({UNREACHABLE: phrases.unreachable} if phrases.unreachable else {})
    return {name: "\n".join(lines) for name, lines in (apart | dict(phrases.scenes)).items()}
