"""`pointsman keys` over a database of its own."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from pointsman.cli.main import app
from tests.support.service import settings_file


@pytest.fixture
def config(tmp_path: Path) -> str:
    return str(settings_file(tmp_path, "http://127.0.0.1:9/v1"))


def said(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["keys", *arguments], env={"COLUMNS": "160"})
    return result.exit_code, result.output


def test_a_key_is_shown_once_listed_by_its_end_and_revoked(config: str) -> None:
    code, told = said("create", "shop", "--route", "chat", "--per-minute", "60", "--config", config)
    key, _, warned = told.partition("\n")
    assert "first key: every caller without a key is refused" in warned
    assert "first key" not in said("create", "other", "--config", config)[1]
    assert code == 0
    assert key.startswith("pmk-")
    _, listed = said("list", "--config", config)
    assert key.strip() not in listed
    row = next(line for line in listed.splitlines() if "shop" in line)
    assert key.strip()[-4:] in row
    id = row.split()[1]
    assert said("revoke", id, "--config", config)[0] == 0
    assert said("revoke", id, "--config", config)[0] == 1
    assert "shop" not in said("list", "--config", config)[1]


def test_a_route_that_does_not_exist_is_refused(config: str) -> None:
    code, told = said("create", "shop", "--route", "chta", "--config", config)
    assert code == 2
    assert "no route named chta" in told


@pytest.mark.parametrize("name", ["sh\nop", "sh\x1b[31mop", "\u202epohs"])
def test_a_key_was_made_for_a_name_of_two_lines(config: str, name: str) -> None:
    code, told = said("create", name, "--config", config)
    assert code == 2
    assert told.startswith("pointsman: NAME: has a line break or a sign that nobody sees (U+")
    assert "pmk-" not in said("list", "--config", config)[1]


def test_blanks_round_a_name_are_no_part_of_it(config: str) -> None:
    said("create", " shop ", "--config", config)
    code, told = said("create", "shop", "--config", config)
    assert code == 0 and "shop has another key that goes on working" in told
