"""What the router is handed, and the small records that its parts pass to each other."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from random import Random

from base.clock import Clock
from detector import GatePolicy
from detector.checks import Validator
from fallback_phrases.catalog import Catalog
from router.auth import Keys
from router.choose import Shares
from router.ladder import Step
from router.limits import Limits
from router.load import Load
from router.metrics import RouterMetrics
from router.policy import RouterPolicy
from router.ports import BreakerGuard, CallLog, FeedbackLog, GraySplits, Models, Permit, Traces
from router.rests import Rests
from router.switchboard import Switchboard
from router.topology import Model, Topology


@dataclass(slots=True, kw_only=True)
class Deps:
    """What the router is handed. Not frozen: a reload swaps `topology` and `catalog` between two requests."""

    topology: Topology
    models: Models
    guard: BreakerGuard
    shares: Shares
    catalog: Catalog
    calls: CallLog
    clock: Clock
    rng: Random
    keys: Keys = field(default_factory=Keys)
    switches: Switchboard = field(default_factory=Switchboard)
    limits: Limits = field(default_factory=Limits)
    policy: RouterPolicy = field(default_factory=RouterPolicy)
    gate: GatePolicy = field(default_factory=GatePolicy)
    """By which replies are guarded; the models' side obeys the same."""
    metrics: RouterMetrics = field(default_factory=RouterMetrics)
    rests: Rests = field(default_factory=Rests)
    load: Load = field(default_factory=Load)
    gray: GraySplits | None = None
    """Releases under way; None: there are none in this process."""
    validators: tuple[Validator, ...] = ()
    """Plug-ins that look at whole replies last."""
    feedback: FeedbackLog | None = None
    """None: POST /v1/feedback is answered with 501."""
    exposition: Callable[[bytes, bool], Awaitable[bytes]] | None = None
    """From this worker's metrics to those of all workers of the machine; True: both in OpenMetrics. None: there is one worker."""
    traces: Traces | None = None
    """None: no spans are made."""
    ready: Callable[[], bool] = lambda: True


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """An attempt to make. `last`: nothing would follow, so first text may take as long as the deadline."""

    model: Model
    endpoint: int
    step: Step
    last: bool
    permit: Permit | None = None
    scope: AbstractContextManager[object] = field(default_factory=nullcontext)
    """Entered around the attempt: gives an unsettled permit back."""
    arm: str = ""
    """Of a gray release under way: the arm that the attempt counts under."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the client gets when it is sent in one piece."""

    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()
