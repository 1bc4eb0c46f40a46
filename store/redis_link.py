"""The one way to Redis: how long we wait, what its errors mean, and when we stop asking for a while.

Every foreign exception becomes breaker.ports.StoreUnavailable here and nowhere else.
Nothing on the request path awaits this.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any, TypeVar
from urllib.parse import urlsplit

from redis.asyncio import Redis
from redis.asyncio.cluster import RedisCluster
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    BusyLoadingError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from base.cancels import cancel_kept
from base.clock import Clock
from breaker.ports import StoreUnavailable

T = TypeVar("T")

TIMEOUT_S = 2.0
"""BREAKER.md, Redis: the client's defaults wait 59 s on a black hole."""
RETRIES = 3
"""BREAKER.md, Redis."""
WHOLE_S = 4.0
"""A question ends by then whatever is still to be tried: four tries on a black hole, each with its connection, would take
16 s, a cluster of which one node is silent longer still, and the caller's own loop asks again anyway."""
SENTINEL_S = 1.0
"""A silent sentinel must leave time for the next one and for the server it names."""
FAILURES_TO_REST = 3
REST_S = 1.0
"""After three failures in a row nobody asks for a second, so that a dead Redis costs no waiting tasks."""
FOREIGN = (RedisError, OSError, asyncio.TimeoutError)
"""RedisError covers every class of redis.exceptions that a command can raise; OSError comes from name look-up."""


WHY: Mapping[type[Exception], str] = {
    AuthenticationError: "user or password is wrong: mend them in redis_url",
    AuthorizationError: "this user may not do that there: grant it all commands on all keys",
    NoPermissionError: "this user may not do that there: grant it all commands on all keys",
    BusyLoadingError: "it is still loading its data",
    OutOfMemoryError: "its memory is full: raise maxmemory",
    ReadOnlyError: "it is a replica, which takes no writes: name the primary in redis_url",
    RedisTimeoutError: "no answer in time: is it overloaded, or the network in between cut?",
    TimeoutError: "no answer in time: is it overloaded, or the network in between cut?",
    RedisConnectionError: "no connection: is it running there?",
}
"""Of a class that stands under another one here, the nearer comes first."""


def why(error: Exception) -> str:
    """What people read of it: its cause and what to do, in one line; of what has no words here, the kind alone."""
    return next((told for kind, told in WHY.items() if isinstance(error, kind)), type(error).__name__)


def connect(url: str) -> Any:
    """A client for `redis:// rediss:// unix:// redis+sentinel://host:port,host:port/name redis+cluster://host:port`.

    Returns `Any` because the three clients share no base class that types their commands. Opens no connection yet.
    """
    scheme = urlsplit(url).scheme
    options: dict[str, Any] = {"socket_timeout": TIMEOUT_S, "socket_connect_timeout": TIMEOUT_S, "protocol": 2}
    options["retry"] = Retry(ExponentialBackoff(cap=0.2, base=0.02), RETRIES)
    options["retry_on_error"] = [RedisConnectionError, RedisTimeoutError]
    if scheme == "redis+cluster":
        return RedisCluster.from_url("redis://" + url.split("://", 1)[1], **options)
    if scheme == "redis+sentinel":
        parts = urlsplit(url)
        hosts = [host.rsplit(":", 1) for host in parts.netloc.rsplit("@", 1)[-1].split(",")]
        options["password"] = parts.password
        # One that does not answer is passed over for the next, not asked again: by default it would be for 7 s.
        asks_once = {
            "socket_timeout": SENTINEL_S,
            "socket_connect_timeout": SENTINEL_S,
            "retry": Retry(NoBackoff(), 0),
        }
        sentinel = Sentinels([(host, int(port)) for host, port in hosts], sentinel_kwargs=asks_once)
        return sentinel.master_for(parts.path.strip("/") or "mymaster", **options)
    return Redis.from_url(url.replace("valkey+unix://", "unix://"), **options)


class Sentinels(Sentinel):
    """Asked one question at a time.

    The one that answers is put first, by its place before the answer. Two questions at once, as after a failover, move
    it twice: another one then stands nowhere, is never asked again, and its connections stay open.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[no-untyped-call]
        self._asking = asyncio.Lock()

    async def discover_master(self, service_name: str) -> Any:
        async with self._asking:
            return await super().discover_master(service_name)


def forgiven(answers: Sequence[Any], instead: Any) -> list[Any]:
    """The answers of a pipeline run with `raise_on_error=False`, `instead` where a key is not what was asked for.

    Somebody else's key under one of our names must concern what it stands for and nothing else. That is the one error of
    exactly this class; all that tell of the server or of our rights have classes of their own, and are raised.
    """
    for answer in answers:
        if isinstance(answer, Exception) and type(answer) is not ResponseError:
            raise answer
    return [instead if isinstance(answer, Exception) else answer for answer in answers]


class RedisLink:
    """A client with a small breaker of its own. `client` is handed in and closed by `close`."""

    def __init__(self, client: Any, clock: Clock, *, whole_s: float = WHOLE_S) -> None:
        """`whole_s`: real seconds that a question may take, its retries included."""
        self._client = client
        self._clock = clock
        self._whole_s = whole_s
        self._failures = 0
        self._rest_until = 0.0
        self._scripts: dict[str, Any] = {}

    @property
    def client(self) -> Any:
        """For who needs a connection of its own; ask it nothing else past the breaker of this link."""
        return self._client

    async def ask(self, question: Callable[[Any], Awaitable[T]]) -> T:
        """Return what `question(client)` answers. Raises StoreUnavailable; CancelledError, even if the client lost it."""
        if self._clock.monotonic_s() < self._rest_until:
            raise StoreUnavailable("redis rests after failures")
        try:
            with cancel_kept():
                async with asyncio.timeout(self._whole_s):
                    answer = await question(self._client)
        except FOREIGN as error:
            self._failures += 1
            if self._failures >= FAILURES_TO_REST:
                # Real seconds: a scaled clock must not make a dead server look alive sooner.
                scale = 1.0 / self._clock.real_s(1.0)
                self._rest_until = self._clock.monotonic_s() + REST_S * scale
            raise StoreUnavailable(f"redis: {why(error)}") from error
        self._failures = 0
        return answer

    async def run(self, script: str, keys: list[str], args: Sequence[str | int | float | bytes]) -> Any:
        """Run `store/lua/<script>.lua`, by its hash where the server knows it. Raises StoreUnavailable."""
        if script not in self._scripts:
            text = files("store").joinpath("lua", f"{script}.lua").read_text("utf-8")
            self._scripts[script] = self._client.register_script(text)
        registered = self._scripts[script]
        return await self.ask(lambda client: registered(keys=keys, args=args, client=client))

    async def close(self) -> None:
        """Close the client's connections, those to sentinels too; a server that is gone makes no noise."""
        pool = getattr(self._client, "connection_pool", None)
        manager = getattr(pool, "sentinel_manager", None)
        for client in (self._client, *(manager.sentinels if manager is not None else ())):
            with contextlib.suppress(*FOREIGN), cancel_kept():
                await client.aclose()
