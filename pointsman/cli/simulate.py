"""`pointsman simulate FILE`: what would the breaker do with this traffic? Local, needs no service.

Reads a scenario (format: docs/scenarios.md) and plays it on the pure machine; the timeline goes to stdout.
Exit code 0; 1 when the file says what to expect and something else happened; 2 when the file cannot be played.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from breaker.levels import Level
from breaker.simulation import Run, ScenarioError, Step, run, told_plainly

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
) -> None:
    """Play a scenario and print its timeline: the ratios against the three lines, the level and the share."""
    try:
        scenario = _scenario(file)
        played = run(scenario, dict(_change(text) for text in changes or ()))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ScenarioError) as error:
        typer.echo(f"pointsman simulate: {file}: {error}", err=True)
        raise typer.Exit(BAD_INPUT) from error
    if "title" in scenario:
        typer.echo(scenario["title"])
    for line in timeline(played, every):
        typer.echo(line)
    # With other lines than the file's own, its expectation says nothing.
    if changes or "expect" not in scenario or told_plainly(played.told) == scenario["expect"]:
        return
    typer.echo("\nnot what the file expects:", err=True)
    for expected in scenario["expect"]:
        typer.echo(f"  {expected}", err=True)
    raise typer.Exit(1)


def timeline(played: Run, every: int = 1) -> Iterator[str]:
    """Lines for people: a header, a line per `every` minutes and per change, the transitions, what comes next."""
    policy = played.policy
    lines = (policy.warn_ratio, policy.reduce_ratio, policy.open_ratio)
    marks = {min(BAR_CHARS - 1, round(line / BAR_FULL * BAR_CHARS)) for line in lines}
    names = (f"10m≥{lines[0]:.0%}", f"30m≥{lines[1]:.0%}", f"15m≥{lines[2]:.0%}")
    yield f"{'min':>4} {names[0]:>8} {names[1]:>8} {names[2]:>8}  {f'0–{BAR_FULL:.0%}':<{BAR_CHARS}}  {'level':<11} share"
    before: Level | None = None
    for step in played.steps:
        if step.minute % every == 0 or step.level is not before:
            yield _line(step, marks)
        before = step.level
    yield ""
    for moved in played.told:
        minute = int((moved.at - played.told[0].at) // 60) + told_plainly(played.told[:1])[0]["minute"]
        reasons = ", ".join(reason.value for reason in moved.reasons)
        would = "" if moved.enforced else " (would, not enforced)"
        yield f"minute {minute}: {moved.from_level} → {moved.to_level}: {reasons}{would}"
    if not played.told:
        yield "no change"
    yield from (f"next: {words}" for words in played.explanation.next_words)


def _line(step: Step, marks: set[int]) -> str:
    figures = " ".join(f"{'–' if ratio is None else f'{ratio:.1%}':>8}" for ratio in step.ratios)
    highest = max((ratio for ratio in step.ratios if ratio is not None), default=0.0)
    filled = round(min(highest, BAR_FULL) / BAR_FULL * BAR_CHARS)
    bar = "".join("│" if at in marks else "█" if at < filled else "·" for at in range(BAR_CHARS))
    over = "›" if highest > BAR_FULL else " "
    level = LEVELS[step.level] + ("*" if step.effective is not step.level else "")
    return f"{step.minute:>4} {figures}  {bar}{over} {level:<11} {step.share:>4.0%}"


def _scenario(file: Path) -> Mapping[str, Any]:
    kept = yaml.safe_load(file.read_text(encoding="utf-8"))
    if not isinstance(kept, dict):
        raise ScenarioError("is not a scenario: no names at its top level")
    return kept


def _change(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ScenarioError(f"--set {text}: write name=value")
    return name, yaml.safe_load(value)
