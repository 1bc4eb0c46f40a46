"""The name of a request: the client's own where it is safe and new."""

import pytest

from router.request_ids import KEPT, RequestIds
from tests.support.router_world import World

OWN = "req-7f3a:2026.11_30"


def test_a_safe_name_is_kept() -> None:
    assert RequestIds().name(OWN) == OWN


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(None, id="none"),
        pytest.param("", id="empty"),
        pytest.param("1234567", id="too short to be anybody's own"),
        pytest.param("x" * 65, id="longer than its column"),
        pytest.param("abc def ghi", id="blank"),
        pytest.param("abcdefgh\n", id="line end"),
        pytest.param("abcdefgh'--", id="quote"),
        pytest.param("请求标识符号一二三", id="no ASCII"),
        pytest.param("-abcdefgh", id="begins like an option"),
        pytest.param("pm-0123456789abcdef01234567", id="looks like one of ours"),
    ],
)
def test_anything_else_is_passed_over_without_a_word(asked: str | None) -> None:
    name = RequestIds().name(asked)
    assert name.startswith("pm-") and name != asked


def test_a_name_used_before_stands_for_that_request_alone() -> None:
    ids = RequestIds()
    assert ids.name(OWN) == OWN
    assert ids.name(OWN).startswith("pm-")


def test_only_so_many_names_are_remembered() -> None:
    ids = RequestIds(kept=2)
    for name in ("client-01", "client-02", "client-03"):
        ids.name(name)
    assert ids.name("client-01") == "client-01"
    assert ids.name("client-03").startswith("pm-")
    assert KEPT > 1_000


@pytest.mark.parametrize("stream", [False, True])
async def test_the_clients_own_name_stands_in_the_answer_and_in_the_row(stream: bool) -> None:
    world = World()
    response = await world.ask(stream=stream, headers={"X-Request-ID": OWN})
    assert response.headers["x-request-id"] == OWN
    assert [row.request_id for row in world.log.calls] == [OWN]


async def test_an_error_carries_the_clients_own_name_too() -> None:
    response = await World().post(b"{", headers={"x-request-id": OWN})
    assert (response.status_code, response.headers["x-request-id"]) == (400, OWN)
