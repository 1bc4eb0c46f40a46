"""What the breaker would have done with these replies: the recorded minutes, played on the pure machine.

Pure. In: outcomes with moments and models.  Out: one run of breaker/simulation.py for each model.
After a trip the machine asks for probes; the replies recorded then stand in for them, four a minute at most, since in the
recording nobody had taken the model off the line.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from breaker.policy import BreakerPolicy
from breaker.scenario import Scenario
from breaker.simulation import Run, run
from monitor.replay.compare import Outcome

MOST_MINUTES = 10_000
"""About a week: the longest a scenario may be."""
FINE_MINUTES = 1_440
"""Longer stories are looked at once a minute instead of every 15 seconds."""
PROBES_A_MINUTE = {15: 4, 60: 1}
TAIL_MIN = 45
"""Minutes played on after the last reply, so that what it set off is seen to its end."""


class NotPlayable(ValueError):
    """The replies make no timeline; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """One model's run. `began_at`: the moment of minute 0, seconds since the epoch."""

    model: str
    began_at: float
    played: Run


def stories(outcomes: Iterable[Outcome], policy: BreakerPolicy, *, after: bool) -> list[Story]:
    """Play each model's minutes by the verdicts after (or before) the change. Raises NotPlayable."""
    timed = [one for one in outcomes if one.at is not None and one.model]
    if not timed:
        raise NotPlayable("no reply has both a moment (at) and a model: the breaker cannot be played")
    first = int(min(one.at or 0.0 for one in timed) // 60)
    until = int(max(one.at or 0.0 for one in timed) // 60) - first + TAIL_MIN
    if until > MOST_MINUTES:
        raise NotPlayable(f"the replies span {until:,} minutes; the breaker is played over {MOST_MINUTES:,} at most")
    told = []
    for model in sorted({one.model for one in timed}):
        rows = _minutes((one for one in timed if one.model == model), first, after)
        told.append(Story(model=model, began_at=first * 60.0, played=run(_scenario(model, rows, until, policy))))
    return told


def _minutes(outcomes: Iterable[Outcome], first: int, after: bool) -> Mapping[int, list[bool]]:
    """Verdicts by minute, in the order of time."""
    rows: dict[int, list[bool]] = {}
    for one in sorted(outcomes, key=lambda one: one.at or 0.0):
        rows.setdefault(int((one.at or 0.0) // 60) - first, []).append(one.after if after else one.before)
    return rows


def _scenario(model: str, rows: Mapping[int, list[bool]], until: int, policy: BreakerPolicy) -> Scenario:
    tick_s = 15 if until <= FINE_MINUTES else 60
    most = PROBES_A_MINUTE[tick_s]
    # As a scenario file would say it, so that it is checked like one.
    return Scenario.model_validate(
        {
            "until": until,
            "tick_s": tick_s,
            "models": [model],
            "policy": policy,
            "traffic": [{"minutes": minute, "n": len(bad), "k": sum(bad)} for minute, bad in rows.items()],
            "probes": [
                {"minute": minute, "results": "".join("b" if one else "c" for one in bad[:most]), "when_asked": True}
                for minute, bad in rows.items()
            ],
        }
    )
