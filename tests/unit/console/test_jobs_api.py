"""Clock jobs for operators: listed, their history, and a run by hand that is written down first."""

from collections.abc import Mapping, Sequence
from typing import Any

import httpx
import pytest

from breaker.ports import StoreUnavailable
from console.jobs_api import jobs_routes
from tests.support.operators import GATE, Acts, admin_client


class Jobs:
    gone = False

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def names(self) -> Sequence[str]:
        return ("nightly",)

    async def jobs(self) -> Sequence[Mapping[str, Any]]:
        if self.gone:
            raise StoreUnavailable("gone")
        return [{"job": "nightly", "last": None}]

    async def runs(self, name: str, limit: int) -> Sequence[Mapping[str, Any]]:
        return [{"slot": "s"}] * min(limit, 3)

    async def ask(self, name: str, actor: str) -> str:
        self.asked.append((name, actor))
        return "hand-1"


def client_of(jobs: Jobs, acts: Acts | None = None, token: str = "admin") -> httpx.AsyncClient:
    return admin_client(jobs_routes(jobs, acts or Acts(), GATE), token=token)


async def test_jobs_and_their_runs_are_listed_for_viewers() -> None:
    async with client_of(Jobs(), token="view") as client:
        assert (await client.get("/admin/jobs")).json() == {"jobs": [{"job": "nightly", "last": None}]}
        assert len((await client.get("/admin/jobs/nightly?limit=2")).json()["runs"]) == 2
        assert (await client.post("/admin/jobs/nightly/run", json={"reason": "may I"})).status_code == 403


async def test_a_run_by_hand_is_written_down_and_asked_for() -> None:
    jobs, acts = Jobs(), Acts()
    async with client_of(jobs, acts, "op") as client:
        answer = await client.post("/admin/jobs/nightly/run", json={"reason": "suite changed", "actor": "olga"})
    assert (answer.status_code, answer.json()) == (202, {"job": "nightly", "slot": "hand-1"})
    assert (jobs.asked, acts.acts) == ([("nightly", "olga")], [("olga", "run_job", "nightly")])


async def test_an_act_that_cannot_be_written_down_is_not_done() -> None:
    jobs, acts = Jobs(), Acts()
    acts.away = True
    async with client_of(jobs, acts) as client:
        answer = await client.post("/admin/jobs/nightly/run", json={"reason": "suite changed"})
    assert (answer.status_code, jobs.asked) == (503, [])


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/admin/jobs/weekly/run", {"reason": "why not"}, 404, "job_not_found"),
        ("/admin/jobs/nightly/run", {}, 422, "invalid_field"),
        ("/admin/jobs/nightly/run", {"reason": "ok then", "when": "now"}, 422, "invalid_field"),
    ],
)
async def test_a_bad_request_names_its_fault(path: str, body: dict[str, Any], status: int, code: str) -> None:
    async with client_of(Jobs()) as client:
        answer = await client.post(path, json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


async def test_while_the_store_is_gone_the_list_says_so() -> None:
    jobs = Jobs()
    jobs.gone = True
    async with client_of(jobs) as client:
        assert (await client.get("/admin/jobs")).status_code == 503
