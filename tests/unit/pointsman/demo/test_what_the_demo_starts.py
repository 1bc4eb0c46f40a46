"""What `make run` starts by itself and leaves for the commands beside it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pointsman.cli.main import app
from pointsman.demo.run import demo_yaml
from pointsman.demo.story import _yaml
from pointsman.settings import Settings, parse

RUN = CliRunner()
SAID = "no pointsman.yaml here: acting on the demo of `make run`, var/demo/pointsman.yaml\n"


def demo(*, real: bool) -> Settings:
    return parse(demo_yaml(9, "http://127.0.0.1:8/v1" if real else None, (0, 0)), {})


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the demo was started once."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "var/demo/pointsman.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(demo_yaml(9, None, (0, 0)), encoding="utf-8")
    return file


@pytest.mark.parametrize("real", [True, False])
def test_the_nightly_evaluation_began_by_itself_on_the_small_model_and_starved_who_tried_the_demo(real: bool) -> None:
    assert not demo(real=real).nightly.enabled


def test_the_nightly_evaluation_is_none_of_the_story(tmp_path: Path) -> None:
    assert not parse(_yaml("http://127.0.0.1:9/v1", "http://127.0.0.1:8/x", tmp_path, 60.0), {}).nightly.enabled


@pytest.mark.parametrize("command", [["keys", "list"], ["admin", "list"], ["report", "list"], ["baseline", "runs"]])
def test_commands_of_the_readme_found_no_configuration_beside_make_run(command: list[str], beside: Path) -> None:
    assert RUN.invoke(app, ["migrate", "--config", str(beside)]).exit_code == 0
    told = RUN.invoke(app, command)
    assert (told.exit_code, told.stderr) == (0, SAID)


def test_a_key_of_the_demo_is_made_and_the_demo_named_once(beside: Path) -> None:
    assert RUN.invoke(app, ["migrate", "--config", str(beside)]).exit_code == 0
    made = RUN.invoke(app, ["keys", "create", "shop"])
    first = "this is the first key: every caller without a key is refused (401) from now on\n"
    assert (made.exit_code, made.stderr) == (0, SAID + first)
    listed = RUN.invoke(app, ["keys", "list", "--config", str(beside)])
    assert "shop" in listed.stdout and not listed.stderr, "a file that is named is taken without a word"


def test_a_mark_in_the_demo_says_what_is_missing_there(beside: Path) -> None:
    assert RUN.invoke(app, ["migrate", "--config", str(beside)]).exit_code == 0
    told = RUN.invoke(app, ["mark", "nobody", "right"])
    assert (told.exit_code, told.stderr) == (1, f"{SAID}pointsman mark: no failed reply of nobody\n")


def test_no_report_yet_was_told_with_a_night_that_never_comes(beside: Path) -> None:
    assert RUN.invoke(app, ["migrate", "--config", str(beside)]).exit_code == 0
    told = RUN.invoke(app, ["report", "list"]).stdout
    assert "is off here (nightly.enabled)" in told and "--config var/demo/pointsman.yaml" in told


@pytest.mark.parametrize("command", ["check", "serve"])
def test_the_real_service_never_starts_on_the_demos_settings(command: str, beside: Path) -> None:
    told = RUN.invoke(app, [command])
    assert told.exit_code == 2 and "pointsman.yaml: there is no such file" in told.stderr


def test_a_pointsman_yaml_here_wins_over_the_demo(beside: Path) -> None:
    own = json.loads(beside.read_text(encoding="utf-8")) | {"data_dir": "own"}
    Path("pointsman.yaml").write_text(json.dumps(own), encoding="utf-8")
    told = RUN.invoke(app, ["keys", "list"])
    assert SAID not in told.stderr and Path("own").exists()
