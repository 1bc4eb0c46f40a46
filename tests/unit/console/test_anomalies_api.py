"""The anomaly list for operators: shown to viewers, taken off by hand with a reason."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from console.anomalies_api import anomaly_routes
from tests.support.operators import GATE, Acts, admin_client


class Anomalies:
    def __init__(self) -> None:
        self.on = True

    def models(self) -> Sequence[str]:
        return ("acme/a",)

    async def listed(self) -> Sequence[Mapping[str, Any]]:
        return [{"model": "acme/a", "users": 7}] if self.on else []

    async def history(self, model: str | None, limit: int) -> Sequence[Mapping[str, Any]]:
        return [{"model": "acme/a", "left_by": "ann"}][:limit]

    async def dismiss(self, model: str, actor: str, why: str) -> bool:
        was, self.on = self.on, False
        return was


async def test_viewers_see_the_list_and_its_past_and_may_not_act() -> None:
    async with admin_client(anomaly_routes(Anomalies(), Acts(), GATE), token="view") as client:
        assert (await client.get("/admin/anomalies")).json() == {"anomalies": [{"model": "acme/a", "users": 7}]}
        assert (await client.get("/admin/anomalies/history?model=acme/a")).status_code == 200
        assert (await client.post("/admin/anomalies/acme/a/dismiss", json={"reason": "fine"})).status_code == 403


async def test_taking_a_model_off_is_written_down_and_works_once() -> None:
    acts = Acts()
    async with admin_client(anomaly_routes(Anomalies(), acts, GATE), token="op") as client:
        body = {"reason": "prompt mended", "actor": "olga"}
        assert (await client.post("/admin/anomalies/acme/a/dismiss", json=body)).json()["listed"] is False
        again = await client.post("/admin/anomalies/acme/a/dismiss", json=body)
    assert (again.status_code, again.json()["error"]["code"]) == (409, "not_listed")
    assert acts.acts[0] == ("olga", "dismiss_anomaly", "acme/a")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/admin/anomalies/nobody/dismiss", 404),
        ("GET", "/admin/anomalies/history?model=nobody", 404),
        ("GET", "/admin/anomalies/history?limit=0", 422),
    ],
)
async def test_a_bad_request_is_refused(method: str, path: str, status: int) -> None:
    async with admin_client(anomaly_routes(Anomalies(), Acts(), GATE)) as client:
        answer = await client.request(method, path, json={"reason": "because"} if method == "POST" else None)
    assert answer.status_code == status
