"""Turns what pydantic found wrong with a file into mistakes with a line and a hint.

In:  pydantic's errors and where each path stands.  Out: Mistake.
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args

from pydantic import BaseModel

from base.wrong import wrong
from pointsman.yaml_lines import Lines, Mistake, Path, dotted

BOUNDS = frozenset({"greater_than", "greater_than_equal", "less_than", "less_than_equal"})


def mistakes_in(errors: Iterable[Mapping[str, Any]], lines: Lines, root: type[BaseModel]) -> list[Mistake]:
    """Pydantic's errors about a file whose whole is a `root`; one that tells of several things is as many mistakes."""
    return [found for error in errors for found in _mistakes(error, lines, root)]


def _mistakes(error: Mapping[str, Any], lines: Lines, root: type[BaseModel]) -> Iterator[Mistake]:
    path: Path = tuple(error["loc"])
    if error["type"] == "contradictions":
        for names, what in error["ctx"]["found"]:
            # Led to the field that the file sets; the others stand at their defaults.
            here = next((p for name in names if lines.stands(p := (*path, name))), (*path, names[0]))
            yield Mistake(line=lines.of(here), where=dotted(here), what=what)
    else:
        yield _mistake(error, path, lines, root)


def _mistake(error: Mapping[str, Any], path: Path, lines: Lines, root: type[BaseModel]) -> Mistake:
    if error["type"] == "extra_forbidden":
        what = f"unknown key{hint(str(path[-1]), _keys_at(path[:-1], root))}"
    else:
        what = wrong(error) + (_against(error["input"], path, root) if error["type"] in BOUNDS else "")
    return Mistake(line=lines.of(path), where=dotted(path), what=what)


def hint(word: str, known: Any) -> str:
    """`; did you mean x?` or the list of what is known, if short."""
    names = sorted(known)
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; known: {', '.join(names)}" if 0 < len(names) <= 12 else ""


def _against(value: object, path: Path, root: type[BaseModel]) -> str:
    """`; it is 25 (default 0.08)`: a number out of its bounds is no secret, and the default shows what is meant."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    around = _model_at(path[:-1], root)
    field = around.model_fields.get(str(path[-1])) if around is not None else None
    default = field.default if field is not None else None
    usual = f" (default {default:g})" if isinstance(default, int | float) and not isinstance(default, bool) else ""
    return f"; it is {value:g}{usual}"


def _keys_at(path: Path, root: type[BaseModel]) -> list[str]:
    """The keys that may stand at `path`."""
    here = _model_at(path, root)
    return [field.alias or name for name, field in here.model_fields.items()] if here is not None else []


def _model_at(path: Path, root: type[BaseModel]) -> type[BaseModel] | None:
    """The model of what stands at `path`, found by walking the models' fields."""
    here: type[BaseModel] | None = root
    rest = list(path)
    while rest and here is not None:
        field = here.model_fields.get(str(rest.pop(0)))
        if field is None:
            return None
        inner = _models_in(field.annotation)
        here = inner[0] if inner else None
        if rest and (isinstance(rest[0], int) or (here is not None and rest[0] not in here.model_fields)):
            rest.pop(0)  # the index of a list or the name of a mapping's entry
    return here


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for argument in get_args(annotation) for found in _models_in(argument)]
