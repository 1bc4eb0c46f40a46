"""Every number the telling goes by: waits, repeats, escalation, budgets.

In:  configuration (`alerts.policy`).  Out: a frozen policy; unknown keys refuse to load.
Source of the numbers: ALERTS.md (on-call behaviour, budget per robot, classes of result). `_s` are seconds.
"""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

SENDER_LEASE = "alert-sender"
"""Who holds it sends; routers see by it that a monitor is alive."""
Seconds = Annotated[float, Field(ge=0, le=7 * 86_400)]


class AlertPolicy(BaseModel):
    """The defaults are those of ALERTS.md."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    group_wait_s: Seconds = 30.0  # what belongs together comes together; a CRITICAL one does not wait
    group_interval_s: Seconds = 300.0  # between two messages of one group
    repeat_s: Annotated[float, Field(gt=0, le=7 * 86_400)] = 14_400.0  # still so, and nobody took it
    escalate_after_s: Annotated[float, Field(gt=0, le=86_400)] = 600.0  # unacknowledged; also between the steps
    budget_per_min: Annotated[int, Field(ge=1, le=100)] = 15  # messages per robot; WeCom and DingTalk take 20
    budget_reserved: Annotated[int, Field(ge=0, le=99)] = 5  # of them, for CRITICAL alone
    robot_retry_s: Annotated[float, Field(gt=0, le=86_400)] = 600.0  # how often a broken robot is tried again
    give_up_s: Annotated[float, Field(gt=0, le=7 * 86_400)] = 86_400.0  # a message this old helps nobody
    listed: Annotated[int, Field(ge=1, le=100)] = 10  # members named in one message; the rest are counted

    @model_validator(mode="after")
    def _some_left(self) -> Self:
        if self.budget_reserved >= self.budget_per_min:
            raise ValueError("alerts: budget_reserved must be less than budget_per_min, else nothing ordinary is told")
        return self
