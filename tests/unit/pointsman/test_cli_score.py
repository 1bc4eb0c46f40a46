"""`pointsman score` as a user types it."""

import json
from pathlib import Path

import typer
from typer.testing import CliRunner

from pointsman.cli.score import score_command

APP = typer.Typer()
APP.command()(score_command)
RUN = CliRunner()
LOOP = "Here it is. " + "好的，马上 " * 60


def test_loop_is_shown_and_the_exit_code_is_one(tmp_path: Path) -> None:
    path = tmp_path / "reply.txt"
    path.write_text(LOOP)
    shown = RUN.invoke(APP, [str(path)])
    assert shown.exit_code == 1
    assert "degenerate: phrase_loop" in shown.stdout
    assert "⟦" in shown.stdout


def test_stdin_is_read_and_a_healthy_text_exits_zero() -> None:
    shown = RUN.invoke(APP, ["-"], input="A short and healthy reply.")
    assert (shown.exit_code, shown.stdout.split()[0]) == (0, "clean,")


def test_verdict_as_json(tmp_path: Path) -> None:
    shown = RUN.invoke(APP, ["--json", "-"], input=LOOP)
    assert json.loads(shown.stdout)["class"] == "phrase_loop"


def test_json_lines_name_the_bad_one_and_go_on(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_text(
        json.dumps({"id": "x", "text": LOOP}) + "\nnot json\n" + json.dumps({"id": "y", "text": "Fine."}) + "\n"
    )
    shown = RUN.invoke(APP, ["--jsonl", "--jobs", "1", str(path)])
    assert [json.loads(line)["id"] for line in shown.stdout.splitlines()] == ["x", "y"]
    assert "line 2:" in shown.stderr
    assert shown.exit_code == 2


def test_missing_file_and_unknown_profile_are_bad_input(tmp_path: Path) -> None:
    assert RUN.invoke(APP, [str(tmp_path / "none")]).exit_code == 2
    assert RUN.invoke(APP, ["--profile", "nonsense", "-"], input="x").exit_code == 2


def test_previous_reply_is_compared(tmp_path: Path) -> None:
    text = " ".join(
        f"The {noun} lies in the north of the old town." for noun in ("harbour", "market", "castle", "museum")
    )
    path = tmp_path / "before"
    path.write_text(text)
    shown = RUN.invoke(APP, ["--history", str(path), "--json", "-"], input=text)
    assert json.loads(shown.stdout)["class"] == "restatement"
