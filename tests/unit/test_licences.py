"""What Pointsman is shipped with may be shipped with it: the licences of every runtime dependency, and of theirs."""

import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement

FREE = re.compile(
    r"apache|\bmit\b|bsd|isc|mpl|mozilla public|python software foundation|psf|zlib|cc0|unlicense|public domain", re.I
)
COPYLEFT = re.compile(r"\bA?GPL|affero|sspl|commons clause|\bbusl?\b", re.I)


def closure(name: str, seen: dict[str, Distribution]) -> dict[str, Distribution]:
    """`name` and everything it needs at run time on this machine."""
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return seen
    key = found.metadata["Name"].lower()
    if key in seen:
        return seen
    seen[key] = found
    for line in found.requires or []:
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            closure(requirement.name, seen)
    return seen


def licence(found: Distribution) -> str:
    told = [found.metadata.get("License-Expression") or "", found.metadata.get("License") or ""]
    told += [line for line in found.metadata.get_all("Classifier") or [] if line.startswith("License")]
    return " ".join(part.splitlines()[0] for part in told if part)


def test_every_runtime_dependency_has_a_licence_that_lets_us_ship_it() -> None:
    shipped = closure("pointsman", {})
    assert len(shipped) > 20
    told = {name: licence(found) for name, found in shipped.items()}
    assert {name: text for name, text in told.items() if not FREE.search(text) or COPYLEFT.search(text)} == {}
