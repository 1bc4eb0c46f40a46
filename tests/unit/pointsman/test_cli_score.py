"""`pointsman score` as a user types it."""

import json
from pathlib import Path

import pytest
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


@pytest.mark.parametrize(
    ("raw", "arguments", "told"),
    [
        pytest.param(b"", ["-"], "the input is empty", id="empty"),
        pytest.param(b"\x7fELF\x00\x01", ["-"], "binary, not text: byte 0 at offset 4", id="binary"),
        pytest.param("你好".encode("gb18030"), ["-"], "not UTF-8: byte 0xc4 at offset 0", id="another encoding"),
        pytest.param("hi".encode("utf-16"), ["-"], "UTF-16", id="UTF-16"),
        pytest.param(b"x", ["--profile", "nonsense", "-"], "known: prose, chat, structured", id="unknown profile"),
        pytest.param(b"", ["--jsonl", "-"], "no line to judge", id="no line"),
        pytest.param(b"{}", ["--jsonl", "--profile", "chat", "-"], "stand in each line", id="profile beside lines"),
        pytest.param(b"", ["/nowhere/reply.txt"], "/nowhere/reply.txt: No such file", id="no file"),
    ],
)
def test_bad_input_is_told_with_its_reason_and_exit_code_two(raw: bytes, arguments: list[str], told: str) -> None:
    shown = RUN.invoke(APP, arguments, input=raw)
    assert shown.exit_code == 2
    assert told in shown.stderr
    assert shown.stdout == ""


@pytest.mark.parametrize(
    ("line", "told"),
    [
        pytest.param("{", "line 1: not JSON: ", id="broken"),
        pytest.param("[]", "line 1: a list; an object", id="no object"),
        pytest.param("{}", 'line 1: "text" is missing', id="no text"),
        pytest.param('{"text": 7}', 'line 1: "text" is a number; a string is wanted', id="text of another kind"),
        pytest.param('{"text": "x", "profile": 1}', '"profile" is a number', id="profile of another kind"),
        pytest.param('{"text": "x", "profile": "no"}', "unknown profile 'no'; known: prose", id="unknown profile"),
        pytest.param('{"text": "x", "logprobs": 3}', "line 1: ", id="logprobs of another kind"),
        pytest.param("[" * 100_000, "nested too deeply", id="too deep"),
    ],
)
def test_a_bad_line_says_what_is_wrong_with_it(line: str, told: str) -> None:
    shown = RUN.invoke(APP, ["--jsonl", "-"], input=line + "\n")
    assert shown.exit_code == 2
    assert told in shown.stderr


def test_previous_reply_is_compared(tmp_path: Path) -> None:
    text = " ".join(
        f"The {noun} lies in the north of the old town." for noun in ("harbour", "market", "castle", "museum")
    )
    path = tmp_path / "before"
    path.write_text(text)
    shown = RUN.invoke(APP, ["--history", str(path), "--json", "-"], input=text)
    assert json.loads(shown.stdout)["class"] == "restatement"
