"""Operators' switches and the settings of every process, in Valkey and in a cluster."""

import pytest

from base.switch import FLEET, Switch, SwitchMode
from breaker.ports import StoreUnavailable
from console.config_ports import ProcessConfig
from pointsman.switchwork import follow_once
from router.switchboard import Switchboard
from store.redis_config import SILENT_S, RedisConfig
from store.redis_link import RedisLink, connect
from store.redis_switches import RedisSwitches
from tests.support.clock import ManualClock


@pytest.fixture(params=["one server", "cluster"])
def shared(request: pytest.FixtureRequest) -> RedisLink:
    found: RedisLink = request.getfixturevalue("link" if request.param == "one server" else "cluster_link")
    return found


def switch(clock: ManualClock, route: str = "chat", mode: SwitchMode = SwitchMode.OBSERVE) -> Switch:
    now_s = clock.now_s()
    return Switch(route=route, mode=mode, until=now_s + 60, actor="olga", reason="误报", set_at=now_s)


async def test_the_last_word_on_a_route_stands(shared: RedisLink, clock: ManualClock) -> None:
    store = RedisSwitches(shared)
    assert await store.load() == []
    await store.put(switch(clock))
    await store.put(switch(clock, FLEET))
    later = switch(clock, mode=SwitchMode.NORMAL)
    await store.put(later)
    assert await store.load() == [switch(clock, FLEET), later]


async def test_a_router_follows_and_a_switch_that_the_store_lost_is_put_back(
    link: RedisLink, clock: ManualClock
) -> None:
    store, board, known = RedisSwitches(link), Switchboard(), dict[str, Switch]()
    await store.put(switch(clock))
    await follow_once(board, store, clock.now_s(), known)
    assert board.mode("chat", clock.now_s()) is SwitchMode.OBSERVE
    await link.ask(lambda client: client.flushall())
    await follow_once(board, store, clock.now_s(), known)
    assert await store.load() == [switch(clock)]
    clock.tick(61)
    assert board.mode("chat", clock.now_s()) is SwitchMode.NORMAL
    await follow_once(board, store, clock.now_s(), known)
    assert board.mode("chat", clock.now_s()) is SwitchMode.NORMAL


async def test_processes_say_what_they_run_on_until_they_fall_silent(shared: RedisLink, clock: ManualClock) -> None:
    store = RedisConfig(shared, clock)
    one = ProcessConfig(boot_id="1", role="router", hash="abc", at=clock.now_s(), mistakes=("line 3: x",))
    await store.say(one)
    clock.tick(SILENT_S / 2)
    other = ProcessConfig(boot_id="2", role="monitor", hash="def", at=clock.now_s())
    await store.say(other)
    assert await store.processes() == [other, one]
    clock.tick(SILENT_S / 2 + 1)
    assert await store.processes() == [other]


async def test_the_wish_to_reload_is_a_new_word_each_time(link: RedisLink, clock: ManualClock) -> None:
    store = RedisConfig(link, clock)
    assert await store.asked() == ""
    first = await store.ask_all()
    assert await store.asked() == first
    assert await store.ask_all() != first


async def test_a_server_that_is_gone_is_told_as_such(clock: ManualClock) -> None:
    link = RedisLink(connect("redis://127.0.0.1:1/0"), clock)
    for question in (RedisSwitches(link).load(), RedisConfig(link, clock).processes()):
        with pytest.raises(StoreUnavailable):
            await question
    await link.close()
