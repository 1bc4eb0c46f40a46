"""`pointsman alerts` against a service that answers as the admin JSON does."""

import json
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from pointsman.cli.main import app
from pointsman.cli.words import moment

INCIDENT = {
    "id": 17, "ref": "A17", "kind": "transition", "subject": "acme/large", "model": "acme/large", "scene": "",
    "severity": "critical", "peak_severity": "critical", "stage": "open", "state": "acked", "muted": "",
    "opened_at": 1_700_000_000.0, "announced": True, "acked_by": "li", "facts": {"ratio": 0.31},
}  # fmt: skip
LETTER = {
    "created_at": 1_700_000_000.0, "channel": "wecom", "why": "first", "severity": "critical", "state": "sent",
    "tries": 0, "detail": "",
}  # fmt: skip
EVENT = {"at": 1_700_000_000.0, "event": "fired", "actor": "", "text": ""}
SILENCE = {
    "id": 3, "state": "active", "kind": "", "model": "acme/*", "subject": "", "scene": "", "author": "li",
    "reason": "known", "ends_at": 1_700_003_600.0,
}  # fmt: skip
CHANNEL = {
    "name": "wecom", "kind": "wecom", "state": "ok", "backup": "dingtalk", "posts_last_minute": 0, "waiting": 0,
    "detail": "",
}  # fmt: skip


class Service:
    def __init__(self) -> None:
        self.asked: list[tuple[str, str, Any]] = []
        self.said = {"result": "ok", "detail": "", "took_s": 0.1}

    def answer(self, method: str, url: str, *, json: Any = None, **_: Any) -> httpx.Response:
        path = url.partition("8081")[2]
        self.asked.append((method, path, json))
        word = path.partition("?")[0].removeprefix("/admin/")
        body: dict[str, Any] = {
            "alerts": {"alerts": [INCIDENT]},
            "silences": {"silences": [SILENCE]} if method == "GET" else {"silence": SILENCE},
            "alert-channels": {"channels": [CHANNEL]},
            "deliveries": {"deliveries": [LETTER]},
        }.get(word) or {"alert": INCIDENT, "events": [EVENT], "deliveries": [LETTER], **self.said}
        return httpx.Response(200, json=body)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Service:
    made = Service()
    monkeypatch.setattr("pointsman.cli.asking.httpx.request", made.answer)
    monkeypatch.setenv("POINTSMAN_ADMIN_TOKEN", "pma-test")
    return made


def test_show_prints_facts_as_people_write_them(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = {
        "reasons": ["a", "b"],
        "classes": {"stuck": 7},
        "numbers": [["clean", 0.0], ["bad", 2.0]],
        "until": 1_700_000_000.0,
        "none": [],
        "enforced": False,
        "k": 3.0,
    }
    monkeypatch.setitem(INCIDENT, "facts", facts)
    _, out = said("alerts", "show", "A17")
    assert all(
        line in out
        for line in (
            "reasons: a, b\n",
            "classes: stuck 7\n",
            "numbers: clean 0, bad 2\n",
            "none: none\n",
            "enforced: no\n",
            "k: 3\n",
        )
    )
    assert f"until: {moment(1_700_000_000.0)}" in out and "['" not in out and "{'" not in out


def said(*words: str) -> tuple[int, str]:
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, list(words))
    return result.exit_code, result.output


@pytest.mark.parametrize(
    ("words", "method", "path", "parts"),
    [
        (["alerts", "list"], "GET", "/admin/alerts?state=open&model=&kind=&limit=50", ["A17", "acme/large", "li"]),
        (["alerts", "show", "A17"], "GET", "/admin/alerts/A17", ["ratio: 0.31", "fired", "wecom"]),
        (["ack", "A17"], "POST", "/admin/alerts/A17/ack", ["taken by li"]),
        (["alerts", "ack", "A17"], "POST", "/admin/alerts/A17/ack", ["taken by li"]),
        (["alerts", "unack", "A17", "--reason", "shift"], "POST", "/admin/alerts/A17/unack", ["A17"]),
        (["alerts", "note", "A17", "was called"], "POST", "/admin/alerts/A17/note", ["A17"]),
        (["alerts", "close", "A17", "--reason", "gone"], "POST", "/admin/alerts/A17/close", ["A17"]),
        (["silence", "--model", "acme/*", "--reason", "known"], "POST", "/admin/silences", ["silence 3 until 2023"]),
        (["alerts", "silences"], "GET", "/admin/silences?past=false", ["model=acme/*", "known"]),
        (["alerts", "unsilence", "3"], "POST", "/admin/silences/3/end", ["3 is over"]),
        (["alerts", "channels"], "GET", "/admin/alert-channels", ["wecom", "dingtalk", "ok"]),
        (["alerts", "deliveries"], "GET", "/admin/deliveries?state=&channel=&limit=50", ["first", "sent"]),
        (["alerts", "test"], "POST", "/admin/alert-channels/wecom/test", ["wecom: ok"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_each_word_asks_the_right_path_and_tells(
    service: Service, words: list[str], method: str, path: str, parts: list[str]
) -> None:
    code, output = said(*words)
    assert code == 0, output
    assert service.asked[-1][:2] == (method, path)
    for part in parts:
        assert part in output


def test_json_is_what_the_service_said(service: Service) -> None:
    code, output = said("alerts", "list", "--json")
    assert code == 0
    assert json.loads(output) == [INCIDENT]


def test_a_robot_that_refuses_is_an_exit_code(service: Service) -> None:
    service.said = {"result": "config", "detail": "errcode 93000", "took_s": 0.2}
    code, output = said("alerts", "test", "wecom")
    assert code == 1
    assert "wecom: config: errcode 93000 (0.20 s)" in output


def test_who_shares_a_token_can_say_who_they_are(service: Service) -> None:
    said("ack", "A17", "--as", "li")
    assert service.asked[-1][2] == {"reason": "taken", "actor": "li"}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"announced": False, "nobody_to_tell": True}, "nobody to tell"),
        ({"announced": False, "nobody_to_tell": False}, "not yet"),
        ({"announced": True, "nobody_to_tell": False}, "yes"),
    ],
)
def test_an_alert_that_nobody_was_told_of_said_yes(
    row: dict[str, bool], said: str, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "INCIDENT", INCIDENT | row)
    assert said in CliRunner().invoke(app, ["alerts"]).stdout


def test_alerts_stayed_english_whatever_was_asked_for(service: Service) -> None:
    for arguments in (["alerts", "--lang", "zh"], ["alerts", "list", "--lang", "zh"]):
        out = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"}).stdout
        assert "已认领" in out and "已通知" in out and "acked" not in out and "transition" not in out
