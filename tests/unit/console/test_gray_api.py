"""Gray releases for operators: who may act, what is written down, and what a refusal says."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from breaker.gray import GrayRelease, GrayStage
from console.gray_api import GrayRefused, gray_routes
from tests.support.operators import GATE, Acts, admin_client

RELEASE = GrayRelease(model="acme/a", candidate="a2", version="v2", id="r1", epoch=1, share=0.05)


class Grays:
    def __init__(self) -> None:
        self.done: list[tuple[str, ...]] = []
        self.refuses = ""

    def models(self) -> Sequence[str]:
        return ("acme/a", "a2")

    async def standing(self) -> Sequence[GrayRelease]:
        return [RELEASE]

    async def history(self, model: str | None, limit: int) -> Sequence[GrayRelease]:
        return [RELEASE][:limit]

    async def find(self, id: str) -> GrayRelease | None:
        return RELEASE if id == "r1" else None

    def report(self, release: GrayRelease) -> Mapping[str, Any]:
        return {"id": release.id, "stage": release.stage.value, "version": release.version}

    def markdown(self, release: GrayRelease, language: str) -> str:
        return f"# {language}"

    async def start(
        self, model: str, candidate: str, *, version: str, by_itself: bool, actor: str, note: str
    ) -> GrayRelease:
        return self._done("start", model, candidate, version, str(by_itself), actor, note)

    async def step(self, model: str, actor: str, note: str) -> GrayRelease:
        return self._done("step", model, actor, note)

    async def pause(self, model: str, actor: str, note: str) -> GrayRelease:
        return self._done("pause", model, actor, note)

    async def resume(self, model: str, actor: str, note: str) -> GrayRelease:
        return self._done("resume", model, actor, note)

    async def stop(self, model: str, actor: str, note: str) -> GrayRelease:
        return self._done("stop", model, actor, note)

    async def promote(self, model: str, actor: str, note: str) -> GrayRelease:
        return self._done("promote", model, actor, note)

    def _done(self, *what: str) -> GrayRelease:
        if self.refuses:
            raise GrayRefused(self.refuses)
        self.done.append(what)
        return replace(RELEASE, stage=GrayStage.STOPPED if what[0] == "stop" else GrayStage.RUNNING)


async def test_viewers_see_releases_and_reports_and_may_not_act() -> None:
    async with admin_client(gray_routes(Grays(), Acts(), GATE), token="view") as client:
        assert (await client.get("/admin/gray")).json()["releases"][0]["id"] == "r1"
        assert (await client.get("/admin/gray/history?model=a2")).status_code == 200
        assert (await client.get("/admin/gray/reports/r1?language=en")).json()["markdown"] == "# en"
        assert (await client.post("/admin/gray/acme/a/stop", json={"reason": "please"})).status_code == 403


async def test_a_start_passes_its_wishes_on_and_is_written_down_first() -> None:
    grays, acts = Grays(), Acts()
    body = {"candidate": "a2", "version": "v9", "by_itself": False, "reason": "new weights", "actor": "ann"}
    async with admin_client(gray_routes(grays, acts, GATE)) as client:
        answer = await client.post("/admin/gray/acme/a/start", json=body)
        assert answer.status_code == 200
        acts.away = True
        assert (await client.post("/admin/gray/acme/a/start", json=body)).status_code == 503
    assert grays.done == [("start", "acme/a", "a2", "v9", "False", "ann", "new weights")]
    assert acts.acts == [("ann", "gray_start", "acme/a")]


@pytest.mark.parametrize("word", ["step", "pause", "resume", "stop", "promote"])
async def test_each_act_is_done_in_the_name_of_the_token(word: str) -> None:
    grays, acts = Grays(), Acts()
    async with admin_client(gray_routes(grays, acts, GATE), token="op") as client:
        answer = await client.post(f"/admin/gray/acme/a/{word}", json={"reason": "because", "actor": "olga"})
    assert answer.status_code == 200
    assert grays.done == [(word, "acme/a", "olga", "because")]
    assert acts.acts == [("olga", f"gray_{word}", "acme/a")]


async def test_what_makes_no_sense_is_a_conflict_and_says_why() -> None:
    grays = Grays()
    grays.refuses = "it has ended: stopped"
    async with admin_client(gray_routes(grays, Acts(), GATE)) as client:
        answer = await client.post("/admin/gray/acme/a/stop", json={"reason": "because"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "gray_refused")
    assert answer.json()["error"]["message"] == "it has ended: stopped"


@pytest.mark.parametrize(
    ("path", "body", "status", "param"),
    [
        ("/admin/gray/nobody/stop", {"reason": "because"}, 404, "name"),
        ("/admin/gray/acme/a/start", {"reason": "because", "candidate": "nobody"}, 404, "candidate"),
        ("/admin/gray/acme/a/start", {"reason": "because"}, 422, "candidate"),
        ("/admin/gray/acme/a/start", {"reason": "because", "candidate": "a2", "share": 0.5}, 422, "share"),
        ("/admin/gray/acme/a/stop", {}, 422, "reason"),
    ],
)
async def test_a_bad_request_names_the_field(path: str, body: dict[str, Any], status: int, param: str) -> None:
    async with admin_client(gray_routes(Grays(), Acts(), GATE)) as client:
        answer = await client.post(path, json=body)
    assert (answer.status_code, answer.json()["error"]["param"]) == (status, param)


async def test_an_unknown_report_is_not_found() -> None:
    async with admin_client(gray_routes(Grays(), Acts(), GATE)) as client:
        assert (await client.get("/admin/gray/reports/r9")).status_code == 404
        assert (await client.get("/admin/gray/reports/r1?language=fr")).status_code == 422
