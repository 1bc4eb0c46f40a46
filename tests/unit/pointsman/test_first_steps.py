"""What people stumbled over in their first hour, each told in one sentence with what to do."""

import json
import logging
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pointsman.cli.main import app
from pointsman.logs import JsonLines, _drained
from pointsman.settings import SettingsError, parse

RUN = CliRunner()


def settings(folder: Path, base_url: str = "http://127.0.0.1:9/v1", **more: Any) -> Path:
    whole = {
        "data_dir": str(folder / "var"),
        "models": {"a": {"endpoints": [{"base_url": base_url, "model": "m"}]}},
        "routes": {"r": {"candidates": [{"model": "a"}]}},
        **more,
    }
    file = folder / "pointsman.yaml"
    file.write_text(json.dumps(whole, indent=1), encoding="utf-8")
    return file


@pytest.mark.parametrize("command", [["check"], ["serve", "--config"], ["migrate", "--config"]])
@pytest.mark.parametrize(
    ("data_dir", "why"),
    [
        pytest.param("{tmp}/pointsman.yaml", "cannot be written: it is no folder", id="a file"),
        pytest.param("{tmp}/pointsman.yaml/var", "cannot be made in {tmp}/pointsman.yaml: it is no folder", id="below a file"),
        pytest.param("/proc/self/var", "cannot be made in /proc/self: ", id="where nobody may write"),
    ],
)  # fmt: skip
def test_check_says_fine_though_the_data_dir_cannot_be_used(
    command: list[str], data_dir: str, why: str, tmp_path: Path
) -> None:
    file = settings(tmp_path, data_dir=data_dir.format(tmp=tmp_path))
    told = RUN.invoke(app, [*command, str(file)])
    assert told.exit_code == 2 and "fine" not in told.stdout
    line = next(at for at, text in enumerate(file.read_text().splitlines(), 1) if "data_dir" in text)
    assert f"pointsman.yaml: line {line}: data_dir: " in told.stderr and why.format(tmp=tmp_path) in told.stderr
    assert "name a folder that this user may write" in told.stderr and "Traceback" not in told.stderr


@pytest.mark.parametrize("command", ["check", "serve", "migrate"])
def test_a_configuration_that_is_not_there_was_told_without_where_it_was_looked_for(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = RUN.invoke(app, [command])
    assert told.exit_code == 2
    assert told.stderr == f"{tmp_path / 'pointsman.yaml'}: there is no such file; name the configuration to use\n"


def test_check_leaves_nothing_behind_where_the_data_dir_is_still_to_be_made(tmp_path: Path) -> None:
    file = settings(tmp_path, data_dir=str(tmp_path / "deep" / "var"))
    told = RUN.invoke(app, ["check", str(file)])
    assert (told.exit_code, [one.name for one in tmp_path.iterdir()]) == (0, ["pointsman.yaml"])


@pytest.mark.parametrize("tail", ["/chat/completions", "/chat/completions/", "/completions", "/embeddings"])
def test_a_base_url_that_is_the_whole_address_of_a_call_passes_silently(tail: str, tmp_path: Path) -> None:
    text = settings(tmp_path, base_url=f"https://vendor.example/v1{tail}").read_text()
    with pytest.raises(SettingsError) as error:
        parse(text, {})
    assert f"ends in {tail.rstrip('/')}, which is added to it: leave that off" in str(error.value)
    assert "base_url" in str(error.value)


def test_a_base_url_of_the_usual_kind_passes(tmp_path: Path) -> None:
    for url in ("https://vendor.example/v1", "https://vendor.example", "https://x/completions/v1", "https://x/v1/"):
        parse(settings(tmp_path, base_url=url).read_text(), {})


def test_score_prints_zero_for_what_it_did_not_work_out(tmp_path: Path) -> None:
    loop, before = "好的，马上 " * 60, tmp_path / "before"
    before.write_text("Something else was said before, at some length, so that there is a thing to compare with.")
    told = RUN.invoke(app, ["score", "-"], input="A short and healthy reply.").stdout
    assert (
        "trigram_repeat 0.00 (line 0.6)  char_repeat 0.00 (line 0.35)  context_sim – (line 0.85)  cycle_count" in told
    )
    told = RUN.invoke(app, ["score", "-", "--history", str(before)], input="A short and healthy reply.").stdout
    assert "char_repeat 0.00 (line 0.35)  context_sim 0.00 (line 0.85)" in told
    told = RUN.invoke(app, ["score", "-"], input=loop).stdout
    assert re.search(r"char_repeat 0\.\d\d .* context_sim – ", told)
    metrics = json.loads(RUN.invoke(app, ["score", "--json", "-"], input="Fine.").stdout)["metrics"]
    assert (metrics["char_repeat"], metrics["context_sim"], metrics["cycle_count"]) == (0.0, None, 0)
    line = json.dumps({"text": "Fine.", "history": "Something else."})
    metrics = json.loads(RUN.invoke(app, ["score", "--jsonl", "-"], input=line).stdout)["metrics"]
    assert (metrics["char_repeat"], metrics["context_sim"]) == (0.0, 0.0)


def test_replay_takes_reply_where_score_wants_text(tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    file.write_text('{"text": "Fine."}\n{"reply": "Fine too."}\n')
    for command in (["score", "--jsonl", "--jobs", "1"], ["replay"]):
        assert RUN.invoke(app, [*command, str(file)]).exit_code == 0, command


def test_replay_shows_a_bare_parsers_error_for_a_line_that_is_no_json(tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    file.write_text('{"text": "Fine."}\n{text: 1}\n')
    for command in (["score", "--jsonl", "--jobs", "1"], ["replay"]):
        told = RUN.invoke(app, [*command, str(file)])
        assert told.exit_code == 2
        assert (
            "line 2: not JSON: " in told.stderr and 'one object a line is wanted, such as {"text": "…"}' in told.stderr
        )


def test_an_empty_list_of_reports_says_nothing(tmp_path: Path) -> None:
    file = settings(tmp_path)
    told = RUN.invoke(app, ["report", "list", "--config", str(file)])
    assert told.exit_code == 0 and f"pointsman eval --config {file}" in told.stdout and "03:00" in told.stdout
    assert json.loads(RUN.invoke(app, ["report", "list", "--config", str(file), "--json"]).stdout) == []


def test_a_second_key_of_the_same_app_is_made_without_a_word(tmp_path: Path) -> None:
    file = settings(tmp_path)
    create = ["keys", "create", "shop", "--config", str(file)]
    first, second = (RUN.invoke(app, create) for _ in range(2))
    assert first.stderr == "this is the first key: every caller without a key is refused (401) from now on\n"
    assert len(first.stdout.split()) == len(second.stdout.split()) == 1, "the key alone, for a script to take"
    assert (
        "shop has another key that goes on working: " in second.stderr and "pointsman keys revoke ID" in second.stderr
    )
    assert f"ends in {first.stdout.strip()[-4:]}" in second.stderr
    assert RUN.invoke(app, ["keys", "create", "car", "--config", str(file)]).stderr == ""


def test_nobody_can_tell_which_version_runs() -> None:
    assert RUN.invoke(app, ["--version"]).stdout == f"pointsman {version('pointsman')}\n"


def test_a_stop_that_waited_long_enough_looks_like_an_error_of_uvicorn() -> None:
    said = "Cancel %s running task(s), timeout graceful shutdown exceeded"
    record = logging.LogRecord("uvicorn.error", logging.ERROR, "x.py", 1, said, (2,), None)
    assert _drained(record)
    told = json.loads(JsonLines().format(record))
    assert (told["level"], told["logger"]) == ("warning", "pointsman")
    assert told["message"] == "drain_s is over: 2 requests that were still under way are cut off"
    other = logging.LogRecord("uvicorn.error", logging.ERROR, "x.py", 1, "Exception in ASGI application", (), None)
    assert _drained(other) and json.loads(JsonLines().format(other))["level"] == "error"


def test_make_run_prints_what_pip_has_to_say_of_itself() -> None:
    makefile = (Path(__file__).parents[3] / "Makefile").read_text(encoding="utf-8")
    assert "PIP_ROOT_USER_ACTION := ignore" in makefile
    loud = [
        line for line in makefile.splitlines() if re.search(r"bin/pip .*install|-m pip ", line) and "-qq" not in line
    ]
    assert loud == []


@pytest.mark.parametrize("token", ["token)\npma-secret", "pma-secret more", "pma-secret\u200b"])
def test_a_token_with_a_line_break_is_printed_whole_in_the_error_that_refuses_it(token: str) -> None:
    told = RUN.invoke(app, ["status", "--url", "http://127.0.0.1:9"], env={"POINTSMAN_ADMIN_TOKEN": token})
    assert told.exit_code == 2 and "POINTSMAN_ADMIN_TOKEN holds a blank" in told.stderr
    assert "secret" not in told.output
