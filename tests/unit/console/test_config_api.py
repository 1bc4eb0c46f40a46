"""Settings over the admin API: who may, what is told of a file that is not taken."""

from collections.abc import Sequence

import httpx
import pytest

from breaker.ports import StoreUnavailable
from console.config_api import config_routes
from console.config_ports import ProcessConfig, Reloaded, Running
from tests.support.operators import GATE, Acts, admin_client

HERE = Running(hash="abc", since=1.0, file="pointsman.yaml", text="listen: x\n")


class Room:
    """Settings in memory."""

    def __init__(self, came: Reloaded, *, gone: bool = False) -> None:
        self.came, self.gone, self.reloads = came, gone, 0

    def running(self) -> Running:
        return HERE

    async def everywhere(self) -> Sequence[ProcessConfig]:
        if self.gone:
            raise StoreUnavailable("gone")
        return [ProcessConfig(boot_id="1", role="router", hash="abc", at=2.0)]

    async def reload(self) -> Reloaded:
        self.reloads += 1
        return self.came


def client(room: Room, acts: Acts) -> httpx.AsyncClient:
    return admin_client(config_routes(room, acts, GATE))


async def test_the_running_settings_are_told_with_those_of_every_process() -> None:
    async with client(Room(Reloaded(hash="abc")), Acts()) as admin:
        told = (await admin.get("/admin/config")).json()
    assert (told["hash"], told["text"]) == ("abc", "listen: x\n")
    assert told["processes"][0]["role"] == "router"


async def test_without_the_store_our_own_settings_are_told() -> None:
    async with client(Room(Reloaded(hash="abc"), gone=True), Acts()) as admin:
        told = (await admin.get("/admin/config")).json()
    assert (told["store_down"], told["processes"]) == (True, [])


async def test_a_reload_is_written_down_first_and_says_what_changed() -> None:
    acts, room = Acts(), Room(Reloaded(hash="def", changed=("routes",), restart_needed=("listen",)))
    async with client(room, acts) as admin:
        answer = await admin.post("/admin/reload", json={"reason": "new route"})
    assert answer.status_code == 200
    assert answer.json()["restart_needed"] == ["listen"]
    assert room.reloads == 1
    assert acts.acts == [("admin", "reload", "pointsman.yaml")]


async def test_a_file_that_is_not_taken_is_told_with_its_mistakes() -> None:
    room = Room(Reloaded(hash="abc", mistakes=("line 3: routes.x: unknown",)))
    async with client(room, Acts()) as admin:
        answer = await admin.post("/admin/reload", json={"reason": "new route"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid_settings")
    assert "line 3" in answer.json()["error"]["message"]


@pytest.mark.parametrize("body", [{}, {"reason": "x"}, {"reason": "because", "more": 1}])
async def test_a_reload_needs_a_reason(body: dict[str, object]) -> None:
    room = Room(Reloaded(hash="abc"))
    async with client(room, Acts()) as admin:
        assert (await admin.post("/admin/reload", json=body)).status_code == 422
    assert room.reloads == 0


@pytest.mark.parametrize("token", ["op", "view"])
async def test_only_an_admin_reloads(token: str) -> None:
    room = Room(Reloaded(hash="abc"))
    async with admin_client(config_routes(room, Acts(), GATE), token=token) as admin:
        assert (await admin.post("/admin/reload", json={"reason": "because"})).status_code == 403
        assert (await admin.get("/admin/config")).status_code == 200
    assert room.reloads == 0
