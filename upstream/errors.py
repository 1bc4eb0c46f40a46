"""What can go wrong while speaking to a model.

UpstreamError            carries the Fault, which answers whose and what next (base/faults.py)
├── ConnectFailed        nothing was sent
├── TimedOut             connect | first_text | idle | total
├── Refused(status)      429 and 5xx, and error objects under status 200
├── Forbidden(status)    401 402 403 404: our key or model name
├── Rejected(status)     400 413 422: the caller's request; context too long has its own fault
├── Garbled              not the promised protocol
└── Broken               the reply ended before its end

Foreign exceptions are mapped here and nowhere else; never by message text.
"""

import asyncio
import ssl
from collections.abc import Mapping
from typing import Any

import httpx

from base.errors import Next, PointsmanError, Whose
from base.faults import Fault


class UpstreamError(PointsmanError):
    """One failed conversation. `detail` is for people and logs: never a secret.

    `told`: `{"error": {...}}` for the caller, where the fault is in the caller's own request.
    """

    def __init__(
        self,
        fault: Fault,
        detail: str = "",
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
        told: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(detail or fault.value)
        self.fault = fault
        self.detail = detail
        self.upstream_status = status
        self.retry_after_s = retry_after_s
        self.told = told
        self.whose: Whose = fault.whose
        self.next: Next = fault.next
        self.code = fault.value
        self.status = 502


class ConnectFailed(UpstreamError):
    pass


class TimedOut(UpstreamError):
    pass


class Refused(UpstreamError):
    pass


class Forbidden(UpstreamError):
    pass


class Rejected(UpstreamError):
    pass


class Garbled(UpstreamError):
    pass


class Broken(UpstreamError):
    pass


FOREIGN: Mapping[type[BaseException], tuple[type[UpstreamError], Fault]] = {
    httpx.ConnectTimeout: (TimedOut, Fault.TIMEOUT_CONNECT),
    # Waiting for a free connection is waiting to connect: nothing was sent.
    httpx.PoolTimeout: (TimedOut, Fault.TIMEOUT_CONNECT),
    httpx.ReadTimeout: (TimedOut, Fault.TIMEOUT_IDLE),
    httpx.WriteTimeout: (TimedOut, Fault.TIMEOUT_IDLE),
    httpx.TimeoutException: (TimedOut, Fault.TIMEOUT_TOTAL),
    httpx.ConnectError: (ConnectFailed, Fault.CONNECT_FAILED),
    httpx.ProxyError: (ConnectFailed, Fault.CONNECT_FAILED),
    httpx.UnsupportedProtocol: (ConnectFailed, Fault.CONNECT_FAILED),
    httpx.InvalidURL: (ConnectFailed, Fault.CONNECT_FAILED),
    httpx.ReadError: (Broken, Fault.BROKEN_STREAM),
    httpx.WriteError: (Broken, Fault.BROKEN_STREAM),
    httpx.CloseError: (Broken, Fault.BROKEN_STREAM),
    httpx.NetworkError: (Broken, Fault.BROKEN_STREAM),
    # A peer that closes in the middle of a body: h11 and httptools both call that a protocol error.
    httpx.RemoteProtocolError: (Broken, Fault.BROKEN_STREAM),
    httpx.LocalProtocolError: (Garbled, Fault.GARBLED_PROTOCOL),
    httpx.ProtocolError: (Garbled, Fault.GARBLED_PROTOCOL),
    httpx.DecodingError: (Garbled, Fault.GARBLED_PROTOCOL),
    httpx.TooManyRedirects: (Garbled, Fault.GARBLED_PROTOCOL),
    httpx.TransportError: (Broken, Fault.BROKEN_STREAM),
    httpx.RequestError: (Broken, Fault.BROKEN_STREAM),
    httpx.HTTPStatusError: (Garbled, Fault.GARBLED_PROTOCOL),
    httpx.HTTPError: (Broken, Fault.BROKEN_STREAM),
    httpx.StreamClosed: (Broken, Fault.BROKEN_STREAM),
    httpx.StreamConsumed: (Broken, Fault.BROKEN_STREAM),
    httpx.StreamError: (Broken, Fault.BROKEN_STREAM),
    httpx.ResponseNotRead: (Broken, Fault.BROKEN_STREAM),
    httpx.RequestNotRead: (Garbled, Fault.GARBLED_PROTOCOL),
    httpx.CookieConflict: (Garbled, Fault.GARBLED_PROTOCOL),
    # Raised by asyncio under a transport of ours or of a test.
    asyncio.IncompleteReadError: (Broken, Fault.BROKEN_STREAM),
    ConnectionRefusedError: (ConnectFailed, Fault.CONNECT_FAILED),
    ssl.SSLError: (ConnectFailed, Fault.CONNECT_FAILED),
    ConnectionError: (Broken, Fault.BROKEN_STREAM),
    OSError: (Broken, Fault.BROKEN_STREAM),
}
"""Every foreign class we may meet; the most specific class of an exception's ancestry wins."""

CAUGHT: tuple[type[BaseException], ...] = tuple(FOREIGN)


def mapped(error: BaseException) -> UpstreamError:
    """Our error for a foreign one, by its nearest listed ancestor. The detail names the class, never the address or key."""
    for ancestor in type(error).__mro__:
        if ancestor in FOREIGN:
            ours, fault = FOREIGN[ancestor]
            return ours(fault, type(error).__name__)
    raise TypeError(f"not a foreign exception: {type(error).__name__}")


TOO_LONG_CODES = frozenset(
    {
        "context_length_exceeded",  # OpenAI and most who follow it
        "exceed_context_size_error",  # llama.cpp
        "string_above_max_length",
        "model_max_prompt_tokens_exceeded",
        "context_window_exceeded",
        "max_context_length_exceeded",
        "request_too_large",  # Anthropic
    }
)


CALLER_CODES = frozenset({"invalid_request_error", "BadRequestError", "InvalidParameter"})
"""OpenAI's, vLLM's and DashScope's words for a request that is wrong in itself."""
OURS_CODES = frozenset({"model_not_found", "invalid_api_key", "insufficient_quota", "authentication_error"})
BUSY_CODES = frozenset({"rate_limit_exceeded", "rate_limit_error", "Throttling"})


def refusal(status: int, body: Any, retry_after: str | None) -> UpstreamError:
    """Our error for a reply with an error status; `body` is the decoded JSON or None. Decided by status and code field."""
    codes = error_codes(body)
    detail = f"HTTP {status}" + (f" {codes[0]}" if codes else "")
    if status in (401, 402, 403, 404):
        return Forbidden(Fault.FORBIDDEN, detail, status=status)
    if status == 429:
        return Refused(Fault.RATE_LIMITED, detail, status=status, retry_after_s=seconds(retry_after))
    if status in (400, 413, 422):
        long = not TOO_LONG_CODES.isdisjoint(codes)
        fault = Fault.CONTEXT_TOO_LONG if long else Fault.REJECTED
        return Rejected(fault, detail, status=status, told=error_told(body))
    if status >= 500 and (code_fault := _by_code(codes)) in (Fault.REJECTED, Fault.CONTEXT_TOO_LONG):
        # Gateways recast a caller's mistake as 500; one client's mistakes must not cost the model its place.
        return Rejected(code_fault, detail, status=status, told=error_told(body))
    if status >= 500 or status == 408:
        return Refused(Fault.SERVER_ERROR, detail, status=status, retry_after_s=seconds(retry_after))
    return Garbled(Fault.GARBLED_PROTOCOL, detail, status=status)


def refusal_under_success(body: Any) -> UpstreamError:
    """Our error for an error object under a status of success: by its own number or word, else a server error."""
    inner = body.get("error") if isinstance(body, dict) else None
    holders = [h for h in (inner, body) if isinstance(h, dict)]
    numbers = [n for h in holders for k in ("code", "status") if (n := _status(h.get(k))) is not None]
    if numbers:
        return refusal(numbers[0], body, None)
    fault = _by_code(error_codes(body))
    if fault in (Fault.REJECTED, Fault.CONTEXT_TOO_LONG):
        return Rejected(fault, "error object under success", told=error_told(body))
    return Refused(fault or Fault.SERVER_ERROR, "error object under success")


def _status(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) == 3:
        value = int(value)
    return value if isinstance(value, int) and 400 <= value < 600 else None


def _by_code(codes: tuple[str, ...]) -> Fault | None:
    """What a code word says by itself; ours and the busy ones before `invalid_request_error`, which often stands beside."""
    for known, fault in (
        (OURS_CODES, Fault.FORBIDDEN),
        (BUSY_CODES, Fault.RATE_LIMITED),
        (TOO_LONG_CODES, Fault.CONTEXT_TOO_LONG),
        (CALLER_CODES, Fault.REJECTED),
    ):
        if not known.isdisjoint(codes):
            return fault
    return None


def error_codes(body: Any) -> tuple[str, ...]:
    """The short code words of an error body, wherever the vendor puts them; sentences are left out."""
    found = []
    inner = body.get("error") if isinstance(body, dict) else None
    for holder in (inner, body):
        if isinstance(holder, dict):
            found += [
                v for k in ("code", "type") if isinstance(v := holder.get(k), str) and v.isascii() and len(v) <= 64
            ]
    return tuple(found)


def error_told(body: Any) -> dict[str, Any] | None:
    """An error body in OpenAI's shape, whichever shape the vendor chose; None where it says nothing."""
    inner = body.get("error") if isinstance(body, dict) else None
    if isinstance(inner, dict) and inner:
        return {"error": inner}
    said = inner or body.get("message") or body.get("detail") if isinstance(body, dict) else None
    if not isinstance(said, str):
        return None
    codes = error_codes(body)
    return {
        "error": {
            "message": said,
            "type": "invalid_request_error",
            "param": None,
            "code": codes[0] if codes else None,
        }
    }


def seconds(value: str | None) -> float | None:
    """`Retry-After` in seconds; None for absent, negative or a date (vendors of models send seconds)."""
    try:
        parsed = float(value) if value else -1.0
    except ValueError:
        return None
    return parsed if 0 <= parsed < 1e6 else None
