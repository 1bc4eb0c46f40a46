"""The evaluation suite: files that people write, checked whole, then expanded to the prompts that models are asked.

In:  YAML texts by file name (format: docs/evaluation.md).  Out: Suite: its prompts and its version, a hash of their content.
Raises SuiteError with every mistake at once, each naming file, item and field.
Pure but for `builtin` and `read_files`, which read files.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from random import Random

import yaml
from pydantic import ValidationError

from base.wrong import wrong
from monitor.nightly.expand import expanded
from monitor.nightly.shapes import Lure, Prompt, SuiteFile, item_mistakes

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml where it is there: ten times faster."""
LEAST_PROMPTS = 500
"""Fewer make the rules noise: with 200 prompts at 2 % "twice the baseline" comes by chance on 5 % of nights, with 500 on
0.3 % (BREAKER.md, Feedback and nightly statistics). A smaller suite runs, but cannot be pinned as a baseline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """One thing wrong with one suite file. `item` is "" for the file as a whole."""

    file: str
    item: str
    field: str
    what: str

    def __str__(self) -> str:
        place = f"item {self.item}: " if self.item else ""
        return f"{self.file}: {place}{f'{self.field}: ' if self.field else ''}{self.what}"


class SuiteError(ValueError):
    """The suite cannot be used; `mistakes` says why."""

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        super().__init__("\n".join(map(str, mistakes)))
        self.mistakes = tuple(mistakes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """What models are asked. Two suites with the same `version` ask the same in the same order."""

    name: str
    version: str
    prompts: tuple[Prompt, ...]
    whole: int
    """How many prompts the whole suite has; more than `prompts` for a sample."""

    @property
    def sampled(self) -> bool:
        return len(self.prompts) < self.whole


def builtin() -> dict[str, str]:
    """The suite files that travel with the package, by name."""
    folder = files("monitor.nightly") / "suites"
    found = [entry for entry in folder.iterdir() if entry.name.endswith(".yaml")]
    return {entry.name: entry.read_text(encoding="utf-8") for entry in sorted(found, key=lambda entry: entry.name)}


def read_files(paths: Iterable[Path]) -> dict[str, str]:
    """The texts of `paths`; SuiteError for a file that cannot be read."""
    texts, mistakes = {}, []
    for path in paths:
        try:
            texts[str(path)] = path.read_text(encoding="utf-8-sig")
        except OSError as error:
            mistakes.append(Mistake(file=str(path), item="", field="", what=str(error.strerror)))
        except UnicodeDecodeError:
            mistakes.append(Mistake(file=str(path), item="", field="", what="is not UTF-8 text"))
    if mistakes:
        raise SuiteError(mistakes)
    return texts


def load(texts: Mapping[str, str]) -> Suite:
    """Check all files together and expand them. Raises SuiteError."""
    parsed: dict[str, SuiteFile] = {}
    mistakes: list[Mistake] = []
    for name, text in texts.items():
        found = _parse(name, text)
        if isinstance(found, SuiteFile):
            parsed[name] = found
            mistakes += [Mistake(file=name, item=i, field=f, what=w) for i, f, w in item_mistakes(found)]
        else:
            mistakes += found
    mistakes += _across(parsed)
    if not texts:
        mistakes.append(Mistake(file="", item="", field="", what="no suite file was given"))
    if mistakes:
        raise SuiteError(mistakes)
    prompts = tuple(prompt for part in parsed.values() for prompt in expanded(part))
    # One file after the other would make a run that is cut short a run of one language.
    order = Random(next(iter(parsed.values())).seed)
    mixed = tuple(order.sample(prompts, len(prompts)))
    name = next(iter(parsed.values())).suite
    return Suite(name=name, version=_version(mixed), prompts=mixed, whole=len(mixed))


def sample(suite: Suite, size: int, seed: int = 0) -> Suite:
    """`size` prompts of the suite, spread evenly over lures and languages; the suite itself if it has no more."""
    if size >= len(suite.prompts):
        return suite
    groups: dict[tuple[Lure, str], list[Prompt]] = {}
    for prompt in suite.prompts:
        groups.setdefault((prompt.lure, prompt.language), []).append(prompt)
    order = Random(seed)
    for group in groups.values():
        order.shuffle(group)
    queue = [groups[key] for key in sorted(groups)]
    chosen: list[Prompt] = []
    while len(chosen) < size:
        for group in queue:
            if group and len(chosen) < size:
                chosen.append(group.pop())
    return Suite(name=suite.name, version=suite.version, prompts=tuple(chosen), whole=suite.whole)


def of_lures(suite: Suite, lures: Iterable[Lure]) -> Suite:
    """Only the prompts of these lures; all of them for none."""
    wanted = frozenset(lures)
    kept = tuple(prompt for prompt in suite.prompts if not wanted or prompt.lure in wanted)
    return Suite(name=suite.name, version=suite.version, prompts=kept, whole=suite.whole)


def _parse(name: str, text: str) -> SuiteFile | list[Mistake]:
    try:
        data = yaml.load(text, Loader=LOADER)  # noqa: S506 - both are safe loaders
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}" if mark is not None else ""
        return [Mistake(file=name, item="", field=where, what=f"is not YAML: {getattr(error, 'problem', error)}")]
    if not isinstance(data, dict):
        return [Mistake(file=name, item="", field="", what="must be a mapping with suite, language and items")]
    try:
        return SuiteFile.model_validate(data)
    except ValidationError as error:
        return [_mistake(name, data, dict(found)) for found in error.errors(include_url=False)]


def _mistake(file: str, data: Mapping[str, object], error: Mapping[str, object]) -> Mistake:
    """A finding of pydantic, with the item's own id instead of its number where it has one."""
    path = list(error["loc"])  # type: ignore[call-overload]
    item = ""
    if path[:1] == ["items"] and len(path) > 1:
        rows = data.get("items")
        row = rows[path[1]] if isinstance(rows, list) else None
        own = row.get("id") if isinstance(row, dict) else None
        item = own if isinstance(own, str) and own else f"number {path[1] + 1}"
        path = path[2:]
    what = "unknown field" if error["type"] == "extra_forbidden" else wrong(error)
    field = ".".join(str(part) for part in path)
    return Mistake(file=file, item=item, field=field, what=what.removeprefix("Value error, "))


def _across(parsed: Mapping[str, SuiteFile]) -> list[Mistake]:
    """What only shows over all files: an id used twice, files of two suites."""
    mistakes, seen = [], dict[str, str]()
    names = {part.suite for part in parsed.values()}
    for file, part in parsed.items():
        if len(names) > 1:
            told = f"{part.suite!r}, but files that run together are of one suite: {', '.join(sorted(names))}"
            mistakes.append(Mistake(file=file, item="", field="suite", what=told))
        for item in part.items:
            if item.id in seen:
                mistakes.append(
                    Mistake(file=file, item=item.id, field="id", what=f"is taken already in {seen[item.id]}")
                )
            seen.setdefault(item.id, file)
    return mistakes


def _version(prompts: Sequence[Prompt]) -> str:
    """12 hex digits over everything that is asked and expected, in order."""
    whole = json.dumps([asdict(prompt) for prompt in prompts], ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(whole.encode()).hexdigest()[:12]
