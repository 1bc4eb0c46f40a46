"""The log's lines: JSON, with the id of the request that a line is about."""

import json
import logging
from typing import Any

import pytest

from pointsman.logs import JsonLines, level_of
from tests.support.router_world import World


@pytest.mark.parametrize("stream", [True, False])
async def test_what_went_wrong_inside_a_request_is_found_in_the_log_by_the_id_that_the_client_was_told(
    stream: bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World()

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(world.deps.models, "stream" if stream else "complete", broken)
    answer = await world.ask(stream=stream)
    assert answer.status_code == 500
    told = [json.loads(JsonLines().format(record)) for record in caplog.records]
    assert [line["request_id"] for line in told] == [answer.headers["x-request-id"]]
    assert "RuntimeError" in told[0]["error"]


def test_a_line_about_no_request_has_no_such_field() -> None:
    record = logging.LogRecord("store", logging.WARNING, "", 0, "Redis is away", (), None)
    assert json.loads(JsonLines().format(record)).keys() == {"at", "level", "logger", "message"}


@pytest.mark.parametrize(
    ("asked", "level"), [(None, "INFO"), ("", "INFO"), ("debug", "DEBUG"), (" Warning ", "WARNING")]
)
def test_the_level_may_be_written_in_any_case(asked: str | None, level: str) -> None:
    assert level_of(asked) == level


def test_a_level_that_is_none_is_named_with_those_that_are() -> None:
    with pytest.raises(ValueError, match=r"POINTSMAN_LOG must be one of debug, info, .* not 'loud'"):
        level_of("loud")
