"""Turns what pydantic found wrong with a file into mistakes with a line and a hint.

In:  pydantic's errors and where each path stands.  Out: Mistake.
"""

import difflib
from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel

from base.wrong import wrong
from pointsman.yaml_lines import Lines, Mistake, Path, dotted


def mistake(error: Mapping[str, Any], lines: Lines, root: type[BaseModel]) -> Mistake:
    """One of pydantic's errors about a file whose whole is a `root`."""
    path: Path = tuple(error["loc"])
    if error["type"] == "extra_forbidden":
        what = f"unknown key{hint(str(path[-1]), _keys_at(path[:-1], root))}"
    else:
        what = wrong(error)
    return Mistake(line=lines.of(path), where=dotted(path), what=what)


def hint(word: str, known: Any) -> str:
    """`; did you mean x?` or the list of what is known, if short."""
    names = sorted(known)
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; known: {', '.join(names)}" if 0 < len(names) <= 12 else ""


def _keys_at(path: Path, root: type[BaseModel]) -> list[str]:
    """The keys that may stand at `path`, found by walking the models' fields."""
    here: type[BaseModel] | None = root
    rest = list(path)
    while rest and here is not None:
        field = here.model_fields.get(str(rest.pop(0)))
        if field is None:
            return []
        inner = _models_in(field.annotation)
        here = inner[0] if inner else None
        if rest and (isinstance(rest[0], int) or (here is not None and rest[0] not in here.model_fields)):
            rest.pop(0)  # the index of a list or the name of a mapping's entry
    return [field.alias or name for name, field in here.model_fields.items()] if here is not None else []


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for argument in get_args(annotation) for found in _models_in(argument)]
