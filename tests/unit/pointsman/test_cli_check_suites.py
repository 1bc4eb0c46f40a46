"""`pointsman check` looks into the suite files that the configuration names."""

from pathlib import Path

from typer.testing import CliRunner

from pointsman.cli.main import app

RUN = CliRunner()


def test_a_mistake_in_a_suite_is_told_before_the_night(tmp_path: Path) -> None:
    suite = tmp_path / "suite.yaml"
    suite.write_text("suite: s\nlanguage: en\nsize: 1\nitems:\n  - {id: a, lure: code, prompt: 'x {y}'}\n")
    file = tmp_path / "pointsman.yaml"
    file.write_text(
        f"nightly: {{suites: ['{suite}']}}\n"
        "models: {a: {endpoints: [{base_url: 'http://127.0.0.1:1/v1', model: m}]}}\n"
        "routes: {r: {candidates: [{model: a}]}}\n"
    )
    shown = RUN.invoke(app, ["check", str(file)])
    assert shown.exit_code == 0
    assert f"nightly.suites: {suite}: item a: vary: nothing fills {{y}}; the nightly run would fail" in shown.stderr
    suite.write_text(suite.read_text().replace("{y}", "y"))
    assert "would fail" not in RUN.invoke(app, ["check", str(file)]).stderr
