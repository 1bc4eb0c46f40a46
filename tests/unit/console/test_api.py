"""The admin JSON: who may, what is refused, and that every act is written down first."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import ClassVar

import httpx
import pytest

from breaker.explain import Explanation, explain
from breaker.levels import Level, Mode
from breaker.machine import force, reset
from breaker.policy import BreakerPolicy
from breaker.ports import StoreUnavailable
from breaker.seen import Seen
from breaker.snapshot import Snapshot, Transition
from console.access import Identity, Role
from console.api import build_admin
from console.fleet_ports import Refusal, Share
from console.gatekeeper import Gate

TOKEN = "pm-admin-test"
POLICY = BreakerPolicy()


class World:
    """Fleet, audit and history in memory."""

    def __init__(self) -> None:
        self.kept = {"acme/large": Snapshot(model="acme/large")}
        self.acts: list[tuple[str, str, str]] = []
        self.audit_down = False
        self.store_gone = False
        self.refused: dict[str, list[Refusal]] = {}
        self.answers: list[tuple[str, int]] = []

    models = ("acme/large",)

    def snapshot(self, model: str) -> Snapshot:
        return self.kept[model]

    def shares(self, model: str) -> Sequence[Share]:
        return [Share(route="default", configured=1.0, effective=1.0)]

    def refusals(self) -> Mapping[str, Sequence[Refusal]]:
        return self.refused

    def store_down(self) -> bool:
        return self.store_gone

    def database_fails(self) -> str:
        return ""

    async def explain(self, model: str) -> Explanation:
        if self.store_gone:
            raise StoreUnavailable("gone")
        return explain(self.kept[model], Seen(), POLICY, 1_000.0)

    async def force(self, model: str, mode: Mode, actor: str, reason: str, until: float) -> Snapshot:
        self.kept[model] = force(self.kept[model], mode, actor, reason, until, 1_000.0, POLICY)
        return self.kept[model]

    async def reset(self, model: str, actor: str, reason: str) -> Snapshot:
        self.kept[model] = reset(self.kept[model], actor, reason, 1_000.0)
        return self.kept[model]

    def now_s(self) -> float:
        return 1_000.0

    async def record(
        self, *, actor: str, action: str, target: str, reason: str, details: Mapping[str, object], role: str = "admin"
    ) -> int:
        if self.audit_down:
            raise StoreUnavailable("sql gone")
        self.acts.append((actor, action, reason))
        return len(self.acts)

    async def turned_away(self, number: int, status: int) -> None:
        self.answers.append((self.acts[number - 1][1], status))

    async def transitions(
        self, model: str | None = None, *, since: float = 0.0, limit: int = 200
    ) -> Sequence[Transition]:
        return self.kept["acme/large"].transitions[:limit]


class Keeper:
    """Tokens by their text: a shared admin's, a named operator's, a viewer's."""

    known: ClassVar = {
        TOKEN: Identity(digest="1", role=Role.ADMIN),
        "op": Identity(digest="2", role=Role.OPERATOR, name="olga"),
        "view": Identity(digest="3", role=Role.VIEWER, name="vera"),
    }

    def identify(self, token: str) -> Identity | None:
        return self.known.get(token)

    def still_valid(self, mark: str) -> Role | None:
        return None


def client_of(world: World, token: str = TOKEN) -> httpx.AsyncClient:
    app = build_admin(world, world, world, Gate(Keeper()))
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://admin", headers=headers)


@pytest.mark.parametrize("token", ["", "wrong", TOKEN + "x"])
async def test_nobody_without_the_token_sees_anything(token: str) -> None:
    async with client_of(World(), token) as client:
        answer = await client.get("/admin/models")
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "unauthorized"


async def test_a_model_says_where_it_stands_and_what_moves_it_next() -> None:
    async with client_of(World()) as client:
        (row,) = (await client.get("/admin/models")).json()["models"]
    assert row["model"] == "acme/large"
    assert row["level"] == "healthy"
    assert row["rules"] and row["next"]
    assert any("样本" in words for words in row["next"]), "Chinese unless the reader asks for English"
    assert row["shares"] == [{"route": "default", "configured": 1.0, "effective": 1.0}]


async def test_a_gone_store_still_shows_the_last_known_state() -> None:
    world = World()
    world.store_gone = True
    async with client_of(world) as client:
        answer = (await client.get("/admin/models")).json()
    assert answer["store_down"] is True
    assert answer["models"][0]["level"] == "healthy"


async def test_forcing_open_is_written_down_and_takes_effect() -> None:
    world = World()
    async with client_of(world) as client:
        body = {"mode": "forced_open", "reason": "vendor incident", "actor": "on-call", "minutes": 30}
        answer = await client.post("/admin/models/acme/large/force", json=body)
    assert answer.status_code == 200
    assert answer.json()["effective"] == Level.OPEN
    assert world.acts == [("on-call", "force", "vendor incident")]


@pytest.mark.parametrize(("reason", "status"), [("误报", 200), ("修", 200), ("ok", 200), ("x", 422), ("   ", 422)])
async def test_a_reason_in_two_chinese_characters_is_taken(reason: str, status: int) -> None:
    async with client_of(World()) as client:
        answer = await client.post("/admin/models/acme/large/force", json={"mode": "observe", "reason": reason})
    assert answer.status_code == status
    if status == 422:
        assert answer.json()["error"]["message"] == "reason: needs 2 characters or more, or one Chinese character"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        pytest.param({"mode": "forced_open"}, "reason", id="no reason"),
        pytest.param({"mode": "sideways", "reason": "because"}, "mode", id="unknown mode"),
        pytest.param({"mode": "auto", "reason": "because", "minuts": 3}, "minuts", id="unknown field"),
    ],
)
async def test_a_bad_act_names_the_field(body: dict[str, object], field: str) -> None:
    async with client_of(World()) as client:
        answer = await client.post("/admin/models/acme/large/force", json=body)
    assert answer.status_code == 422
    assert answer.json()["error"]["param"] == field


async def test_an_unknown_model_is_named_with_the_known_ones() -> None:
    async with client_of(World()) as client:
        answer = await client.post("/admin/models/nobody/reset", json={"reason": "because"})
    assert answer.status_code == 404
    assert "acme/large" in answer.json()["error"]["message"]


async def test_an_act_that_cannot_be_written_down_is_not_done() -> None:
    world = World()
    world.audit_down = True
    async with client_of(world) as client:
        answer = await client.post("/admin/models/acme/large/force", json={"mode": "forced_open", "reason": "because"})
    assert answer.status_code == 503
    assert world.kept["acme/large"].mode is Mode.AUTO


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        pytest.param("GET", "/nope", 404, id="no such path"),
        pytest.param("PUT", "/admin/models", 405, id="no such method"),
    ],
)
async def test_a_wrong_path_is_told_in_openai_shape_and_not_in_the_framework_s_own(
    method: str, path: str, status: int
) -> None:
    async with client_of(World()) as client:
        answer = await client.request(method, path)
    assert answer.status_code == status
    assert f"{method} {path}" in answer.json()["error"]["message"]


async def test_a_forced_mode_without_minutes_lasts_an_hour_and_not_for_ever() -> None:
    world = World()
    async with client_of(world) as client:
        answer = await client.post("/admin/models/acme/large/force", json={"mode": "forced_open", "reason": "because"})
    assert answer.status_code == 200
    assert answer.json()["mode_until"] == 1_000.0 + 3_600.0


async def test_a_viewer_sees_and_may_not_act() -> None:
    world = World()
    async with client_of(world, "view") as client:
        assert (await client.get("/admin/models")).status_code == 200
        answer = await client.post("/admin/models/acme/large/reset", json={"reason": "because"})
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "role_forbidden"
    assert "operator" in answer.json()["error"]["message"]
    assert world.acts == []


async def test_an_act_stands_under_the_tokens_name_whatever_name_was_sent() -> None:
    world = World()
    world.kept["acme/large"] = force(
        world.kept["acme/large"], Mode.FORCED_OPEN, "x", "incident", 2_000.0, 1_000.0, POLICY
    )
    async with client_of(world, "op") as client:
        body = {"reason": "because", "actor": "admin"}
        assert (await client.post("/admin/models/acme/large/reset", json=body)).status_code == 200
    assert world.acts == [("admin via olga", "reset", "because")]


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b'"x"', b"null"])
async def test_a_body_that_is_no_json_object_is_told_plainly(body: bytes) -> None:
    async with client_of(World()) as client:
        headers = {"content-type": "application/json"}
        answer = await client.post("/admin/models/acme/large/reset", content=body, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_json")
    assert answer.json()["error"]["message"] == "the body must be a JSON object, sent as application/json"


async def test_sentences_about_a_model_come_in_the_language_asked_for() -> None:
    async with client_of(World()) as client:
        (row,) = (await client.get("/admin/models", headers={"accept-language": "en"})).json()["models"]
    assert any("Too few replies" in words for words in row["next"])
    assert row["rules"][0]["words"] == "Repeats over 10 minutes: too few to tell (0 of 30)"


async def test_models_that_a_vendor_refuses_are_told_with_their_status_and_the_next_try() -> None:
    world = World()
    refusal = Refusal(endpoint=0, status=401, waits=False, told_at=990.0, again_at=1_290.0)
    for refusals, refused in (([], False), ([refusal], True), ([replace(refusal, others=1)], False)):
        world.refused = {"acme/large": refusals}
        async with client_of(world) as asking:
            row = (await asking.get("/admin/models")).json()["models"][0]
        assert (row["refused"], row["refusals"]) == (refused, [asdict(one) for one in refusals])


async def test_an_actor_of_two_lines_and_a_reason_with_nul_are_refused_by_their_field() -> None:
    """NUL was taken for a database that does not answer, since PostgreSQL refuses it."""
    world = World()
    async with client_of(world) as client:
        path = "/admin/models/acme/large/reset"
        for field, value, told in (("actor", "ol\nga", "(U+000A)"), ("reason", "fixed\x00it", "(U+0000)")):
            answer = await client.post(path, json={"reason": "fixed", "actor": "olga", field: value})
            error = answer.json()["error"]
            assert (answer.status_code, error["param"]) == (422, field) and told in error["message"]
    assert world.acts == []
