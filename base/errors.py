"""What every error of ours answers at birth.

PointsmanError           whose, next, code, status
├── router.errors        the caller's mistakes and the ladder's end
├── upstream.errors      what can go wrong while speaking to a model
└── store / settings     ours
"""

from enum import StrEnum


class Whose(StrEnum):
    CALLER = "caller"
    MODEL = "model"
    OURS = "ours"


class Next(StrEnum):
    STOP = "stop"
    NEXT_RUNG = "next_rung"


class PointsmanError(Exception):
    """Base of all our errors; the class attributes are the answer unless an instance says otherwise."""

    whose: Whose = Whose.OURS
    next: Next = Next.STOP
    code: str = "internal_error"
    status: int = 500
