"""`pointsman simulate FILE`: what would the breaker do with this traffic? Local, needs no service.

Reads a scenario (format: docs/scenarios.md) and plays it on the pure machine; the timeline goes to stdout.
Exit code 0; 1 when the file says what to expect and something else happened; 2 when the file cannot be played.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from pydantic import ValidationError

from breaker.levels import Level
from breaker.policy import BreakerPolicy
from breaker.scenario import Scenario, minute_of
from breaker.simulation import Run, ScenarioError, Step, run
from breaker.story import as_expected, told_plainly
from console.why import told
from console.words import Words, load
from pointsman.cli.words import LanguageOption
from pointsman.cli.words import language as language_of
from pointsman.mistakes import hint, mistakes_in
from pointsman.yaml_lines import Mistake, SettingsError, read

BAD_INPUT = 2
BAR_CHARS = 40
BAR_FULL = 0.40  # the right edge of the bar; what lies above it is marked
LEVELS = {
    Level.HEALTHY: "healthy",
    Level.WARN: "L1 warn",
    Level.REDUCED: "L2 reduced",
    Level.OPEN: "L3 open",
    Level.RECOVERING: "recovering",
}


def simulate(
    file: Annotated[Path, typer.Argument(help="A scenario file; tests/scenarios/ holds many.")],
    changes: Annotated[list[str] | None, typer.Option("--set", help="name=value of the breaker's policy.")] = None,
    every: Annotated[int, typer.Option(min=1, help="Print one line per so many minutes, and each change.")] = 1,
    language: str = LanguageOption,
) -> None:
    """Play a scenario and print its timeline: the ratios against the three lines, the level and the share."""
    words = load()[language_of(language)]
    try:
        scenario = read_scenario(file)
        played = run(scenario, dict(_change(text) for text in changes or ()))
    except SettingsError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(BAD_INPUT) from error
    except OSError as error:
        typer.echo(f"{file}: {error.strerror}", err=True)
        raise typer.Exit(BAD_INPUT) from error
    except ScenarioError as error:
        typer.echo(f"{file}: {error}", err=True)
        raise typer.Exit(BAD_INPUT) from error
    if scenario.title:
        typer.echo(scenario.title)
    for model in scenario.models:
        if len(scenario.models) > 1:
            typer.echo(f"\n{model}")
        for line in timeline(played, model, every):
            typer.echo(line)
    for line in _told(scenario, played, words):
        typer.echo(line)
    # With other lines than the file's own, its expectation says nothing.
    if changes or scenario.expect is None or told_plainly(scenario, played.told) == as_expected(scenario):
        return
    typer.echo("\nnot what the file expects:", err=True)
    for expected in scenario.expect:
        typer.echo(f"  {expected.model_dump_json(by_alias=True, exclude_defaults=True)}", err=True)
    raise typer.Exit(1)


def timeline(played: Run, model: str, every: int = 1) -> Iterator[str]:
    """One model's lines for people: a header, then a line per `every` minutes and per change of level."""
    policy = played.policy
    lines = (policy.warn_ratio, policy.reduce_ratio, policy.open_ratio)
    marks = {min(BAR_CHARS - 1, round(line / BAR_FULL * BAR_CHARS)) for line in lines}
    names = (f"10m≥{lines[0]:.0%}", f"30m≥{lines[1]:.0%}", f"15m≥{lines[2]:.0%}")
    yield f"{'min':>4} {names[0]:>8} {names[1]:>8} {names[2]:>8}  {f'0–{BAR_FULL:.0%}':<{BAR_CHARS}}  {'level':<11} share"
    before: Level | None = None
    for step in played.models[model].steps:
        if step.minute % every == 0 or step.level is not before:
            yield _line(step, marks)
        before = step.level


def _told(scenario: Scenario, played: Run, words: Words) -> Iterator[str]:
    """The transitions, the conditions, and what each model waits for."""
    several = len(scenario.models) > 1
    yield ""
    for moved in played.told:
        reasons = ", ".join(reason.value for reason in moved.reasons)
        would = "" if moved.enforced else " (would, not enforced)"
        who = f"{moved.model}: " if several else ""
        yield f"minute {minute_of(moved.at)}: {who}{moved.from_level} → {moved.to_level}: {reasons}{would}"
    if not played.told:
        yield "no change"
    for kind, spans in played.conditions.items():
        yield f"{kind}: minutes {', '.join(spans)}"
    for model in scenario.models:
        who = f"{model}: " if several else ""
        yield from (f"next: {who}{line}" for line in told(played.models[model].explanation, words))


def _line(step: Step, marks: set[int]) -> str:
    figures = " ".join(f"{'–' if ratio is None else f'{ratio:.1%}':>8}" for ratio in step.ratios)
    highest = max((ratio for ratio in step.ratios if ratio is not None), default=0.0)
    filled = round(min(highest, BAR_FULL) / BAR_FULL * BAR_CHARS)
    bar = "".join("│" if at in marks else "█" if at < filled else "·" for at in range(BAR_CHARS))
    over = "›" if highest > BAR_FULL else " "
    level = LEVELS[step.level] + ("*" if step.effective is not step.level else "")
    return f"{step.minute:>4} {figures}  {bar}{over} {level:<11} {step.share:>4.0%}"


def read_scenario(file: Path) -> Scenario:
    """The scenario in `file`. Raises SettingsError, which names each mistake with its line; OSError."""
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise SettingsError([Mistake(line=0, where="", what="is not UTF-8 text")], str(file)) from error
    data, lines = read(text, {}, str(file))
    if not isinstance(data, dict):
        raise SettingsError([Mistake(line=1, where="", what="must be a mapping: until, traffic, …")], str(file))
    try:
        return Scenario.model_validate(data)
    except ValidationError as error:
        found = mistakes_in(map(dict, error.errors(include_url=False)), lines, Scenario)
        raise SettingsError(found, str(file)) from None


def _change(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ScenarioError(f"--set {text}: write name=value")
    if name not in BreakerPolicy.model_fields:
        raise ScenarioError(f"--set {text}: unknown name {name!r}{hint(name, BreakerPolicy.model_fields)}")
    try:
        return name, yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise ScenarioError(f"--set {text}: the value cannot be read") from error
