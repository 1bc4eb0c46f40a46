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
    assert "→ open:" not in shown.stdout
    assert "L3 open       0%" not in shown.stdout


def test_exit_code_tells_that_the_file_expected_something_else(tmp_path: Path) -> None:
    path = tmp_path / "calm.yaml"
    path.write_text("until: 3\ntraffic: [{minutes: 0-3, n: 20}]\nexpect: [{minute: 1, from: healthy, to: warn}]\n")
    shown = RUN.invoke(app, ["simulate", str(path)])
    assert shown.exit_code == 1
    assert "no change" in shown.stdout


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- a list", "line 1: must be a mapping"),
        ("traffic: []", "until: is missing"),
        ("until: 1\ntrafic: []", "line 2: trafic: unknown key; did you mean 'traffic'?"),
        ("until: 1\ntraffic:\n- {minutes: 0-1, n: 1, kk: 1}", "line 3: traffic[0].kk: unknown key"),
        ("until: 1\ntraffic:\n- {minutes: 3-1, n: 1}", "line 3: traffic[0].minutes: the span ends before it begins"),
        ("until: 1\ntraffic:\n- {minutes: x, n: 1}", "must be a minute or a span of minutes: 3 or 3-9"),
        ("until: 1\ntraffic:\n- {minutes: 1, n: [1, -2]}", "line 3: traffic[0].n[1]"),
        ("until: 1\npolicy: {warn_ratio: 2}", "line 2: policy.warn_ratio"),
        ("until: 1\ncommands: [{minute: 0, do: dance}]", "line 2: commands[0].do: must be 'force'"),
        ("until: 1\ncommands: [{minute: 0, do: force}]", "force needs mode"),
        ("until: 1\ncommands: [{minute: 0, do: force, mode: forced_open}]", "needs until"),
        ("until: 1\ncommands: [{minute: 0, do: policy}]", "policy needs set"),
        ("until: 1\ncommands: [{minute: 0, do: stop_store}]", "needs real replicas"),
        ("until: 1\nmodels: [a]\ntraffic: [{model: b, minutes: 0, n: 1}]", "models does not name b"),
        ("until: 1\nprobes: [{minute: 0, results: c}]", "a probe of m, which is healthy"),
        ("until: -1", "line 1: until"),
        ("until: 1\nuntil: 2", "line 2: until: is given twice"),
        ("until: [", "line 1"),
    ],
)
def test_file_that_cannot_be_played_is_named_with_its_mistake(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    shown = RUN.invoke(app, ["simulate", str(path)])
    assert shown.exit_code == 2
    assert words in shown.stderr


def test_change_without_a_value_and_a_missing_file_are_bad_input(tmp_path: Path) -> None:
    for change in ("open_ratio", "open_ratio=[", "open_ratio=7", "open_ration=0.3"):
        shown = RUN.invoke(app, ["simulate", "--set", change, ESCALATION])
        assert shown.exit_code == 2
        assert "open_rati" in shown.stderr
    assert RUN.invoke(app, ["simulate", str(tmp_path / "none.yaml")]).exit_code == 2


def test_a_change_of_a_name_that_is_not_there_says_what_was_probably_meant() -> None:
    shown = RUN.invoke(app, ["simulate", "--set", "open_ration=0.3", ESCALATION])
    assert shown.exit_code == 2
    assert "unknown name 'open_ration'; did you mean 'open_ratio'?" in shown.stderr


def test_changes_that_contradict_each_other_are_all_told() -> None:
    shown = RUN.invoke(app, ["simulate", "--set", "open_ratio=0.1", "--set", "lease_s=0.5", ESCALATION])
    assert shown.exit_code == 2
    assert "must hold reduce_ratio <= open_ratio; open_ratio is 0.1 (default 0.25)" in shown.stderr
    assert "must hold fast_s < lease_s; lease_s is 0.5 (default 5)" in shown.stderr


@pytest.mark.parametrize(
    ("more", "terminal", "words"),
    [
        pytest.param([], {"LANG": "C.UTF-8"}, "next: Probes begin in", id="english unless said"),
        pytest.param([], {"LANG": "zh_CN.UTF-8"}, "后开始探测", id="the terminal's"),
        pytest.param([], {"LANG": "zh_CN.UTF-8", "LC_ALL": "en_US.UTF-8"}, "next: Probes begin in", id="LC_ALL first"),
        pytest.param(["--lang", "en"], {"LANG": "zh_CN.UTF-8"}, "next: Probes begin in", id="asked for"),
        pytest.param(["--language", "zh"], {"LANG": "en_GB.UTF-8"}, "后开始探测", id="asked for, in Chinese"),
    ],
)
def test_what_comes_next_is_told_in_the_readers_language(
    monkeypatch: pytest.MonkeyPatch, more: list[str], terminal: dict[str, str], words: str
) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    shown = RUN.invoke(app, ["simulate", *more, ESCALATION], env=terminal)
    assert shown.exit_code == 0
    assert words in shown.stdout


def test_a_language_nothing_is_written_in_is_refused() -> None:
    shown = RUN.invoke(app, ["simulate", "--lang", "de", ESCALATION])
    assert shown.exit_code == 2
    assert "--language de: one of zh, en" in shown.stderr
