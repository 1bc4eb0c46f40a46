"""A small decorator for whoever calls models from Python: try again on a bad value or an exception, then say why not.

    ask = Retry(2).on_return(lambda reply: bool(reply.text)).on_exceptions(ConnectionError)(ask)

Works on plain and on async functions. Total attempts = max_retries + 1; chance and sleeping are handed in.
"""

import functools
import inspect
import time
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, TypeVar, cast

from base.clock import SystemClock

_F = TypeVar("_F", bound=Callable[..., Any])


_MOST_DOUBLINGS = 1_000
"""Of one second, and still a number: with no cap (`math.inf`) waits grow on and on, but never beyond what a float holds."""


class BadReturn(Exception):
    """The validator said no to what a try returned."""


class MaxRetriesReachedError(Exception):
    """Every try failed; `causes` holds one exception per try, oldest first."""

    def __init__(self, causes: list[Exception]) -> None:
        super().__init__(f"{len(causes)} tries failed; the last: {causes[-1]!r}")
        self.causes = tuple(causes)


class Retry:
    """How often, and how long between: `min(2^k, cap_s) + U(0.1, jitter_s)` seconds before try k + 1. `cap_s` may be `math.inf`."""

    def __init__(
        self,
        max_retries: int,
        *,
        cap_s: float = 8.0,
        jitter_s: float = 1.0,
        rng: Random | None = None,
        sleep: Callable[[float], None] = time.sleep,
        async_sleep: Callable[[float], Awaitable[None]] | None = None,
    ) -> None:
        if max_retries < 0:
            raise ValueError("max_retries must be >= 0")
        if jitter_s < 0.1:
            raise ValueError("jitter_s must be >= 0.1: without it all clients return at the same moment")
        self._tries = max_retries + 1
        self._cap_s, self._jitter_s = cap_s, jitter_s
        self._rng = rng or Random()
        self._sleep = sleep
        self._async_sleep = async_sleep or SystemClock().sleep
        self._valid: Callable[[Any], bool] | None = None
        self._caught: tuple[type[Exception], ...] = (BadReturn,)

    def on_return(self, validator: Callable[[Any], bool]) -> "Retry":
        """Try again when `validator(value)` is false."""
        self._valid = validator
        return self

    def on_exceptions(self, *kinds: type[Exception]) -> "Retry":
        """Try again on these; any other exception passes at once."""
        self._caught += kinds
        return self

    def delay_s(self, k: int) -> float:
        """Seconds to wait after failed try number `k` (from 0)."""
        return float(min(2.0 ** min(k, _MOST_DOUBLINGS), self._cap_s) + self._rng.uniform(0.1, self._jitter_s))

    def __call__(self, function: _F) -> _F:
        wrap = self._wrap_async if inspect.iscoroutinefunction(function) else self._wrap
        return cast(_F, functools.wraps(function)(wrap(function)))

    def _wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def tried(*args: Any, **kwargs: Any) -> Any:
            causes: list[Exception] = []
            for k in range(self._tries):
                try:
                    return self._checked(function(*args, **kwargs))
                except self._caught as error:
                    causes.append(error)
                if k + 1 < self._tries:
                    self._sleep(self.delay_s(k))
            raise MaxRetriesReachedError(causes) from causes[-1]

        return tried

    def _wrap_async(self, function: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
        async def tried(*args: Any, **kwargs: Any) -> Any:
            causes: list[Exception] = []
            for k in range(self._tries):
                try:
                    return self._checked(await function(*args, **kwargs))
                except self._caught as error:
                    causes.append(error)
                if k + 1 < self._tries:
                    await self._async_sleep(self.delay_s(k))
            raise MaxRetriesReachedError(causes) from causes[-1]

        return tried

    def _checked(self, value: Any) -> Any:
        if self._valid is not None and not self._valid(value):
            raise BadReturn(f"the validator refused {type(value).__name__}")
        return value
