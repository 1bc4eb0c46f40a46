"""Switches over the admin API: who may, what is refused, and that each is written down first."""

from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from base.switch import Switch, SwitchMode
from console.switches_api import switches_routes
from tests.support.operators import GATE, Acts, admin_client


class Kept:
    """Switches in memory; the fleet's clock stands at 1000 s."""

    def __init__(self) -> None:
        self.all: list[Switch] = []

    def routes(self) -> Sequence[str]:
        return ("chat", "vendor/chat")

    def now_s(self) -> float:
        return 1_000.0

    async def switches(self) -> Sequence[Switch]:
        return self.all

    async def set(self, switch: Switch) -> None:
        self.all.append(switch)


def client(kept: Kept, acts: Acts, token: str = "op") -> httpx.AsyncClient:
    return admin_client(switches_routes(kept, acts, GATE), token=token)


async def test_a_switch_is_written_down_and_set_with_its_end() -> None:
    kept, acts = Kept(), Acts()
    async with client(kept, acts) as admin:
        body = {"mode": "observe", "route": "vendor/chat", "minutes": 5, "reason": "false alarms"}
        answer = await admin.post("/admin/switches", json=body)
        listed = (await admin.get("/admin/switches")).json()["switches"]
    assert (answer.status_code, answer.json()["until"], answer.json()["scope"]) == (200, 1_300.0, "route")
    (switch,) = kept.all
    assert (switch.mode, switch.actor) == (SwitchMode.OBSERVE, "olga")
    assert acts.acts == [("olga", "switch", "vendor/chat")]
    assert listed == [answer.json()]


async def test_without_a_route_it_is_the_whole_fleets_for_an_hour() -> None:
    kept, acts = Kept(), Acts()
    async with client(kept, acts) as admin:
        await admin.post("/admin/switches", json={"mode": "phrase_only", "reason": "incident"})
    assert (kept.all[0].route, kept.all[0].until) == ("", 4_600.0)
    assert acts.acts[0][2] == "fleet"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"mode": "off", "reason": "because"}, 422),
        ({"mode": "observe"}, 422),
        ({"mode": "observe", "reason": "because", "minutes": 0}, 422),
        ({"mode": "observe", "reason": "because", "minutes": 10_081}, 422),
        ({"mode": "observe", "reason": "because", "route": "nowhere"}, 404),
        ({"mode": "observe", "reason": "because", "for": 3}, 422),
    ],
)
async def test_a_wrong_switch_is_refused_and_nothing_is_set(body: dict[str, Any], status: int) -> None:
    kept, acts = Kept(), Acts()
    async with client(kept, acts) as admin:
        assert (await admin.post("/admin/switches", json=body)).status_code == status
    assert (kept.all, acts.acts) == ([], [])


async def test_what_cannot_be_written_down_is_not_done_and_viewers_only_look() -> None:
    kept, acts = Kept(), Acts()
    acts.away = True
    body = {"mode": "bypass", "reason": "because"}
    async with client(kept, acts) as admin:
        assert (await admin.post("/admin/switches", json=body)).status_code == 503
    async with client(kept, Acts(), token="view") as admin:
        assert (await admin.post("/admin/switches", json=body)).status_code == 403
        assert (await admin.get("/admin/switches")).status_code == 200
    assert kept.all == []
