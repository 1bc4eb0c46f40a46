"""A test prompt over a real router: what is told of it, and whether there is a request to look at."""

import httpx

from console.trial_ports import Told
from pointsman.trial import HttpProber
from router.auth import Caller, Keys, digest
from tests.support.clock import ManualClock
from tests.support.router_world import Says, World, down


async def sent(world: World, *, route: str = "main", key: str = "") -> Told:
    """The last thing told."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=world.app)) as client:
        prober = HttpProber(client, lambda: "http://router", lambda: ["main"], ManualClock())
        told = [one async for one in prober.send(route, "hello", key)]
    return told[-1]


async def test_what_was_served_leads_to_its_request() -> None:
    world = World({"a": [Says()]})
    told = await sent(world)
    assert (told.kind, told.facts["request_id"]) == ("end", world.log.calls[0].request_id)


async def test_a_key_that_is_refused_leads_to_no_request_since_none_is_written() -> None:
    world = World(keys=Keys({digest("k"): Caller(app="car", routes=None)}))
    told = await sent(world, key="wrong")
    assert (told.kind, told.facts["code"], told.facts["request_id"]) == ("error", "invalid_api_key", "")
    assert world.log.calls == []
    assert (await sent(world, route="nowhere", key="k")).facts["request_id"] == ""


async def test_an_error_after_attempts_leads_to_its_request() -> None:
    world = World({n: [down()] for n in ("a", "a2", "b", "c")}, phrases=False)
    told = await sent(world)
    assert (told.kind, told.facts["code"]) == ("error", "all_models_unavailable")
    assert told.facts["request_id"] == world.log.calls[0].request_id


async def test_a_failure_inside_the_router_leads_to_its_request() -> None:
    world = World({"a": [Says()]})
    world.deps.models = None  # type: ignore[assignment]
    told = await sent(world)
    assert (told.facts["code"], told.facts["request_id"]) == ("internal_error", world.log.calls[0].request_id)
