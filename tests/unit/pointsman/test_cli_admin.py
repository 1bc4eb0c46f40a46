"""`pointsman admin` over a database of its own."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from pointsman.cli.main import app
from tests.support.service import settings_file


@pytest.fixture
def config(tmp_path: Path) -> str:
    return str(settings_file(tmp_path, "http://127.0.0.1:9/v1"))


def said(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["admin", *arguments], env={"COLUMNS": "160"})
    return result.exit_code, result.output


def test_a_token_is_shown_once_listed_by_its_end_and_revoked(config: str) -> None:
    code, token = said("create", "olga", "--role", "operator", "--config", config)
    assert (code, token[:4]) == (0, "pma-")
    _, listed = said("list", "--config", config)
    assert token.strip() not in listed
    row = next(line for line in listed.splitlines() if "olga" in line)
    assert "operator" in row and token.strip()[-4:] in row
    id = row.split()[1]
    assert said("revoke", id, "--config", config)[0] == 0
    assert said("revoke", id, "--config", config)[0] == 1
    assert "olga" not in said("list", "--config", config)[1]


def test_a_role_that_does_not_exist_is_refused(config: str) -> None:
    assert said("create", "olga", "--role", "king", "--config", config)[0] == 2


def test_a_name_is_needed(config: str) -> None:
    assert said("create", " ", "--config", config)[0] == 2


def test_a_token_was_made_for_a_name_of_two_lines(config: str) -> None:
    code, told = said("create", "ol\nga", "--config", config)
    assert code == 2 and "NAME: has a line break" in told
