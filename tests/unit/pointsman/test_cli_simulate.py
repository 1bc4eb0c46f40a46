"""`pointsman simulate` as a user types it."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from pointsman.cli.main import app
from tests.support import scenarios

RUN = CliRunner()
ESCALATION = str(scenarios.HERE / "11_escalation.yaml")


def test_timeline_shows_ratios_lines_levels_and_shares() -> None:
    shown = RUN.invoke(app, ["simulate", ESCALATION])
    assert shown.exit_code == 0
    assert "10m≥8%" in shown.stdout
    assert "L2 reduced   10%" in shown.stdout
    assert "L3 open       0%" in shown.stdout
    assert "reduced → open: rolling_15m" in shown.stdout


def test_every_thins_the_lines_out_but_keeps_the_changes() -> None:
    whole = RUN.invoke(app, ["simulate", ESCALATION]).stdout.splitlines()
    thin = RUN.invoke(app, ["simulate", "--every", "60", ESCALATION]).stdout.splitlines()
    assert len(thin) < len(whole) - 20
    assert sum("L3 open" in line for line in thin) == 1


def test_other_lines_can_be_tried() -> None:
    shown = RUN.invoke(app, ["simulate", "--set", "open_ratio=0.9", ESCALATION])
    assert shown.exit_code == 0
    assert "L3 open" not in shown.stdout


def test_exit_code_tells_that_the_file_expected_something_else(tmp_path: Path) -> None:
    path = tmp_path / "calm.yaml"
    path.write_text("until: 3\ntraffic: [{minutes: 0-3, n: 20}]\nexpect: [{minute: 1, from: healthy, to: warn}]\n")
    shown = RUN.invoke(app, ["simulate", str(path)])
    assert shown.exit_code == 1
    assert "no change" in shown.stdout


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- a list", "not a scenario"),
        ("traffic: []", "until is missing"),
        ("until: 1\ntrafic: []", "unknown part trafic"),
        ("until: 1\npolicy: {warn_ratio: 2}", "warn_ratio"),
        ("until: 1\ncommands: [{minute: 0, do: dance}]", "unknown command dance"),
        ("until: -1", "negative"),
        ("until: [", "expected"),
    ],
)
def test_file_that_cannot_be_played_is_named_with_its_mistake(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    shown = RUN.invoke(app, ["simulate", str(path)])
    assert shown.exit_code == 2
    assert words in shown.stderr


def test_change_without_a_value_and_a_missing_file_are_bad_input(tmp_path: Path) -> None:
    assert RUN.invoke(app, ["simulate", "--set", "open_ratio", ESCALATION]).exit_code == 2
    assert RUN.invoke(app, ["simulate", str(tmp_path / "none.yaml")]).exit_code == 2
