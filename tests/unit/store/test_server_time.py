"""The fleet's time from Redis TIME and the monotonic clock."""

import pytest

from breaker.ports import StoreUnavailable
from store.redis_link import RedisLink
from store.server_time import REFRESH_S, ServerTime
from tests.support.clock import ManualClock


class Server:
    """Answers TIME; `delay_s` of the asker's clock pass meanwhile."""

    def __init__(self, clock: ManualClock, delay_s: float = 0.0) -> None:
        self.clock, self.delay_s, self.asked, self.down = clock, delay_s, 0, False
        self.time_s = 2_000.5

    async def time(self) -> tuple[int, int]:
        self.asked += 1
        if self.down:
            raise OSError
        self.clock.tick(self.delay_s)
        return int(self.time_s), int(self.time_s % 1 * 1e6)


class Fast(ManualClock):
    """60 times as fast as the wall."""

    def real_s(self, seconds: float) -> float:
        return seconds / 60


def server_time(clock: ManualClock, server: Server) -> ServerTime:
    return ServerTime(RedisLink(server, clock), clock)


async def test_before_the_first_look_it_is_the_local_clock() -> None:
    clock = ManualClock(77.0)
    now = server_time(clock, Server(clock))
    assert (now.synced, now.now_s()) == (False, 77.0)


async def test_a_wrong_local_clock_does_not_matter() -> None:
    clock = ManualClock(5.0)
    now = server_time(clock, Server(clock))
    await now.refresh()
    assert now.now_s() == 2_000.5
    clock.tick(3.0)
    assert now.now_s() == 2_003.5


async def test_the_way_there_and_back_is_halved() -> None:
    clock = ManualClock()
    now = server_time(clock, Server(clock, delay_s=0.2))
    await now.refresh()
    assert now.now_s() == pytest.approx(2_000.6)


async def test_a_scaled_fleet_scales_the_servers_time() -> None:
    clock = Fast()
    now = server_time(clock, Server(clock))
    await now.refresh()
    assert now.now_s() == pytest.approx(2_000.5 * 60)


async def test_a_failed_look_leaves_the_old_offset() -> None:
    clock = ManualClock()
    server = Server(clock)
    now = server_time(clock, server)
    await now.refresh()
    server.down = True
    with pytest.raises(StoreUnavailable):
        await now.refresh()
    assert now.now_s() == 2_000.5


async def test_it_looks_every_ten_real_seconds_whatever_happens(cancelled: object) -> None:
    clock = Fast()
    server = Server(clock)
    now = server_time(clock, server)
    cancelled(now.run())  # type: ignore[operator]
    await clock.advance(0)
    server.down = True
    await clock.advance(REFRESH_S * 60)
    server.down = False
    await clock.advance(REFRESH_S * 60)
    assert server.asked == 3
