"""Takes a wrong value out of the settings' data, so that the rest can still be checked against itself.

What stands in the place of a wrong part is harmless and never served: a file with a mistake does not start.
"""

from typing import Any

from pointsman.yaml_lines import Path


def stand_in() -> dict[str, Any]:
    """A model that nobody asks."""
    return {"endpoints": [{"base_url": "http://stand-in.invalid/v1", "model": "stand-in"}]}


def mended(data: Any, path: Path) -> bool:
    """Mend `data` in place at `path`; False: nothing could be done.

    A value goes, so that its default stands in. Where none may (a key that is missing, an entry of a list), a model or a
    candidate that needs it gets a stand-in, and of all else the smallest part around it goes.
    """
    match path:
        case ("models", name) if data["models"].get(name) != stand_in():
            data["models"][name] = stand_in()
            return True
        case ("routes", name, "candidates"):
            data["routes"][name]["candidates"] = [{"model": _any_model(data)}]
            return True
    if _popped(data, path):
        return True
    match path:
        case ("models", name, *_) if data["models"].get(name) != stand_in():
            data["models"][name] = stand_in()
            return True
        case ("routes", name, "candidates", int(at), *_):
            return _candidate(data, str(name), at)
    return any(_popped(data, path[:end]) for end in range(len(path) - 1, 0, -1))


def _candidate(data: Any, route: str, at: int) -> bool:
    candidates = data["routes"][route]["candidates"]
    if not isinstance(candidates, list) or at >= len(candidates):
        return False
    named = candidates[at].get("model") if isinstance(candidates[at], dict) else None
    candidates[at] = {"model": named if isinstance(named, str) else _any_model(data)}
    return True


def _any_model(data: Any) -> str:
    models = data.get("models")
    return next(iter(models), "none") if isinstance(models, dict) else "none"


def _popped(data: Any, path: Path) -> bool:
    """Take out what is at `path`; False: there is nothing, or it is an entry of a list."""
    for part in path[:-1]:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return False
    if not isinstance(data, dict) or path[-1] not in data:
        return False
    del data[path[-1]]
    return True
