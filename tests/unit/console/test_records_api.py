"""The call log as JSON: found by fields, one with its attempts, refused without a token."""

from console.records_api import records_routes
from tests.support.console_desk import World, asked, failed
from tests.support.operators import GATE, admin_client


def world_of() -> World:
    world = World()
    world.asked = [asked(), asked(request_id="pm-2", route="other", fallback="none", tries=())]
    world.replies = [failed()]
    return world


async def test_requests_are_found_by_fields() -> None:
    world = world_of()
    async with admin_client(records_routes(world, GATE), token="view") as client:
        rows = (await client.get("/admin/requests?route=chat&trouble=true&since=5&limit=7")).json()["requests"]
    assert [row["request_id"] for row in rows] == ["pm-1"]
    assert rows[0]["attempts"][0]["loop_class"] == "phrase_loop"
    assert world.sought[0].since == 5.0 and world.sought[0].trouble


async def test_one_request_tells_its_attempts_and_what_was_not_shown() -> None:
    async with admin_client(records_routes(world_of(), GATE), token="view") as client:
        told = (await client.get("/admin/requests/pm-1")).json()
    assert told["request"]["served_model"] == "acme/large" and told["failed"][0]["onset"] == 30


async def test_an_unknown_id_and_one_that_fits_two_are_told_apart() -> None:
    async with admin_client(records_routes(world_of(), GATE), token="view") as client:
        nobody = await client.get("/admin/requests/pm-9")
        two = await client.get("/admin/requests/pm-")
    assert nobody.status_code == two.status_code == 404
    assert "no request" in nobody.json()["error"]["message"] and "more than one" in two.json()["error"]["message"]


async def test_a_limit_out_of_bounds_names_its_field() -> None:
    async with admin_client(records_routes(world_of(), GATE)) as client:
        answer = await client.get("/admin/requests?limit=0")
    assert answer.status_code == 422 and "limit" in answer.json()["error"]["message"]


async def test_nobody_without_a_token() -> None:
    async with admin_client(records_routes(world_of(), GATE), token="") as client:
        assert (await client.get("/admin/requests")).status_code == 401
