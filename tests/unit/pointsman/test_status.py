"""What `pointsman status` shows of the admin port's answer."""

from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from pointsman.cli import asking as module
from pointsman.cli.main import app

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
    assert all(word in line for word in ("warn", "auto", "chat 50%", "ratio_10m"))
    assert "of 97" in line


def test_why_tells_what_the_next_change_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = httpx.Response(200, json={"models": [ROW], "store_down": False, "now": 0})
    assert asked(monkeypatch, answer, "--why", "alpha") == (0, "clears below 6.4 %\n")
    assert asked(monkeypatch, answer, "--why", "beta")[0] == 1


def test_a_wrong_token_is_told_and_exits_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = httpx.Response(401, json={"error": {"message": "send an admin token"}})
    code, out = asked(monkeypatch, refused)
    assert code == 1
    assert "send an admin token" in out


def test_without_a_token_it_says_how_to_give_one(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out = asked(monkeypatch, httpx.Response(200, json={}), token="")
    assert code == 2
    assert "--token" in out
