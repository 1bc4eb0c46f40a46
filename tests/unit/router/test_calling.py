"""What a rung is asked: never the same twice, probabilities where they are wanted, and what differs is on record."""

import json
from typing import Any

import pytest

from base.faults import Fault
from detector.profile import PROFILES, Profile
from router.calling import differing, wants_logprobs
from router.topology import Logprobs, Model, Topology
from tests.support.router_world import Says, World, looped
from upstream.call import Endpoint

SHARP = frozenset({"logprobs"})


def model(logprobs: Logprobs, *capabilities: str) -> Model:
    endpoint = Endpoint(base_url="http://m/v1", upstream_model="m")
    return Model(name="m", vendor="", endpoints=(endpoint,), capabilities=frozenset(capabilities), logprobs=logprobs)


@pytest.mark.parametrize(
    ("which", "wanted"),
    [
        pytest.param(model(Logprobs.NEVER, "logprobs"), False, id="never"),
        pytest.param(model(Logprobs.ALWAYS, "logprobs"), True, id="always"),
        pytest.param(model(Logprobs.ALWAYS), False, id="not declared"),
        pytest.param(model(Logprobs.SAMPLE, "logprobs"), True, id="a sample, drawn"),
    ],
)
def test_probabilities_are_wanted_by_model_and_capability(which: Model, wanted: bool) -> None:
    assert wants_logprobs(which, 0.05, 0.01) == wanted


def test_a_sample_is_the_declared_part() -> None:
    assert not wants_logprobs(model(Logprobs.SAMPLE, "logprobs"), 0.05, 0.05)


def world(logprobs: Logprobs = Logprobs.ALWAYS) -> World:
    made = World(names=("a",), spares=(), capabilities=SHARP)
    made.deps.topology.models["a"] = model(logprobs, "logprobs")  # type: ignore[index]
    made.models.scripts = {"m": made.models.scripts["a"]}
    return made


async def test_probabilities_are_asked_for_and_marked_to_be_taken_out() -> None:
    asked = world()
    await asked.ask()
    call = asked.models.asked[0][1]
    assert (call.body["logprobs"], call.body["top_logprobs"]) == (True, 5)
    assert call.watch_logprobs and call.strip_logprobs


async def test_a_completion_asks_for_them_in_its_own_way() -> None:
    asked = world()
    await asked.request("POST", "/v1/completions", content=json.dumps({"model": "main", "prompt": "p"}))
    assert asked.models.asked[0][1].body["logprobs"] == 5


async def test_who_asked_for_probabilities_keeps_them() -> None:
    asked = world(Logprobs.NEVER)
    await asked.ask(logprobs=True, top_logprobs=2)
    call = asked.models.asked[0][1]
    assert call.body["top_logprobs"] == 2 and call.watch_logprobs and not call.strip_logprobs


async def test_a_model_that_never_gives_them_is_not_asked() -> None:
    asked = world(Logprobs.NEVER)
    await asked.ask()
    call = asked.models.asked[0][1]
    assert "logprobs" not in call.body and not call.watch_logprobs


async def test_the_record_of_an_attempt_names_what_its_call_was_changed_in() -> None:
    asked = World({"a": [looped("bad")], "a2": [Says(text="good")]})
    assert (await asked.ask()).status_code == 200
    first, second = asked.log.calls[0].attempts
    assert "changed" not in first
    assert {"top_p", "temperature", "frequency_penalty"} <= set(second["changed"])


@pytest.mark.parametrize(
    ("base", "asked", "names"),
    [
        pytest.param({"a": 1}, {"a": 1}, (), id="alike"),
        pytest.param({"a": 1}, {"a": 2, "b": 3}, ("a", "b"), id="changed and added"),
        pytest.param({"a": 1}, {}, ("a",), id="taken out"),
    ],
)
def test_differing_names_the_fields(base: dict[str, Any], asked: dict[str, Any], names: tuple[str, ...]) -> None:
    assert differing(base, asked) == names


async def test_a_reply_cut_off_by_its_limit_is_asked_again_with_a_larger_one() -> None:
    short = Says(text='{"items": [1, 2', fault=Fault.INVALID_FORMAT, finish="length")
    asked = World({"a": [short, Says(text='{"items": [1, 2, 3]}')]}, spares=())
    response = await asked.ask(response_format={"type": "json_object"}, max_tokens=100)
    assert response.json()["choices"][0]["message"]["content"] == '{"items": [1, 2, 3]}'
    assert asked.models.asked[1][1].body["max_tokens"] == 200
    assert "max_tokens" in asked.log.calls[0].attempts[1]["changed"]


OWN = Profile(name="qa", trigram_repeat=0.7)


@pytest.mark.parametrize(
    ("route", "scene", "fields", "judged_by"),
    [
        pytest.param({}, None, {}, None, id="by the shape of the text"),
        pytest.param({}, "qa", {}, OWN, id="the scene that the request names has a profile of its own"),
        pytest.param({"profile": "verse"}, "qa", {}, OWN, id="and goes before the route's"),
        pytest.param({"profile": "verse"}, "copywriting", {}, "verse", id="a scene without one: the route's"),
        pytest.param({"profile": PROFILES["chat"]}, "structured", {}, "structured", id="structured by the header"),
        pytest.param({"scene": "structured"}, None, {}, "structured", id="structured by the route"),
        pytest.param(
            {}, None, {"response_format": {"type": "json_object"}}, "structured", id="structured by the request"
        ),
    ],
)
async def test_a_reply_is_judged_by_the_profile_of_its_scene(
    route: dict[str, Any], scene: str | None, fields: dict[str, Any], judged_by: str | Profile | None
) -> None:
    asked = World({"a": [Says(text='{"a": 1}')]}, names=("a",), spares=(), **route)
    old = asked.deps.topology
    asked.deps.topology = Topology(models=old.models, routes=old.routes, profiles={"qa": OWN})
    await asked.ask(headers={"x-pointsman-scene": scene} if scene else {}, **fields)
    assert asked.models.asked[0][1].profile == judged_by
