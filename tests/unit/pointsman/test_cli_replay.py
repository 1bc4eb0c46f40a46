"""`pointsman replay`, `mark` and `calibrate` as a user types them."""

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pointsman.cli.main import app
from pointsman.replaying import span
from tests.support.evals import FINE, LOOP

RUN = CliRunner()
FOURFOLD = "We walked along the quiet river. " * 4 + "Then the lamps went out and everybody went home."


@pytest.fixture
def replies(tmp_path: Path) -> Path:
    rows = [
        {"id": f"r{n}", "text": text, "scene": "chat", "model": "a", "at": 60 * n, "label": label}
        for n, (text, label) in enumerate([(FINE, "healthy"), (LOOP, "degenerate"), (FOURFOLD, "healthy")])
    ]
    file = tmp_path / "replies.jsonl.gz"
    file.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    return file


def test_what_other_rules_change_is_told_with_its_text_and_its_scene(replies: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text("profiles: {chat: {cycle_count: 3}}\nbreaker: {warn_ratio: 0.07}\n")
    out = tmp_path / "out.jsonl"
    shown = RUN.invoke(app, ["replay", str(replies), "-c", str(other), "-o", str(out)], env={"COLUMNS": "160"})
    assert shown.exit_code == 0, shown.output
    assert "3 judged, 1 degenerate by the rules in force" in shown.stdout
    assert "2 by the other rules: 1 newly, 0 no longer" in shown.stdout
    assert "0 → 1 of 2" in shown.stdout and "0 → 0 of 1" in shown.stdout
    assert "r2 a chat: newly degenerate, labelled healthy" in shown.stdout
    assert "a: the breaker by the rules in force" in shown.stdout and "no change of level" in shown.stdout
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(row["id"], row["before"], row["after"]) for row in rows] == [
        ("r0", False, False),
        ("r1", True, True),
        ("r2", False, True),
    ]


def test_a_bad_line_is_named_and_the_others_are_judged(tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    file.write_text('{"text": "x"}\nnot json\n')
    shown = RUN.invoke(app, ["replay", str(file)])
    assert shown.exit_code == 2
    assert f"{file}: line 2: " in shown.stderr
    assert "1 judged" in shown.stdout
    assert "the breaker cannot be played" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "name files of replies, or --since"),
        (["x.jsonl", "--since", "1d"], "give either them or files"),
        (["none.jsonl"], "No such file"),
        (["--since", "1d", "--base", "none.yaml"], "none.yaml: there is no such file"),
    ],
)
def test_what_cannot_be_read_is_told(arguments: list[str], words: str, tmp_path: Path) -> None:
    shown = RUN.invoke(app, ["replay", *arguments])
    assert shown.exit_code == 2
    assert words in shown.stderr


def test_a_mistake_in_the_other_rules_is_named_with_its_line(replies: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text("profiles:\n  chat: {trigramm_repeat: 0.5}\n")
    shown = RUN.invoke(app, ["replay", str(replies), "-c", str(other)])
    assert shown.exit_code == 2
    assert "line 2: profiles.chat.trigramm_repeat: unknown key; did you mean 'trigram_repeat'?" in shown.stderr


@pytest.mark.parametrize(
    ("since", "until", "seconds"),
    [
        ("2h", None, (1_000_000.0 - 7_200, 1_000_000.0)),
        ("1970-01-02", "1970-01-03", (57_600.0, 57_600.0 + 2 * 86_400)),
        ("1970-01-02T08:00", "1970-01-02T08:00:10+00:00", (86_400.0, 115_210.0)),
    ],
)
def test_a_time_is_read_in_the_fleets_zone(since: str, until: str | None, seconds: tuple[float, float]) -> None:
    assert span(since, until, "Asia/Shanghai", 1_000_000.0) == seconds


def test_a_time_that_is_none_says_what_to_write() -> None:
    with pytest.raises(ValueError, match="write 7d"):
        span("last week", None, "UTC", 0.0)
    with pytest.raises(ValueError, match="not before"):
        span("1970-01-03", "1970-01-01", "UTC", 0.0)


def test_calibrate_shows_the_trade_off_and_draws_it(replies: Path, tmp_path: Path) -> None:
    page = tmp_path / "curves.html"
    shown = RUN.invoke(app, ["calibrate", str(replies), "-o", str(page)], env={"COLUMNS": "160"})
    assert shown.exit_code == 0, shown.output
    assert "under 30 healthy or 10 degenerate replies, so nothing is suggested" in shown.stdout
    # Three lines, and no curve: there is nothing to choose.
    assert shown.stdout.count("│ few ") == 3 and "at most (95 %)" not in shown.stdout
    whole = RUN.invoke(app, ["calibrate", str(replies), "--scene", "chat"], env={"COLUMNS": "160"})
    assert "chat: trigram_repeat, 2 healthy and 1 degenerate replies" in whole.stdout
    assert page.read_text(encoding="utf-8").count("<svg") == 3


def test_calibrate_needs_labels(tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    file.write_text('{"text": "x"}\n')
    shown = RUN.invoke(app, ["calibrate", str(file)])
    assert shown.exit_code == 2 and "nothing is labelled" in shown.stderr
    assert RUN.invoke(app, ["calibrate"]).exit_code == 2


def test_marking_what_is_not_there_is_told(tmp_path: Path) -> None:
    file = tmp_path / "pointsman.yaml"
    file.write_text(
        f"data_dir: {tmp_path / 'var'}\n"
        "models: {a: {endpoints: [{base_url: 'http://127.0.0.1:1/v1', model: m}]}}\n"
        "routes: {r: {candidates: [{model: a}]}}\n"
    )
    shown = RUN.invoke(app, ["mark", "nobody", "wrong", "--base", str(file)])
    assert shown.exit_code == 1 and "no failed reply of nobody" in shown.stderr
    shown = RUN.invoke(app, ["replay", "--since", "1d", "--base", str(file)])
    assert shown.exit_code == 0 and "0 judged" in shown.stdout


def test_calibrate_claimed_that_nothing_is_better_though_nothing_was_compared(tmp_path: Path) -> None:
    file = tmp_path / "few.jsonl"
    file.write_text(json.dumps({"text": "Fine so far.", "label": "healthy"}) + "\n", encoding="utf-8")
    told = RUN.invoke(app, ["calibrate", str(file)], env={"COLUMNS": "160"})
    assert told.exit_code == 0 and "nothing was compared" in told.stdout and "nothing is better" not in told.stdout
