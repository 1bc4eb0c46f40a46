"""Who gets a permit of a recovering model and when, and who asks for probes."""

from breaker.levels import Level, Mode
from tests.support.memory_fleet import T0, Fleet, fail, talk


async def test_probes_bring_a_dead_vendor_back_by_permits() -> None:
    fleet = Fleet()
    guard = fleet.replica()
    async with fleet.running(guard):
        fail(guard, 10)
        await fleet.clock.advance(2)
        with guard.permit("m") as none:
            assert none is None
        await fleet.clock.advance(20)
        assert guard.levels() == {"m": Level.RECOVERING}
        for _ in range(3):
            with guard.permit("m") as permit:
                assert permit is not None
                permit.settle(True)
            await fleet.clock.advance(2)
        assert guard.levels() == {"m": Level.REDUCED}


async def test_an_unsettled_permit_goes_back_to_the_budget() -> None:
    fleet = Fleet()
    guard = fleet.replica()
    async with fleet.running(guard):
        fail(guard, 10)
        await fleet.clock.advance(25)
        epoch = guard.snapshot("m").epoch
        with guard.permit("m") as permit:
            assert permit is not None
        await fleet.clock.advance(3)
        tally = await fleet.probes.tally("m", epoch)
        assert tally.results == ()
        assert tally.granted <= 2


async def test_live_traffic_gets_permits_last_while_the_monitor_lives() -> None:
    fleet = Fleet()
    guard = fleet.replica()
    async with fleet.running(guard):
        await guard.force("m", Mode.FORCED_OPEN, "op", "drill", T0 + 30)
        await fleet.clock.advance(32)
        assert guard.levels() == {"m": Level.RECOVERING}
        guard.monitor_beat()
        with guard.permit("m", live=True) as permit:
            assert permit is None
        with guard.permit("m") as permit:
            assert permit is not None
        await fleet.clock.advance(125)
        with guard.permit("m", live=True) as permit:
            assert permit is not None


async def test_a_model_that_looks_ill_on_too_few_replies_asks_for_probes_that_count_and_then_no_more() -> None:
    """Rows 8 and 33 of the breaker's table, in the fleet: any replica knows who is to be asked."""
    fleet = Fleet(("m", "y"))
    evaluator, monitor = fleet.replica("a"), fleet.replica("b")
    async with fleet.running(evaluator, monitor):
        for _ in range(15):
            talk(evaluator, 0, 1)
            talk(evaluator, 20, 0, "y")
            await fleet.clock.advance(60)
        assert await monitor.probes_wanted() == ["m"]
        talk(monitor, 30, 0)
        await fleet.clock.advance(200)
        assert await monitor.probes_wanted() == []


async def test_copies_of_requests_get_permits_after_the_suite_and_before_live_traffic() -> None:
    fleet = Fleet()
    guard = fleet.replica()
    async with fleet.running(guard):
        await guard.force("m", Mode.FORCED_OPEN, "op", "drill", T0 + 30)
        await fleet.clock.advance(32)
        for waited_s, shadow, live in ((1, False, False), (64, True, False), (60, True, True)):
            await fleet.clock.advance(waited_s)
            guard.monitor_beat()
            with guard.permit("m", shadow=True) as permit:
                assert (permit is not None) is shadow
            await fleet.clock.advance(2)
            guard.monitor_beat()
            with guard.permit("m", live=True) as permit:
                assert (permit is not None) is live
