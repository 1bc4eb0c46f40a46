"""What to try next in one request, given what was tried: pure.

In:  the attempts so far (Tried), which other models may take traffic, the time left, the policy.
Out: a Rung (an attempt to make) or an End (what the client gets without another attempt).
Source of the order: SPEC 3.3 (primary, its spare, two other models, then the phrase).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from base.errors import Next
from base.faults import HARD, Fault
from router.policy import RouterPolicy
from router.topology import Model, Route, WhenDown
from upstream.attempt import Attempt

CALLERS_OWN = frozenset({Fault.REJECTED, Fault.CONTEXT_TOO_LONG})
OUT_OF_SERVICE = HARD | {Fault.RATE_LIMITED, Fault.FORBIDDEN}
MODEL_WIDE = frozenset({Fault.RATE_LIMITED, Fault.CONTEXT_TOO_LONG})
"""Faults that the same vendor's spare endpoint would only repeat."""


class Step(StrEnum):
    SPARE = "spare"  # the same model on its next endpoint
    AGAIN = "again"  # the same endpoint once more, with a changed call
    SWITCH = "switch"  # another model, to be drawn
    END = "end"


class End(StrEnum):
    SERVED = "served"  # hand on the last attempt's reply
    PHRASE = "phrase"
    NO_USABLE_REPLY = "no_usable_reply"  # 502
    ALL_DOWN = "all_down"  # 503
    CALLER = "caller"  # the caller's own error, passed on


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One attempt and where it was made; `endpoint` is an index into the model's endpoints.

    `changed`: the fields in which its call differed from what the request would have been sent as.
    """

    model: str
    endpoint: int
    attempt: Attempt
    changed: tuple[str, ...] = ()


def switches(tried: Sequence[Tried]) -> int:
    """How often the model changed."""
    return sum(a.model != b.model for a, b in pairwise(tried))


def next_step(
    tried: Sequence[Tried],
    model: Model | None,
    *,
    others: bool,
    left_s: float,
    policy: RouterPolicy,
    splicing: bool = False,
) -> Step:
    """Return where to go after the last of `tried` (none yet: SWITCH draws the first).

    `model` is the last one tried; `others`: an untried model may take traffic; `left_s` of the deadline, seconds;
    `splicing`: the last call asked for the rest of a reply already begun, so its words were ours, not the caller's.
    """
    if not tried or model is None:
        return Step.SWITCH if others else Step.END
    last = tried[-1]
    fault = last.attempt.fault
    ours = splicing and fault in CALLERS_OWN
    if fault is None or (fault.next is Next.STOP and not ours):
        return Step.END
    if len(tried) >= policy.max_attempts or left_s < policy.min_attempt_s:
        return Step.END
    can_switch = others and switches(tried) < policy.max_switches
    here = [t for t in tried if t.model == last.model]
    if fault is Fault.INVALID_FORMAT and sum(t.attempt.fault is fault for t in here) == 1:
        return Step.AGAIN
    has_spare = last.endpoint + 1 < len(model.endpoints) and fault not in MODEL_WIDE
    # One spare, on the first model only, so that two other models still fit into four attempts;
    # where there is no other model, every spare is worth its attempt.
    if has_spare and (not can_switch or (len(here) == 1 and len(tried) == 1)):
        return Step.SPARE
    return Step.SWITCH if can_switch else Step.END


def end_of(tried: Sequence[Tried], route: Route, *, fallback_allowed: bool) -> End:
    """Return what the client gets when no rung is left."""
    faults = [t.attempt.fault for t in tried]
    if faults:
        last = faults[-1]
        if last is None or (last.next is Next.STOP and last not in CALLERS_OWN):
            return End.SERVED
        if last is Fault.REJECTED or all(f in CALLERS_OWN for f in faults):
            return End.CALLER
    phrase = fallback_allowed and route.phrases
    if not replied(tried):
        return End.PHRASE if phrase and route.when_down is WhenDown.PHRASE else End.ALL_DOWN
    return End.PHRASE if phrase else End.NO_USABLE_REPLY


def replied(tried: Sequence[Tried]) -> bool:
    """Whether any model gave a reply, of whatever use: else none was asked, could be reached in time, or would take the call."""
    return any(t.attempt.fault not in OUT_OF_SERVICE | CALLERS_OWN for t in tried)


def root_fault(tried: Sequence[Tried]) -> Fault | None:
    """The fault that broke a stream: a continuation that was refused as a request must not hide it."""
    faults = [t.attempt.fault for t in tried]
    return next((f for f in reversed(faults) if f not in CALLERS_OWN), faults[-1] if faults else None)


def soft_code(tried: Sequence[Tried]) -> str:
    """The `code` of a 502: the last soft fault's own word."""
    soft = [t.attempt.fault for t in tried if t.attempt.fault not in OUT_OF_SERVICE and t.attempt.fault is not None]
    return soft[-1].value if soft else Fault.EMPTY.value
