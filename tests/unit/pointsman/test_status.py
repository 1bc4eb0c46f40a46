"""What `pointsman status` shows of the admin port's answer."""

from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from pointsman.cli import asking as module
from pointsman.cli.main import app
from pointsman.cli.words import moment

RULE = {"rule": "ratio_10m", "value": 0.0825, "n": 97}
ROW = {
    "model": "alpha",
    "effective": "warn",
    "mode": "auto",
    "shares": [{"route": "chat", "configured": 0.5, "effective": 0.5}],
    "reasons": ["ratio_10m"],
    "rules": [RULE],
    "next": ["clears below 6.4 %"],
}


def asked(
    monkeypatch: pytest.MonkeyPatch, answer: httpx.Response, *arguments: str, token: str = "pma-test"
) -> tuple[int, str]:
    def request(method: str, url: str, **_: Any) -> httpx.Response:
        return answer

    monkeypatch.setattr(module.httpx, "request", request)
    result = CliRunner().invoke(app, ["status", *arguments], env={"COLUMNS": "160", "POINTSMAN_ADMIN_TOKEN": token})
    return result.exit_code, result.output


def test_each_model_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out = asked(monkeypatch, httpx.Response(200, json={"models": [ROW], "store_down": False, "now": 0}))
    assert code == 0
    line = next(line for line in out.splitlines() if "alpha" in line)
    assert all(word in line for word in ("L1 warn", "automatic", "chat 50%", "Repeats over 10 minutes"))
    assert "of 97" in line


def test_right_after_a_move_it_says_that_counting_began_anew_and_why_it_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {"rule": "ratio_10m", "value": 0.0, "n": 1, "minimum": 30, "known": False}
    move = {"at": 90.0, "reasons": ["burst"], "numbers": {"burst.k": 12.0, "burst.ratio": 0.5}}
    moved = {**ROW, "effective": "reduced", "reasons": ["burst"], "rules": [few], "since": 90.0, "transitions": [move]}
    code, out = asked(monkeypatch, httpx.Response(200, json={"models": [moved], "store_down": False, "now": 120}))
    line = next(line for line in out.splitlines() if "alpha" in line)
    assert code == 0
    assert "L2 reduced" in line and "30 s" in line and " 0.0%" not in line
    assert "too few to tell: 1 of the 30 needed since its last move" in line
    assert "One loop in a burst (bad 12, ratio 50.0%)" in line


def test_a_forced_mode_says_its_end_and_who_set_it(monkeypatch: pytest.MonkeyPatch) -> None:
    forced = {**ROW, "mode": "forced_open", "mode_until": 1_900.0, "mode_actor": "Li", "mode_reason": "vendor incident"}
    _, out = asked(monkeypatch, httpx.Response(200, json={"models": [forced], "store_down": False, "now": 100}))
    assert "forced open, 30 min left" in out and "by Li: vendor incident" in out


def test_why_tells_what_the_next_change_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = httpx.Response(200, json={"models": [ROW], "store_down": False, "now": 0})
    assert asked(monkeypatch, answer, "--why", "alpha") == (0, "clears below 6.4 %\n")
    assert asked(monkeypatch, answer, "--why", "beta")[0] == 1


@pytest.mark.parametrize(("more", "wanted"), [((), "en"), (("--lang", "zh"), "zh")])
def test_it_asks_for_sentences_in_the_readers_language(
    monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...], wanted: str
) -> None:
    sent: list[dict[str, str]] = []

    def request(method: str, url: str, *, headers: dict[str, str], **_: Any) -> httpx.Response:
        sent.append(headers)
        return httpx.Response(200, json={"models": [ROW], "store_down": False, "now": 0})

    monkeypatch.setattr(module.httpx, "request", request)
    env = {"POINTSMAN_ADMIN_TOKEN": "pma-test", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
    assert CliRunner().invoke(app, ["status", "--why", "alpha", *more], env=env).exit_code == 0
    assert sent[0]["accept-language"] == wanted


def test_a_wrong_token_is_told_and_exits_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = httpx.Response(401, json={"error": {"message": "send an admin token"}})
    code, out = asked(monkeypatch, refused)
    assert code == 1
    assert "the admin token from the environment's POINTSMAN_ADMIN_TOKEN is not valid" in out


def test_without_a_token_it_says_how_to_give_one(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out = asked(monkeypatch, httpx.Response(200, json={}), token="")
    assert code == 2
    assert "--token" in out


OPENED = {
    "at": 1_700_000_000.0, "from_level": "reduced", "to_level": "open", "reasons": ["rolling_15m"],
    "numbers": {"rolling_15m.ratio": 0.5, "rolling_15m.n": 40.0, "rolling_15m.k": 20.0},
}  # fmt: skip
COOLED = {
    "at": 1_700_000_300.0, "from_level": "open", "to_level": "recovering", "reasons": ["cooled_down"], "numbers": {},
}  # fmt: skip


def test_why_an_open_model_is_open_is_told_with_rule_figures_and_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {**ROW, "effective": "open", "transitions": [OPENED], "next": ["Probes begin in 17 s"]}
    answer = httpx.Response(200, json={"models": [row], "store_down": False, "now": 1_700_000_060.0})
    code, out = asked(monkeypatch, answer, "--why", "alpha", "--lang", "en")
    since = moment(1_700_000_000.0)
    said = f"L3 open since {since} (1 min): Repeats for 15 minutes on end (ratio 50.0%, of 40, bad 20)"
    assert (code, out) == (0, f"{said}\nProbes begin in 17 s\n")
    _, out = asked(monkeypatch, answer, "--why", "alpha", "--lang", "zh")
    assert f"L3 熔断，自 {since} 起（已 1 分钟）：" in out and "（比率 50.0%、共 40、坏 20）" in out


def test_why_a_model_recovers_goes_back_to_the_rule_that_opened_it(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {**ROW, "effective": "recovering", "transitions": [OPENED, COOLED], "next": []}
    answer = httpx.Response(200, json={"models": [row], "store_down": False, "now": 1_700_000_360.0})
    lines = asked(monkeypatch, answer, "--why", "alpha", "--lang", "en")[1].splitlines()
    assert lines[0].startswith("Recovering since") and "L3 open since" in lines[1] and len(lines) == 2


def test_why_a_forced_model_stands_so_names_who_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {**ROW, "effective": "open", "mode": "forced_open", "mode_actor": "Li", "mode_reason": "误报", "next": []}
    answer = httpx.Response(200, json={"models": [row], "store_down": False, "now": 0})
    assert asked(monkeypatch, answer, "--why", "alpha", "--lang", "en")[1] == "L3 open: By Li: 误报\n"


def test_why_after_a_hand_names_whose_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    hand = {**COOLED, "reasons": ["operator"], "actor": "Li", "note": "auto: 误报"}
    row = {**ROW, "effective": "recovering", "transitions": [OPENED, hand], "next": []}
    answer = httpx.Response(200, json={"models": [row], "store_down": False, "now": 1_700_000_360.0})
    assert asked(monkeypatch, answer, "--why", "alpha", "--lang", "en")[1].endswith("(1 min): By Li: auto: 误报\n")
