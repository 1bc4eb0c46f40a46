"""YAML with the line of every value kept, so that a mistake can be named where it stands.

In:  the text of a file and the environment.  Out: plain data, and a map from path to line.
Raises SettingsError for YAML that cannot be read, keys given twice and `${NAME}` that is not set.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

Path = tuple[str | int, ...]
_ENV = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """One thing that is wrong. `line` counts from 1; 0: the file as a whole."""

    line: int
    where: str
    what: str

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line else ""
        return f"{place}{self.where + ': ' if self.where else ''}{self.what}"


class SettingsError(Exception):
    """The settings cannot be used; `mistakes` names each reason once."""

    def __init__(self, mistakes: list[Mistake], name: str = "") -> None:
        self.mistakes = sorted(mistakes, key=lambda m: m.line)
        self.name = name
        super().__init__("\n".join(f"{name}: {m}" if name else str(m) for m in self.mistakes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Where each path stands."""

    by_path: Mapping[Path, int]

    def stands(self, path: Path) -> bool:
        """Whether the file says something at `path`."""
        return path in self.by_path

    def of(self, path: Path) -> int:
        """The line of `path`, else of the nearest thing around it that is in the file."""
        while path and path not in self.by_path:
            path = path[:-1]
        return self.by_path.get(path, 1)


def read(
    text: str, environment: Mapping[str, str], name: str = "", mistakes: list[Mistake] | None = None
) -> tuple[Any, Lines]:
    """Parse `text`, replace `${NAME}` and `${NAME:-default}`. Raises SettingsError.

    `mistakes`: a list that takes names not set and keys given twice instead, so that the rest can be checked as well.
    """
    reader = _Reader(environment)
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        data = reader.value(root, ()) if root is not None else {}
    except RecursionError as error:
        raise SettingsError([Mistake(line=0, where="", what="nests deeper than any settings do")], name) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or "is not YAML"
        raise SettingsError([Mistake(line=mark.line + 1 if mark else 0, where="", what=str(what))], name) from error
    if mistakes is not None:
        mistakes += reader.mistakes
    elif reader.mistakes:
        raise SettingsError(reader.mistakes, name)
    return data, Lines(by_path=reader.lines)


class _Reader:
    def __init__(self, environment: Mapping[str, str]) -> None:
        self.lines: dict[Path, int] = {}
        self.mistakes: list[Mistake] = []
        self._environment = environment
        self._plain = yaml.SafeLoader("")
        self._open: list[yaml.Node] = []
        """What encloses the value that is read."""

    def value(self, node: yaml.Node, path: Path) -> Any:
        line = node.start_mark.line + 1
        self.lines.setdefault(path, line)
        if isinstance(node, yaml.CollectionNode):
            return self._enclosing(node, path)
        value = self._plain.construct_object(node, deep=True)
        return self._with_environment(value, path, line) if isinstance(value, str) else value

    def _enclosing(self, node: yaml.CollectionNode, path: Path) -> Any:
        if any(node is around for around in self._open):
            line = node.start_mark.line + 1
            self.mistakes.append(Mistake(line=line, where=dotted(path), what="is an alias of what it stands in"))
            return None
        self._open.append(node)
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, path)
            return [self.value(item, (*path, at)) for at, item in enumerate(node.value)]
        finally:
            self._open.pop()

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key, line = str(key_node.value), key_node.start_mark.line + 1
            if key in out:
                self.mistakes.append(Mistake(line=line, where=dotted((*path, key)), what="is given twice"))
            self.lines[(*path, key)] = line
            out[key] = self.value(value_node, (*path, key))
        return out

    def _with_environment(self, text: str, path: Path, line: int) -> str:
        def found(match: re.Match[str]) -> str:
            name = match.group(1)
            value: str | None = self._environment.get(name, match.group(2))
            if value is None:
                what = f"environment variable {name} is not set"
                self.mistakes.append(Mistake(line=line, where=dotted(path), what=what))
            return value or ""

        return _ENV.sub(found, text)


def dotted(path: Path) -> str:
    """`routes.chat.candidates[0].model`."""
    out = ""
    for part in path:
        out += f"[{part}]" if isinstance(part, int) else f".{part}" if out else str(part)
    return out
