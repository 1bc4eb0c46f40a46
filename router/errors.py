"""What can go wrong between a client's request and its answer, in OpenAI's error shape.

RouterError              whose: CALLER  next: STOP
├── BadRequest           400 invalid_request: a field is wrong; `param` names it
├── Unauthorized         401 invalid_api_key
├── RouteForbidden       403 route_forbidden: the key is good, the route is not its own
├── UnknownRoute         404 model_not_found
├── TooLarge             413 request_too_large
├── TooMany              429 rate_limit_exceeded | too_many_requests
├── BadFeedback          422 invalid_feedback
├── SupportForbidden     403 support_forbidden: only a support desk's key may do that
├── UnknownRequest       404 request_not_found: feedback on a request that is not the app's
├── FeedbackExists       409 feedback_exists: one word per person and reply
├── StoreGone            503 store_unavailable.           whose: OURS
├── NotOffered           501 not_implemented
├── Internal             500 internal_error.               whose: OURS
├── ShuttingDown         503 shutting_down.                whose: OURS
├── NoUsableReply        502 code of the last soft fault.  whose: MODEL; `attempts` lists what was tried
└── AllModelsDown        503 all_models_unavailable.       whose: MODEL; `retry_after_s` when the next may return
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from base.errors import PointsmanError, Whose


class RouterError(PointsmanError):
    """`message` is for the client's developer: it names the field and the fix."""

    whose = Whose.CALLER
    status = 400
    code = "invalid_request"
    type = "invalid_request_error"
    hopeless = False
    """Whether the same request can never be answered, although its status says that the fault is ours."""

    def __init__(
        self,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        retry_after_s: float | None = None,
        attempts: Sequence[Mapping[str, Any]] = (),
        headers: tuple[tuple[bytes, bytes], ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.code = code or type(self).code
        self.retry_after_s = retry_after_s
        self.attempts = tuple(attempts)
        self.headers = headers
        """Further headers of the answer, such as the app's limits."""

    def told_headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """What an answer with this error carries beside its body: `headers`, and when and whether to ask again."""
        out = self.headers
        if self.retry_after_s is not None:
            out += ((b"retry-after", str(max(1, math.ceil(self.retry_after_s))).encode()),)
            # The official SDKs prefer this one: they need not wait the rest of a whole second.
            out += ((b"retry-after-ms", str(max(1, math.ceil(self.retry_after_s * 1000))).encode()),)
        if self.hopeless:
            # The official SDKs ask again after every 5xx but for this word.
            out += ((b"x-should-retry", b"false"),)
        return out

    def shape(self) -> dict[str, Any]:
        """`{"error": {"message", "type", "param", "code"}}`, with `attempts` when models were tried."""
        error: dict[str, Any] = {
            "message": self.message,
            "type": self.type,
            "param": self.param,
            "code": self.code,
        }
        if self.attempts:
            error["attempts"] = list(self.attempts)
        return {"error": error}


class BadRequest(RouterError):
    pass


class Unauthorized(RouterError):
    status = 401
    code = "invalid_api_key"
    type = "authentication_error"


class RouteForbidden(RouterError):
    status = 403
    code = "route_forbidden"
    type = "permission_error"


class UnknownRoute(RouterError):
    status = 404
    code = "model_not_found"


class TooLarge(RouterError):
    status = 413
    code = "request_too_large"


class TooMany(RouterError):
    status = 429
    code = "rate_limit_exceeded"
    type = "rate_limit_error"


class BadFeedback(RouterError):
    status = 422
    code = "invalid_feedback"


class SupportForbidden(RouterError):
    status = 403
    code = "support_forbidden"
    type = "permission_error"


class UnknownRequest(RouterError):
    status = 404
    code = "request_not_found"


class FeedbackExists(RouterError):
    status = 409
    code = "feedback_exists"


class StoreGone(RouterError):
    """Something that cannot be done without the database, which does not answer."""

    whose = Whose.OURS
    status = 503
    code = "store_unavailable"
    type = "server_error"

    def __init__(self, message: str) -> None:
        super().__init__(message, retry_after_s=5.0)


class NotOffered(RouterError):
    status = 501
    code = "not_implemented"
    type = "not_implemented_error"
    hopeless = True


class Internal(RouterError):
    whose = Whose.OURS
    status = 500
    code = "internal_error"
    type = "server_error"


class ShuttingDown(RouterError):
    """The server is stopping and could not wait for this request any longer."""

    whose = Whose.OURS
    status = 503
    code = "shutting_down"
    type = "server_error"

    def __init__(self, message: str) -> None:
        super().__init__(message, retry_after_s=1.0)


class NoUsableReply(RouterError):
    whose = Whose.MODEL
    status = 502
    code = "repetition_detected"
    type = "upstream_error"


class AllModelsDown(RouterError):
    whose = Whose.MODEL
    status = 503
    code = "all_models_unavailable"
    type = "upstream_error"
