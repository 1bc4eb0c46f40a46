"""A conversation that restates itself twice in a row is given a shorter past."""

from typing import Any

import pytest

from router.context import restating, shortened
from tests.support.router_world import World

SAME = (
    "You can charge the car at home overnight, or use one of the fast chargers along the motorway when you travel far."
)
OTHER = (
    "Rain is likely in the afternoon, with strong wind from the west and about twelve degrees near the coast tonight."
)
THIRD = (
    "The museum opens at nine, closes at six, and on Mondays the whole building stays shut except for school groups."
)


def talk(*replies: str) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Be kind."}]
    for i, reply in enumerate(replies):
        messages += [{"role": "user", "content": f"question {i}"}, {"role": "assistant", "content": reply}]
    return {"model": "main", "messages": [*messages, {"role": "user", "content": "and now?"}]}


@pytest.mark.parametrize(
    ("replies", "wanted"),
    [
        pytest.param([SAME, SAME, SAME], True, id="twice in a row"),
        pytest.param([SAME, SAME], False, id="once"),
        pytest.param([SAME, SAME, OTHER], False, id="it got over it"),
        pytest.param([SAME, OTHER, THIRD], False, id="three different replies"),
        pytest.param([], False, id="a first question"),
    ],
)
def test_two_restatements_in_a_row_are_read_from_the_messages(replies: list[str], wanted: bool) -> None:
    assert restating(talk(*replies)) is wanted


def test_the_system_prompt_and_the_last_turns_stay_and_the_restated_replies_go() -> None:
    kept = shortened(talk(SAME, SAME, SAME))["messages"]
    assert [m["content"] for m in kept] == ["Be kind.", "question 2", "and now?"]


async def test_the_model_gets_the_shorter_past_with_the_rules_and_the_client_is_told() -> None:
    world = World()
    response = await world.ask(**talk(SAME, SAME, SAME))
    sent = world.models.asked[0][1].body["messages"]
    assert len(sent) == 3
    assert "Writing rules" in sent[0]["content"]
    assert response.headers["x-pointsman-changed"] == "messages"
