"""Commands are listed without being imported, and are what the list says they are."""

import inspect
import subprocess
import sys
from typing import Any

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from pointsman.cli.lazy import load
from pointsman.cli.main import COMMANDS, app

HEAVY = ("sqlalchemy", "alembic", "fastapi", "numpy", "redis", "jinja2", "apscheduler", "pydantic", "httpx")
GROUP: Any = get_command(app)


def modules_after(*lines: str) -> set[str]:
    """What a fresh interpreter has loaded after `lines`."""
    code = "\n".join([*lines, "import sys", "sys.stdout.write('\\n' + ' '.join(sys.modules))"])
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(ran.stdout.rpartition("\n")[2].split())


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_in_the_list_is_what_the_command_says_of_itself(name: str) -> None:
    assert load(name, COMMANDS[name].where).help == COMMANDS[name].help


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_explains_itself(name: str) -> None:
    told = CliRunner().invoke(app, [name, "--help"])
    assert told.exit_code == 0
    assert COMMANDS[name].help.split()[0] in told.output


def test_every_command_is_listed_and_none_is_imported_for_it() -> None:
    lines = (
        "import pointsman.cli.main as main",
        "from typer.testing import CliRunner",
        "told = CliRunner().invoke(main.app, ['--help']).output",
        "assert all(name in told for name in main.COMMANDS), told",
    )
    loaded = modules_after(*lines)
    assert "pointsman.cli.main" in loaded
    assert loaded.isdisjoint(HEAVY)
    assert {name for name in loaded if name.startswith("pointsman.cli.")} == {
        "pointsman.cli.main",
        "pointsman.cli.lazy",
    }


def test_a_mistyped_command_is_answered_with_the_nearest_one() -> None:
    told = CliRunner().invoke(app, ["statsu"])
    assert told.exit_code == 2
    assert "status" in told.output


def test_completion_offers_the_names() -> None:
    asked = {"_POINTSMAN_COMPLETE": "complete_bash", "COMP_WORDS": "pointsman s", "COMP_CWORD": "1"}
    told = CliRunner().invoke(app, [], env=asked, prog_name="pointsman")
    assert set(told.output.split()) == {name for name in COMMANDS if name.startswith("s")}


def test_completion_offers_the_options_of_a_command() -> None:
    asked = {"_POINTSMAN_COMPLETE": "complete_bash", "COMP_WORDS": "pointsman serve --ro", "COMP_CWORD": "2"}
    assert "--role" in CliRunner().invoke(app, [], env=asked, prog_name="pointsman").output


def test_the_commands_are_those_of_the_table_and_only_those() -> None:
    assert list(GROUP.commands) == list(COMMANDS)
    assert len(GROUP.commands) == len(COMMANDS)
    with pytest.raises(TypeError):
        GROUP.commands["more"] = None
    with pytest.raises(TypeError):
        del GROUP.commands["run"]


def test_a_group_of_commands_keeps_its_own_commands() -> None:
    keys = GROUP.commands["keys"]
    assert list(keys.commands) == ["create", "list", "revoke"]
    assert GROUP.commands["keys"] is keys


def test_a_command_that_is_only_listed_says_what_it_does() -> None:
    listed = GROUP.get_command(typer.Context(GROUP), "status")
    assert inspect.cleandoc(listed.help) == COMMANDS["status"].help
    assert GROUP.get_command(typer.Context(GROUP), "nothing") is None
