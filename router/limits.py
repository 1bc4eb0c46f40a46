"""How much an app may ask: requests and tokens a minute in the whole fleet, requests at once in one worker.

Decides from memory; nothing here waits. In: a caller, what its request is about to cost.  Out: an Admission, or TooMany.
Each worker keeps one bucket per app and limit. It is charged at once with what this worker admits, and, whenever the
spend of the others is read back (router/spend.py, twice a second), with what they admitted. So a fleet of N workers may
admit too much only within one such half-second: at most N - 1 times what fits into it, and never more than N - 1 buckets.
What was too much stands in each bucket as a debt and is waited for, so that over a longer time the rate is exact.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from router.auth import Caller
from router.errors import TooMany
from router.ports import Spent

MINUTE_S = 60.0
BYTES_A_TOKEN = 4
"""Of a request's body, before anybody has counted: OpenAI's rule of thumb for English; Chinese has about as many."""
STALE_S = 5.0
"""Without news of the others for so long, this worker keeps to its own part of each limit."""
IDLE_S = 180.0
"""An app that was silent for so long has full buckets; nothing needs to be kept of it."""

KNOWN_WORKERS = 1_000
NOTHING = Spent(requests=0, tokens=0.0, requests_left=0.0, tokens_left=0.0)

Headers = tuple[tuple[bytes, bytes], ...]


class Bucket:
    """`per_minute` fits into it, and flows back into it in a minute. Below zero: a debt."""

    def __init__(self, per_minute: int, now_s: float) -> None:
        self.size = float(per_minute)
        self.level = self.size
        self._at = now_s

    def at(self, now_s: float, part: float = 1.0) -> None:
        """Refill until `now_s`; `part` of the limit is this worker's."""
        gone_s = max(0.0, now_s - self._at)
        self._at = max(self._at, now_s)
        self.level = min(self.size, self.level + gone_s * self.size * part / MINUTE_S)

    def resize(self, per_minute: int) -> None:
        if per_minute != self.size:
            # What was spent stays spent when an operator changes the limit.
            self.level += per_minute - self.size
            self.size = float(per_minute)

    def take(self, amount: float) -> None:
        self.level = min(self.size, self.level - amount)

    def wait_s(self, amount: float) -> float:
        """Seconds until `amount` is there; more than the bucket holds counts as all of it."""
        return max(0.0, (min(amount, self.size) - self.level) * MINUTE_S / self.size)

    def full_s(self) -> float:
        return max(0.0, (self.size - self.level) * MINUTE_S / self.size)


@dataclass(slots=True)
class _App:
    """What this worker knows of one app."""

    seen_at: float
    in_flight: int = 0
    requests: Bucket | None = None
    tokens: Bucket | None = None
    spent_requests: int = 0
    spent_tokens: float = 0.0


class Admission:
    """One request that was let in. `settle` once, when it has ended."""

    def __init__(self, app: _App, estimate: float) -> None:
        self._app, self._estimate, self._open = app, estimate, True

    def settle(self, tokens: int) -> None:
        """Put the tokens that were billed in the place of the estimate; 0: nobody knows, so the estimate stands."""
        if not self._open:
            return
        self._open = False
        self._app.in_flight -= 1
        more = tokens - self._estimate if tokens else 0.0
        self._app.spent_tokens += more
        if self._app.tokens is not None:
            self._app.tokens.take(more)

    def headers(self) -> Headers:
        """OpenAI's `x-ratelimit-*`: limit, what remains, and when all of it will."""
        return _headers(self._app)


class Limits:
    """One per worker."""

    def __init__(self) -> None:
        self._apps: dict[str, _App] = {}
        self._others: Mapping[str, Mapping[str, Spent]] = {}
        self._known: dict[str, Mapping[str, Spent]] = {}
        self._heard_at: float | None = None

    def admit(self, caller: Caller, body_bytes: int, now_s: float) -> Admission | None:
        """Let one request in and charge it; None: the app has no limits. Raises TooMany."""
        if caller.per_minute is None and caller.tokens_per_minute is None and caller.max_concurrent is None:
            return None
        app = self._app(caller, now_s)
        estimate = body_bytes / BYTES_A_TOKEN
        if caller.max_concurrent is not None and app.in_flight >= caller.max_concurrent:
            what = f"app {caller.app!r} has {app.in_flight} requests at once here; it may have {caller.max_concurrent}"
            raise TooMany(what, code="too_many_requests", retry_after_s=1.0, headers=_headers(app))
        for bucket, amount, what in ((app.requests, 1.0, "requests"), (app.tokens, estimate, "tokens")):
            if bucket is not None and (wait_s := bucket.wait_s(amount)) > 0:
                told = f"app {caller.app!r} may spend {bucket.size:.0f} {what} a minute"
                raise TooMany(told, retry_after_s=wait_s, headers=_headers(app))
        app.in_flight += 1
        app.spent_requests += 1
        app.spent_tokens += estimate
        if app.requests is not None:
            app.requests.take(1)
        if app.tokens is not None:
            app.tokens.take(estimate)
        return Admission(app, estimate)

    def spent(self, now_s: float) -> Mapping[str, Spent]:
        """What this worker has let in so far, by app: absolute, so that telling it twice changes nothing."""
        for name in [n for n, a in self._apps.items() if not a.in_flight and now_s - a.seen_at > IDLE_S]:
            del self._apps[name]
        return {
            name: Spent(
                requests=app.spent_requests,
                tokens=app.spent_tokens,
                requests_left=app.requests.level if app.requests else 0.0,
                tokens_left=app.tokens.level if app.tokens else 0.0,
            )
            for name, app in self._apps.items()
        }

    def heard(self, others: Mapping[str, Mapping[str, Spent]], now_s: float) -> None:
        """Charge what the other workers (by boot id, then app) admitted since they were last heard of."""
        first, self._heard_at = self._heard_at is None, now_s
        self._others = others
        for boot, by_app in others.items():
            before = self._known.get(boot, {})
            for name in by_app.keys() & self._apps.keys():
                app, spent = self._apps[name], by_app[name]
                if first:
                    _adopt(app, spent, app.spent_requests, app.spent_tokens)
                else:
                    _charge(app, before.get(name, NOTHING), spent)
            # Also of one that has gone silent, so that it is not charged anew if it comes back.
            self._known[boot] = by_app
        while len(self._known) > KNOWN_WORKERS:
            del self._known[next(iter(self._known))]

    def _app(self, caller: Caller, now_s: float) -> _App:
        app = self._apps.get(caller.app)
        is_new = app is None
        if app is None:
            app = self._apps[caller.app] = _App(seen_at=now_s)
        app.seen_at = now_s
        app.requests = _sized(app.requests, caller.per_minute, now_s)
        app.tokens = _sized(app.tokens, caller.tokens_per_minute, now_s)
        spending = [by_app[caller.app] for by_app in self._others.values() if caller.app in by_app]
        if is_new:
            for spent in spending:
                _adopt(app, spent, 0, 0.0)
        # Deaf: each worker then keeps to its own part, as if the others went on.
        deaf = self._heard_at is not None and now_s - self._heard_at > STALE_S
        part = 1.0 / (1 + len(spending)) if deaf else 1.0
        for bucket in (app.requests, app.tokens):
            if bucket is not None:
                bucket.at(now_s, part)
        return app


def _sized(bucket: Bucket | None, per_minute: int | None, now_s: float) -> Bucket | None:
    if per_minute is None:
        return None
    if bucket is None:
        return Bucket(per_minute, now_s)
    bucket.resize(per_minute)
    return bucket


def _adopt(app: _App, seen: Spent, requests: int, tokens: float) -> None:
    """See the buckets as another worker does, less what was spent here, of which it did not know."""
    if app.requests is not None:
        app.requests.level = min(app.requests.level, seen.requests_left - requests)
    if app.tokens is not None:
        app.tokens.level = min(app.tokens.level, seen.tokens_left - tokens)


def _charge(app: _App, before: Spent, now: Spent) -> None:
    # At most one bucket at a time: a worker that was away for long must not leave a debt of an hour.
    if app.requests is not None:
        app.requests.take(min(now.requests - before.requests, app.requests.size))
    if app.tokens is not None:
        app.tokens.take(min(now.tokens - before.tokens, app.tokens.size))


def _headers(app: _App) -> Headers:
    out: list[tuple[bytes, bytes]] = []
    for bucket, name in ((app.requests, "requests"), (app.tokens, "tokens")):
        if bucket is not None:
            values = (
                ("limit", f"{bucket.size:.0f}"),
                ("remaining", str(max(0, math.floor(bucket.level)))),
                ("reset", _span(bucket.full_s())),
            )
            out += [(f"x-ratelimit-{what}-{name}".encode(), value.encode()) for what, value in values]
    return tuple(out)


def _span(seconds: float) -> str:
    """`6m0s`, `17s`, `120ms`: as OpenAI writes it."""
    if 0 < seconds < 1:
        return f"{math.ceil(seconds * 1000)}ms"
    minutes, rest = divmod(math.ceil(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
