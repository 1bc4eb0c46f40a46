"""What is made of a finished attempt beyond what the upstream side says of it. Pure."""

from dataclasses import replace

from base.faults import Fault
from detector import Profile, score
from detector.verdict import Verdict
from router.topology import Model
from router.wire import ChatRequest
from upstream.attempt import Attempt


def observed(attempt: Attempt, request: ChatRequest, profile: str | Profile | None) -> Verdict | None:
    """The verdict on a reply that passed as it came (switch `observe`): for the log and the metrics, acted on by nobody."""
    if not attempt.text:
        return None
    return score(
        attempt.text,
        previous=request.previous,
        profile=profile,
        repetition_allowed=request.repetition_allowed,
    )


def as_vendor_means(attempt: Attempt, model: Model) -> Attempt:
    """A status by which this vendor tells of its own failures is a failure of the model, whatever its number says."""
    if attempt.fault is Fault.REJECTED and attempt.status in model.retry_statuses:
        return replace(attempt, fault=Fault.SERVER_ERROR)
    return attempt
