"""A limit that is likely too small for the JSON asked for is said before anybody wonders where the items went."""

from typing import Any

import pytest

from router.budget import LEAST_FREE_TOKENS, least_tokens
from tests.support.router_world import Says, World

ITEM = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}
LIST = {"type": "object", "properties": {"people": {"type": "array", "items": ITEM}}}


def form(schema: dict[str, Any]) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}}


@pytest.mark.parametrize(
    ("fields", "warned"),
    [
        pytest.param({**form(LIST), "max_tokens": 50}, True, id="a list in 50 tokens"),
        pytest.param({**form(LIST), "max_completion_tokens": 50}, True, id="by the newer name"),
        pytest.param({**form(LIST), "max_tokens": 1_000}, False, id="enough"),
        pytest.param(form(LIST), False, id="no limit"),
        pytest.param({"max_tokens": 5}, False, id="prose"),
        pytest.param({"response_format": {"type": "json_object"}, "max_tokens": 20}, True, id="any JSON in 20 tokens"),
    ],
)
async def test_a_small_limit_is_told_in_a_header(fields: dict[str, Any], warned: bool) -> None:
    world = World({"a": [Says(text='{"people": []}')]})
    response = await world.ask(**fields)
    assert response.headers.get("x-pointsman-warning") == ("max_tokens_small" if warned else None)


def test_a_list_costs_its_fewest_items_and_a_schema_that_refers_to_itself_ends() -> None:
    exact = {"type": "array", "items": {"type": "integer"}, "minItems": 100}
    assert least_tokens(exact) > 200 > least_tokens({**exact, "minItems": 3})
    assert least_tokens(None) == least_tokens({"$ref": "#/x"}) == LEAST_FREE_TOKENS
    deep: dict[str, Any] = {"type": "array"}
    deep["items"] = deep
    assert least_tokens(deep) > 0


@pytest.mark.parametrize(
    ("schema", "minimum"), [({"properties": {"a": 5}}, 1), ({"items": []}, 1), ({"properties": [], "items": {}}, 1)]
)
def test_a_schema_that_is_none_is_guessed_at_without_fuss(schema: dict[str, Any], minimum: int) -> None:
    assert least_tokens(schema) >= minimum
