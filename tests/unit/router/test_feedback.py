"""Feedback: who may speak of which reply, once each, and what is told when something is wrong."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from base.feedback import FeedbackKind, FeedbackSource
from base.ids import short_hash
from breaker.ports import StoreUnavailable
from router import feedback as desk
from router.api import build_app
from router.auth import Caller, Keys, digest
from router.ports import Answered, Feedback
from tests.support.router_world import World, until

AT = 1_700_000_000.0


@dataclass(kw_only=True)
class Kept:
    """A feedback log in memory. `calls` by id; `gone`: the database does not answer; `hangs`: nor does it fail."""

    calls: dict[str, Answered] = field(default_factory=dict)
    said: list[Feedback] = field(default_factory=list)
    gone: bool = False
    hangs: bool = False
    looks: int = 0

    def add(self, feedback: Feedback) -> None:
        self.said.append(feedback)

    async def _answers(self) -> None:
        self.looks += 1
        if self.gone:
            raise StoreUnavailable("gone")
        if self.hangs:
            await asyncio.Event().wait()

    async def answered(self, request_id: str) -> Answered | None:
        await self._answers()
        return self.calls.get(request_id)

    async def near(self, app: str, session: str, at: float, within_s: float) -> Answered | None:
        await self._answers()
        if session != short_hash(app, "u1"):
            return None
        near = [c for c in self.calls.values() if c.app == app and abs(c.at - at) <= within_s]
        return min(near, key=lambda c: abs(c.at - at), default=None)

    async def filed(self, app: str, user_hash: str, request_id: str) -> bool:
        await self._answers()
        return any((f.app, f.user_hash, f.request_id) == (app, user_hash, request_id) for f in self.said)


def answered(id: str = "pm-1", app: str = "car") -> Answered:
    return Answered(request_id=id, app=app, model="a", route="main", scene="chat", at=AT)


class Desk:
    """A router with a feedback log, an app `car` and a support desk `help`."""

    def __init__(self, *calls: Answered, **kept: Any) -> None:
        self.log = Kept(calls={c.request_id: c for c in calls}, **kept)
        keys = Keys({digest("car"): Caller(app="car"), digest("help"): Caller(app="help", support=True)})
        self.world = World(keys=keys)
        self.world.deps.feedback = self.log
        self.world.app = build_app(self.world.deps)

    async def says(self, body: Any, key: str = "car") -> httpx.Response:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        asked = asyncio.create_task(
            self.world.request("POST", "/v1/feedback", content=raw, headers={"authorization": f"Bearer {key}"})
        )
        while not asked.done():
            await asyncio.sleep(0)
            if self.world.clock.sleeping:
                await self.world.clock.advance(desk.LOOK_AGAIN_S)
        return asked.result()

    def counted(self) -> dict[tuple[str, ...], float]:
        return {k: v._value.get() for k, v in self.world.deps.metrics.feedback._metrics.items()}


WORD = {"request_id": "pm-1", "user": "u1", "kind": "repetition", "note": "call me at 13812345678"}


async def test_a_word_is_bound_to_the_model_that_answered() -> None:
    here = Desk(answered())
    answer = await here.says(WORD)
    assert (answer.status_code, answer.json()["model"], answer.json()["result"]) == (201, "a", "filed")
    (kept,) = here.log.said
    assert (kept.kind, kept.source, kept.app) == (FeedbackKind.REPETITION, FeedbackSource.USER, "car")
    assert kept.user_hash == short_hash("car", "u1")
    assert "138" not in kept.note
    assert here.counted() == {("repetition", "user", "filed"): 1.0}


async def test_a_person_speaks_of_a_reply_once() -> None:
    here = Desk(answered())
    await here.says(WORD)
    answer = await here.says({**WORD, "kind": "slow"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "feedback_exists")
    assert (await here.says({**WORD, "user": "u2"})).status_code == 201
    assert len(here.log.said) == 2


async def test_what_another_worker_filed_is_seen_too() -> None:
    here, there = Desk(answered()), Desk(answered())
    there.log = here.log
    await here.says(WORD)
    there.world.deps.feedback = here.log
    there.world.app = build_app(there.world.deps)
    assert (await there.says(WORD)).status_code == 409


@pytest.mark.parametrize("calls", [(), (answered(app="phone"),)], ids=["nobody's", "another app's"])
async def test_a_request_that_is_not_the_apps_is_not_found(calls: tuple[Answered, ...]) -> None:
    here = Desk(*calls)
    answer = await here.says(WORD)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "request_not_found")
    assert here.log.said == []


async def test_a_call_row_that_is_still_on_its_way_is_waited_for() -> None:
    here = Desk()
    asked = asyncio.create_task(here.says(WORD))
    await until(lambda: here.log.looks == 1)
    here.log.calls["pm-1"] = answered()
    assert (await asked).status_code == 201


@pytest.mark.parametrize("how", ["gone", "hangs"])
async def test_without_the_database_a_word_is_accepted_and_bound_later(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk, "LOOK_UP_S", 0.01)
    here = Desk(answered(), **{how: True})
    answer = await here.says(WORD)
    assert (answer.status_code, answer.json()["result"]) == (202, "accepted")
    assert here.log.said[0].answered is None
    assert (await here.says(WORD)).status_code == 409


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"user": ""}, "user"),
        ({"user": 7}, "user"),
        ({"kind": "bad"}, "kind"),
        ({"kind": None}, "kind"),
        ({"source": "robot"}, "source"),
        ({"note": "x" * 1_001}, "note"),
        ({"request_id": None}, "request_id"),
        ({"stars": 5}, "stars"),
        ({"at": AT, "request_id": None}, "at"),
        ({"app": "phone"}, "app"),
        ({"source": "support", "request_id": None, "at": "2025-03-01T09:30:00"}, "at"),
        ({"source": "support", "request_id": None, "at": True}, "at"),
        ({"source": "support", "request_id": None, "at": AT, "within_s": 0}, "within_s"),
        ({"source": "support", "at": AT}, "request_id"),
    ],
)
async def test_each_wrong_field_is_named(change: dict[str, Any], param: str) -> None:
    answer = await Desk(answered()).says({**WORD, **change}, key="help")
    assert (answer.status_code, answer.json()["error"]["param"]) == (422, param)


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b'"x"', b"\xff"])
async def test_what_is_no_object_is_refused(raw: bytes) -> None:
    assert (await Desk().says(raw)).status_code == 400


async def test_an_empty_body_is_called_empty() -> None:
    assert (await Desk().says(b"")).json()["error"]["message"] == "the body is empty: send one UTF-8 JSON object"


async def test_only_a_support_key_speaks_as_support() -> None:
    answer = await Desk(answered()).says({**WORD, "source": "support"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "support_forbidden")
    answer = await Desk(answered()).says({"items": [WORD]})
    assert answer.status_code == 403


async def test_support_speaks_of_any_apps_request() -> None:
    here = Desk(answered())
    assert (await here.says({**WORD, "source": "support"}, key="help")).status_code == 201
    assert here.log.said[0].app == "car"
    # The same person through the app itself is the same person.
    assert (await here.says(WORD)).status_code == 409


async def test_support_finds_a_request_by_user_and_time() -> None:
    here = Desk(answered())
    body = {"source": "support", "app": "car", "user": "u1", "kind": "repetition", "at": "2023-11-14T22:20:00+00:00"}
    answer = await here.says(body, key="help")
    assert (answer.status_code, answer.json()["request_id"]) == (201, "pm-1")
    assert (await here.says({**body, "user": "u9"}, key="help")).status_code == 404
    assert (await here.says({**body, "at": AT + 601}, key="help")).status_code == 404


async def test_by_user_and_time_needs_the_database() -> None:
    here = Desk(gone=True)
    body = {"source": "support", "app": "car", "user": "u1", "kind": "slow", "at": AT}
    answer = await here.says(body, key="help")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")


async def test_in_a_batch_each_item_has_its_own_answer() -> None:
    here = Desk(answered(), answered("pm-2"))
    items = [
        {**WORD, "source": "support"},
        {**WORD, "source": "support"},
        {**WORD, "source": "support", "request_id": "pm-3"},
        {**WORD, "source": "support", "kind": "?"},
        {**WORD, "source": "support", "request_id": "pm-2"},
    ]
    answer = await here.says({"items": items}, key="help")
    assert answer.status_code == 200
    assert [r["status"] for r in answer.json()["results"]] == [201, 409, 404, 422, 201]
    assert answer.json()["results"][3]["error"]["param"] == "items[3].kind"


@pytest.mark.parametrize(
    "body", [{"items": []}, {"items": {}}, {"items": [WORD] * 201}, {"items": [WORD], "kind": "x"}]
)
async def test_a_batch_of_the_wrong_shape_is_refused(body: dict[str, Any]) -> None:
    assert (await Desk(answered()).says(body, key="help")).status_code == 422


async def test_a_server_without_a_feedback_log_says_so() -> None:
    assert (await World().request("POST", "/v1/feedback", content=b"{}")).status_code == 501
