"""What is measured, as a table: who stands between load and models, in which surroundings, and under which loads.

A subject runs its loads once as it is (phase `as set up`), then once after each of its acts, in the same process: so
that "Redis down" is compared with the very process whose Redis was there a moment ago.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from bench.loads import LENGTHS, LOADS, SIZES_KB


class Act(StrEnum):
    """Done to a running gateway between two phases; the name is that of the phase after it."""

    BYPASS = "scoring off"  # the operators' switch: replies are not judged at all
    REDIS_DOWN = "Redis down"
    SQL_DOWN = "SQL down"


AS_SET_UP = "as set up"
EMBEDDED, OWN = "embedded", "own"
SQLITE, POSTGRES = "SQLite", "PostgreSQL"


@dataclass(frozen=True, kw_only=True)
class Subject:
    """`gateway`: `direct` (none), `pointsman`, or an entry of gateways.toml."""

    name: str
    gateway: str = "pointsman"
    loads: tuple[str, ...]
    acts: tuple[Act, ...] = ()
    models: int = 2
    """In each of the two routes; a weight of 3 and then ones."""
    workers: int = 1
    redis: str = EMBEDDED
    """`embedded`: none is configured, a Valkey is started by the router and counted with it; `own`: one beside it."""
    sql: str = SQLITE
    stretch: float = 1.0
    """How much longer than others: a slow gateway's slices must hold many more requests than are under way at their end."""
    quick: bool = False
    """Also of `make bench`."""

    @property
    def seconds(self) -> float:
        """About how long it takes: 15 s to start, warm up and stop."""
        loads = sum(LOADS[load].seconds for load in self.loads) * self.stretch
        return 15 + loads * (1 + len(self.acts)) + 8 * len(self.acts)


COMMON = ("whole c1", "whole c32", "whole c128", "first text", "paced", "busy", "burst")
FEW = ("whole c1", "whole c32", "first text", "paced")
SUBJECTS: tuple[Subject, ...] = (
    Subject(
        name="direct", gateway="direct", quick=True,
        loads=tuple(load for load in (*COMMON, "structured c1") if LOADS[load].direct),
    ),
    Subject(name="nginx", gateway="nginx", loads=COMMON, quick=True),
    Subject(name="tensorzero", gateway="tensorzero", loads=COMMON),
    Subject(name="litellm", gateway="litellm", loads=COMMON, stretch=2.0),
    Subject(name="pointsman", loads=(*COMMON, "structured c1", "structured c32"), quick=True),
    Subject(name="scoring", loads=(*FEW, "structured c32"), acts=(Act.BYPASS,), redis=OWN, quick=True),
    Subject(name="redis", loads=FEW, acts=(Act.REDIS_DOWN,), redis=OWN, quick=True),
    Subject(name="sql", loads=FEW, acts=(Act.SQL_DOWN,), redis=OWN, sql=POSTGRES),
    Subject(name="2 workers", loads=FEW, workers=2, redis=OWN),
    Subject(name="1 model", loads=FEW, models=1, redis=OWN),
    Subject(name="10 models", loads=FEW, models=10, redis=OWN),
    Subject(name="100 models", loads=FEW, models=100, redis=OWN),
    Subject(
        name="lengths", redis=OWN,
        loads=(*(f"whole {kb} KB" for kb in SIZES_KB), *(f"stream of {n}" for n in LENGTHS)),
    ),
    Subject(name="memory", loads=("100,000 requests",), redis=OWN),
)  # fmt: skip


def chosen(names: Sequence[str], *, full: bool) -> tuple[Subject, ...]:
    """By name, else all or the quick ones. Raises ValueError for a name that is not in the table."""
    known = {subject.name: subject for subject in SUBJECTS}
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"not in the table of bench/subjects.py: {', '.join(unknown)}; there are {', '.join(known)}")
    return tuple(known[name] for name in names) or tuple(s for s in SUBJECTS if full or s.quick)
