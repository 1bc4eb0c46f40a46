"""The figures that were measured, read by name: what is missing is None, and shown as "not measured".

Raw results lie in bench/results (one run's, not in the repository); what the pages show is kept in bench/measured.json.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.processes import HERE
from bench.subjects import AS_SET_UP

MEASURED = HERE / "measured.json"
Kept = dict[str, Any]


class Figures:
    """`kept`: by subject as bench/run.py writes them, and the other scripts' lists under `scale`, `window`, `rows`, `profile`."""

    def __init__(self, kept: Mapping[str, Any]) -> None:
        self.kept = kept

    def has(self, subject: str) -> bool:
        return "phases" in self.kept.get(subject, {})

    def of(self, subject: str, load: str, *path: str, phase: str = AS_SET_UP) -> float | None:
        """One figure: `of("nginx", "whole c32", "cpu_us")`."""
        here: Any = self.kept.get(subject, {}).get("phases", {}).get(str(phase), {}).get(load)
        for name in path:
            here = here.get(name) if isinstance(here, dict) else None
        return float(here) if isinstance(here, int | float) else None

    def request_us(self, subject: str, load: str = "whole c32", phase: str = AS_SET_UP) -> float | None:
        return self.of(subject, load, "cpu_us", phase=phase)

    def event_us(self, subject: str, phase: str = AS_SET_UP) -> float | None:
        return self.of(subject, "paced", "event_us", phase=phase)

    def start_us(self, subject: str, phase: str = AS_SET_UP) -> float | None:
        return self.of(subject, "paced", "start_us", phase=phase)

    def added_us(self, subject: str, load: str, name: str, phase: str = AS_SET_UP) -> float | None:
        """Over going direct, in the same run."""
        here, direct = self.of(subject, load, name, phase=phase), self.of("direct", load, name)
        return None if here is None or direct is None else here - direct

    def resident_mb(self, subject: str, when: str = "rss_idle_mb") -> float | None:
        """Of the gateway; a Valkey of its own is not counted with it."""
        found = self.kept.get(subject, {}).get(when)
        return sum(mb for name, mb in found.items() if "valkey" not in name) if found else None

    def errors(self, subject: str) -> int:
        """Requests that went wrong in any load of any phase."""
        rows = [row for phase in self.kept.get(subject, {}).get("phases", {}).values() for row in phase.values()]
        return sum(row.get("bad_status", 0) + row.get("bad_socket", 0) + row.get("errors", 0) for row in rows)

    def foreign(self, subject: str) -> float:
        """Cores that others used meanwhile, at most in any load."""
        rows = [row for phase in self.kept.get(subject, {}).get("phases", {}).values() for row in phase.values()]
        return max((row.get("foreign") or row.get("long", {}).get("foreign") or 0.0 for row in rows), default=0.0)


def load(folder: Path | None) -> Kept:
    """What lies in `folder`, over what was kept before: a quick run renews its own subjects only."""
    kept: Kept = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    for file in sorted(folder.glob("*.json")) if folder else ():
        row = json.loads(file.read_text())
        kept[row["name"] if isinstance(row, dict) and "name" in row else file.stem] = row
    return kept


def keep(kept: Kept) -> None:
    MEASURED.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n")


def shown(value: float | None, digits: int = 0) -> str:
    return "not measured" if value is None else f"{value:,.{digits}f}"


def ratio(a: float | None, b: float | None) -> float | None:
    return None if a is None or not b else a / b
