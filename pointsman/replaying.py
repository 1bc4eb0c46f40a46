"""Configurations as rules for a replay, and stored replies from files: what the commands `replay` and `calibrate` read.

Raises SettingsError for a configuration with mistakes, OSError for a file that cannot be read.
"""

import gzip
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path as File
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import Field, ValidationError

from breaker.policy import BreakerPolicy
from detector.policy import GatePolicy
from monitor.replay.records import BadLine, Stored, read_lines
from monitor.replay.rules import Rules
from pointsman.mistakes import mistakes_in
from pointsman.settings import Part, ProfileSettings, Settings, SettingsError, load
from pointsman.yaml_lines import Mistake, read


class OtherRules(Part):
    """A file that only holds what a replay may change; a whole pointsman.yaml will do as well."""

    gate: GatePolicy = GatePolicy()
    breaker: BreakerPolicy = BreakerPolicy()
    profiles: dict[str, ProfileSettings] = Field(default_factory=dict)
    scenes: dict[str, str] = Field(default_factory=dict)
    """Profile by scene."""


def rules_of(settings: Settings) -> Rules:
    """The rules in force under a whole configuration."""
    named = {route.scene: route.profile for route in settings.routes.values() if route.profile is not None}
    return Rules(
        gate=settings.gate,
        breaker=settings.breaker,
        profiles={name: own.profile(name) for name, own in settings.profiles.items()},
        scenes=named,
    )


def read_rules(file: File, environment: Mapping[str, str]) -> Rules:
    """The rules in `file`: a pointsman.yaml, or only its parts gate, breaker, profiles. Raises SettingsError, OSError."""
    text = file.read_text(encoding="utf-8-sig")
    data, lines = read(text, environment, str(file))
    if not isinstance(data, dict):
        raise SettingsError([Mistake(line=1, where="", what="must be a mapping: gate, breaker, profiles")], str(file))
    if "models" in data:
        return rules_of(load(file, environment))
    try:
        other = OtherRules.model_validate(data)
    except ValidationError as error:
        found = mistakes_in(map(dict, error.errors(include_url=False)), lines, OtherRules)
        raise SettingsError(found, str(file)) from None
    return Rules(
        gate=other.gate,
        breaker=other.breaker,
        profiles={name: own.profile(name) for name, own in other.profiles.items()},
        scenes=other.scenes,
    )


def read_replies(files: Sequence[File]) -> Iterator[tuple[File, Stored | BadLine]]:
    """The replies of JSON lines files, gzip by the file's name. Raises OSError, EOFError for a torn archive."""
    for file in files:
        opened: Any = gzip.open if file.suffix == ".gz" else open
        with opened(file, "rb") as lines:
            for reply in read_lines(lines):
                yield file, reply


def moment(text: str, zone: str, now_s: float) -> float:
    """`7d`, `36h`, `90m` ago; or a day or moment in the zone. Raises ValueError."""
    units = {"d": 86_400.0, "h": 3_600.0, "m": 60.0}
    if text[-1:] in units and text[:-1].replace(".", "", 1).isdigit():
        return now_s - float(text[:-1]) * units[text[-1]]
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is no moment: write 7d, 36h, 2026-01-31 or 2026-01-31T08:00") from None
    return (found if found.tzinfo else found.replace(tzinfo=ZoneInfo(zone))).timestamp()


def span(since: str | None, until: str | None, zone: str, now_s: float) -> tuple[float, float]:
    """From and to, in seconds since the epoch; a day given as the end is meant whole. Raises ValueError."""
    end = now_s if until is None else moment(until, zone, now_s)
    if until is not None and len(until) == len("2026-01-31"):
        end += timedelta(days=1).total_seconds()
    begin = moment(since or "1d", zone, now_s)
    if begin >= end:
        raise ValueError("--since is not before --until")
    return begin, end
