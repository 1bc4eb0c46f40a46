"""What Redis's errors mean here, and when it is left alone."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable

import pytest
import redis.exceptions
from redis.asyncio import Redis
from redis.asyncio.cluster import RedisCluster

from breaker.ports import StoreUnavailable
from store.redis_link import FAILURES_TO_REST, RETRIES, TIMEOUT_S, RedisLink, connect
from tests.support.clock import ManualClock

FOREIGN = [
    kind
    for _, kind in inspect.getmembers(redis.exceptions, inspect.isclass)
    if issubclass(kind, redis.exceptions.RedisError)
]


def failing(error: Exception) -> Callable[[object], Awaitable[None]]:
    async def question(_client: object) -> None:
        raise error

    return question


async def fine(_client: object) -> str:
    return "yes"


@pytest.mark.parametrize("kind", [*FOREIGN, OSError, ConnectionRefusedError, TimeoutError])
async def test_every_foreign_error_means_that_the_store_is_unavailable(kind: type[Exception]) -> None:
    error = kind.__new__(kind, "x")
    with pytest.raises(StoreUnavailable) as caught:
        await RedisLink(None, ManualClock()).ask(failing(error))
    assert caught.value.__cause__ is error


async def test_our_own_mistakes_are_not_hidden() -> None:
    with pytest.raises(KeyError):
        await RedisLink(None, ManualClock()).ask(failing(KeyError("ours")))


async def test_a_dead_server_is_left_alone_for_a_second() -> None:
    clock = ManualClock()
    link = RedisLink(None, clock)
    for _ in range(FAILURES_TO_REST):
        with pytest.raises(StoreUnavailable):
            await link.ask(failing(OSError()))
    with pytest.raises(StoreUnavailable, match="rests"):
        await link.ask(fine)
    clock.tick(1.0)
    assert await link.ask(fine) == "yes"


async def test_failures_apart_do_not_add_up() -> None:
    link = RedisLink(None, ManualClock())
    for _ in range(3 * FAILURES_TO_REST):
        with pytest.raises(StoreUnavailable):
            await link.ask(failing(OSError()))
        assert await link.ask(fine) == "yes"


@pytest.mark.parametrize(
    "url", ["redis://h:1/0", "rediss://h:1/0", "unix:///tmp/s", "valkey+unix:///tmp/s", "redis+sentinel://h:1,i:2/main"]
)
def test_a_client_waits_two_seconds_at_most(url: str) -> None:
    client = connect(url)
    assert isinstance(client, Redis)
    options = client.connection_pool.connection_kwargs
    assert (options["socket_timeout"], options["socket_connect_timeout"]) == (TIMEOUT_S, TIMEOUT_S)
    assert options["retry"].get_retries() == RETRIES == 3


async def test_a_cluster_has_its_own_client() -> None:
    client = connect("redis+cluster://h:1")
    assert isinstance(client, RedisCluster)
    assert client.retry.get_retries() == RETRIES
    await client.aclose()


async def test_a_question_that_goes_on_trying_ends_with_its_time() -> None:
    async def for_ever(_client: object) -> None:
        while True:
            try:
                await asyncio.get_running_loop().create_future()
            except RuntimeError:  # a client that takes what comes for its own time-out, and tries again
                continue

    with pytest.raises(StoreUnavailable, match="redis: no answer in time"):
        await RedisLink(None, ManualClock(), whole_s=0.01).ask(for_ever)


def test_a_sentinel_that_is_gone_is_passed_over() -> None:
    client = connect("redis+sentinel://h:1,i:2/main")
    for sentinel in client.connection_pool.sentinel_manager.sentinels:
        assert sentinel.connection_pool.connection_kwargs["retry"].get_retries() == 0
