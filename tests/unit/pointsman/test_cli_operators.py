"""What operators' commands ask of the admin API, and how they show it."""

import json
from datetime import datetime
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from pointsman.cli import asking
from pointsman.cli.main import app
from pointsman.cli.words import moment

RULE = {
    "rule": "ratio_10m", "level": "warn", "value": 0.0825, "line": 0.08, "n": 97, "minimum": 30, "known": True, "fired": True,
}  # fmt: skip
MOVE = {"at": 1.0, "from_level": "healthy", "to_level": "warn", "reasons": ["ratio_10m"], "actor": "[red]breaker"}
ROW = {
    "model": "acme/large", "effective": "warn", "mode": "auto", "reasons": ["ratio_10m"], "rules": [RULE], "next": [],
    "shares": [{"route": "chat", "configured": 0.5, "effective": 0.5}], "transitions": [MOVE],
}  # fmt: skip
FLEET = {"models": [ROW], "store_down": False, "now": 0}
GRAY = {"model": "a", "candidate": "b", "stage": "running", "share": 0.05, "id": "r1"}
TRY = {
    "model": "a", "begun_ms": 0, "elapsed_ms": 900, "loop_class": "stuck", "fault": "repetition_detected",
    "suppressed_chars": 300,
}  # fmt: skip
REQUEST = {
    "at": 1_700_000_000.0, "request_id": "pm-1", "app": "[bold]shop", "route": "chat", "served_model": "b",
    "fallback": "model", "attempts": [TRY], "elapsed_ms": 2_000, "status": 200,
}  # fmt: skip


def told(
    monkeypatch: pytest.MonkeyPatch, answer: Any, *arguments: str, status: int = 200
) -> tuple[int, str, list[tuple[str, str, Any]]]:
    """Exit code, output, and what was asked."""
    calls: list[tuple[str, str, Any]] = []

    def request(method: str, url: str, *, json: Any = None, **_: Any) -> httpx.Response:
        calls.append((method, url, json))
        return httpx.Response(status, json=answer)

    monkeypatch.setattr(asking.httpx, "request", request)
    environment = {"COLUMNS": "200", "POINTSMAN_ADMIN_TOKEN": "pma-test"}
    result = CliRunner().invoke(app, list(arguments), env=environment)
    return result.exit_code, result.output, calls


def test_models_lists_all_and_tells_the_rules_and_moves_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = told(monkeypatch, FLEET, "models")
    assert code == 0 and "acme/large" in out and "warn" in out
    code, out, _ = told(monkeypatch, FLEET, "models", "acme/large")
    assert code == 0 and "97 / 30" in out and "reached" in out and "[red]breaker" in out
    code, out, _ = told(monkeypatch, FLEET, "models", "nobody")
    assert code == 1 and "known: acme/large" in out


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (("status", "--json"), FLEET),
        (("models", "--json"), FLEET),
        (("models", "acme/large", "--json"), FLEET),
        (("requests", "--json"), {"requests": [REQUEST]}),
        (("requests", "pm-1", "--json"), {"request": REQUEST, "failed": []}),
        (("reset", "a", "--reason", "fixed", "--json"), ROW),
        (("force", "a", "observe", "--reason", "a drill", "--json"), ROW),
        (("ack", "A7", "--json"), {"alert": {"ref": "A7"}}),
        (("alerts", "unack", "A7", "--reason", "not mine", "--json"), {"alert": {"ref": "A7"}}),
        (("alerts", "note", "A7", "asked them", "--json"), {"alert": {"ref": "A7"}}),
        (("silence", "--model", "a", "--reason", "a drill", "--json"), {"silence": {"id": 1, "ends_at": 1.0}}),
        (("alerts", "unsilence", "1", "--json"), {"id": 1, "state": "over"}),
        (("alerts", "silences", "--json"), {"silences": []}),
        (("alerts", "channels", "--json"), {"channels": []}),
        (("alerts", "deliveries", "--json"), {"deliveries": []}),
        (("alerts", "--json"), {"alerts": []}),
        (("gray", "--json"), {"releases": []}),
        (("gray", "history", "--json"), {"releases": []}),
        (("gray", "start", "a", "b", "-r", "newer", "--json"), GRAY),
        (("gray", "promote", "a", "-r", "fine", "--json"), GRAY),
        (("jobs", "--json"), {"jobs": []}),
        (("jobs", "history", "hourly", "--json"), {"runs": []}),
        (("jobs", "run", "hourly", "--json"), {"job": "hourly", "slot": "hand-1"}),
        (("switch", "--json"), {"switches": []}),
        (("switch", "set", "bypass", "-r", "a drill", "--json"), {"route": "", "mode": "bypass"}),
    ],
)
def test_json_is_json(monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], answer: Any) -> None:
    code, out, _ = told(monkeypatch, answer, *arguments)
    assert code == 0
    json.loads(out)


def test_force_sends_mode_minutes_and_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("force", "acme/large", "forced_open", "--reason", "vendor incident", "--minutes", "30")
    forced = {**ROW, "mode": "forced_open", "effective": "open", "mode_until": 1_700_000_000.0}
    code, out, calls = told(monkeypatch, forced, *arguments)
    assert code == 0
    assert "acme/large is forced open, and takes no traffic (L3 open) until 2023-11-1" in out
    assert "then it is probed" in out and "straight back: pointsman reset acme/large" in out
    assert calls == [
        (
            "POST",
            "http://127.0.0.1:8081/admin/models/acme/large/force",
            {"mode": "forced_open", "reason": "vendor incident", "minutes": 30.0},
        )
    ]


@pytest.mark.parametrize(
    ("group", "command", "answer"),
    [
        ("alerts", ("silences",), {"silences": []}),
        ("jobs", ("run", "hourly"), {"job": "hourly", "slot": "hand-1"}),
        ("gray", ("stop", "a", "--reason", "a drill"), GRAY),
    ],
)
def test_an_address_before_the_commands_name_is_not_forgotten(
    monkeypatch: pytest.MonkeyPatch, group: str, command: tuple[str, ...], answer: dict[str, Any]
) -> None:
    code, out, calls = told(monkeypatch, answer, group, "--url", "http://ops:1", "--json", *command)
    assert code == 0 and json.loads(out) is not None
    assert calls[0][1].startswith("http://ops:1/")
    _, _, calls = told(monkeypatch, answer, group, "--url", "http://ops:1", *command, "--url", "http://other:2")
    assert calls[0][1].startswith("http://other:2/")  # the nearer one counts


def test_a_refusal_is_told_and_exits_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = {"error": {"message": "healthy -> recovering is no edge"}}
    code, out, _ = told(monkeypatch, refusal, "reset", "a", "--reason", "because", "--actor", "Li", status=409)
    assert code == 1 and "no edge" in out


def test_a_reason_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    code, _, calls = told(monkeypatch, ROW, "reset", "a")
    assert code == 2 and calls == []


def test_requests_are_one_line_each_and_a_strangers_words_stay_text(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, calls = told(monkeypatch, {"requests": [REQUEST]}, "requests", "--app", "shop", "--trouble")
    assert code == 0 and "pm-1" in out and "[bold]shop" in out
    assert "app=shop" in calls[0][1] and "trouble=true" in calls[0][1] and "since=" in calls[0][1]


def test_one_request_tells_its_attempts_and_the_excerpt(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = {"model": "a", "loop_class": "stuck", "fault": "repetition_detected", "excerpt": "你！你！[/]"}
    code, out, _ = told(monkeypatch, {"request": REQUEST, "failed": [failed]}, "requests", "pm-1")
    assert code == 0 and "stuck" in out and "你！你！[/]" in out and "300" in out
    assert "a said (stuck; none of it was shown to the user):" in out


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"fallback": "cut"}, "a said (stuck; 300 characters of it were not shown to the user):"),
        ({"fallback": "splice", "attempts": [TRY, TRY]}, "a said (stuck):"),
        ({"fallback": "none", "attempts": [{**TRY, "suppressed_chars": 0}], "stream": True}, "a said (stuck):"),
        ({"fallback": "none", "status": 502}, "a said (stuck; none of it was shown to the user):"),
    ],
)
def test_an_excerpt_of_which_most_was_shown_is_not_called_not_shown(
    monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], wanted: str
) -> None:
    failed = {"model": "a", "loop_class": "stuck", "fault": "repetition_detected", "excerpt": "你！你！"}
    _, out, _ = told(monkeypatch, {"request": {**REQUEST, **fields}, "failed": [failed]}, "requests", "pm-1")
    assert wanted in out and "not shown to the user:" not in out.replace(wanted, "")


@pytest.mark.parametrize("effective", ["open", "recovering"])
def test_a_model_that_takes_no_traffic_is_not_said_to_take_some(
    monkeypatch: pytest.MonkeyPatch, effective: str
) -> None:
    row = {**ROW, "mode": "auto", "effective": effective}
    _, out, _ = told(monkeypatch, row, "force", "acme/large", "auto", "--reason", "a drill")
    assert "takes no traffic" in out and "takes traffic" not in out


def test_a_wrong_token_is_said_to_be_wrong_and_where_it_came_from(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"error": {"message": "this admin token is not valid", "code": "unauthorized"}}
    code, out, _ = told(monkeypatch, answer, "status", status=401)
    assert code == 1 and "the admin token from the environment's POINTSMAN_ADMIN_TOKEN is not valid" in out
    _, out, _ = told(monkeypatch, answer, "status", "--token", "pma-x", status=401)
    assert "the admin token from --token is not valid" in out and "pma-x" not in out


@pytest.mark.parametrize("url", ["127.0.0.1:18581", "localhost", "ftp://ops", ""])
def test_an_address_without_a_scheme_is_named_and_nothing_is_asked(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    code, out, calls = told(monkeypatch, FLEET, "status", "--url", url)
    assert code == 2 and calls == [] and f"--url {url}: must begin with http:// or https://" in out


@pytest.mark.parametrize(
    ("status", "answer"), [(200, []), (404, {"detail": "Not Found"}), (502, "x"), (200, {"ok": True})]
)
def test_another_kind_of_server_is_called_so(monkeypatch: pytest.MonkeyPatch, status: int, answer: Any) -> None:
    code, out, _ = told(monkeypatch, answer, "status", status=status)
    assert code == 1 and "is another kind of server (" in out and "admin_listen" in out
    assert f"HTTP {status}, application/json" in out or "its answer has no 'models'" in out


def test_the_clients_address_instead_of_the_operators_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"error": {"message": "GET /admin/models: no such path", "code": "not_found"}}
    _, out, _ = told(monkeypatch, answer, "status", status=404)
    assert "no such path; give the operators' address" in out


def test_the_shell_can_complete_commands() -> None:
    out = CliRunner().invoke(app, ["--help"]).output
    assert "--install-completion" in out


REFUSAL = {
    "endpoint": 0, "status": 401, "waits": False, "told_at": 1_700_000_000.0, "again_at": 1_700_000_300.0, "others": 0,
}  # fmt: skip
REFUSED = {
    **ROW,
    "effective": "healthy",
    "reasons": [],
    "refused": True,
    "refusals": [REFUSAL],
    "next": ["Warns at 8 %"],
}


def test_a_model_that_its_vendor_refuses_does_not_read_as_healthy(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = {**FLEET, "models": [REFUSED], "now": 1_700_000_010.0}
    said = f"Refused by the vendor (401), asked again at {moment(1_700_000_300.0)}"
    for command in (("status",), ("models",), ("models", "acme/large")):
        code, out, _ = told(monkeypatch, fleet, *command)
        assert code == 0 and said in out and "Healthy" not in out.split("rule")[0], command
    code, out, _ = told(monkeypatch, fleet, "status", "--why", "acme/large", "--lang", "zh")
    assert f"被供应商拒绝（401），{moment(1_700_000_300.0)} 再试" in out and "请核对密钥" in out
    late = {**fleet, "now": 1_700_000_301.0}
    assert "asked again with the next request" in told(monkeypatch, late, "status")[1]
    code, out, _ = told(monkeypatch, fleet, "status", "--json")
    assert json.loads(out)["models"][0]["refusals"] == [REFUSAL]


def test_a_moment_in_a_table_says_in_which_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = told(monkeypatch, {"requests": [REQUEST]}, "requests")
    zone = datetime.fromtimestamp(1_700_000_000.0).astimezone().tzname()
    assert code == 0 and zone and f":20 {zone}" in out
    code, out, _ = told(monkeypatch, FLEET, "models", "acme/large")
    assert f":01 {zone}" in out


LISTED = {
    "model": "acme/large", "day": "2026-01-30", "last_bad_day": "2026-01-31", "users": 9, "complaints": 11, "threshold": 6,
    "expected": 1.25, "chance": 2e-6, "clean_days": 1, "left_at": 0.0, "left_why": "", "left_by": "",
    "samples": [{"request_id": "pm-7", "kind": "repetition", "source": "user", "app": "[b]car", "note": "again and again"}],
}  # fmt: skip
RISE = {
    "id": "hourly:a:1", "at": 1_700_000_000.0, "kind": "hourly", "model": "acme/large", "scene": "", "standing": True,
    "until": 1_700_007_200.0, "facts": {"sure": False},
    "numbers": {"previous": 0.06, "ratio": 0.095, "n": 1_000, "growth": 1.58, "chance": 0.003},
}  # fmt: skip
CHANGED = {
    **RISE,
    "kind": "model_changed",
    "standing": False,
    "numbers": {},
    "facts": {"was": "gpt-1", "is": "gpt-2 (fp)"},
}
TREND = {
    **RISE,
    "kind": "parse_trend",
    "facts": {},
    "numbers": {"score": 15, "first": 0.02, "last": 0.1, "repaired": 30},
}


def test_the_anomaly_list_says_who_and_why_and_what_people_said(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, calls = told(monkeypatch, {"anomalies": [LISTED]}, "anomalies", "--samples")
    assert (code, calls[0][1]) == (0, "http://127.0.0.1:8081/admin/anomalies")
    for word in ("acme/large", "9 (11 complaints)", "1.25", "2.0e-06", "pm-7", "[b]car", "again and again"):
        assert word in out
    code, out, _ = told(monkeypatch, {"anomalies": []}, "anomalies")
    assert (code, out) == (0, "nobody is on the list\n")
    code, out, _ = told(monkeypatch, {"anomalies": [LISTED]}, "anomalies", "--json")
    assert json.loads(out) == [LISTED]


def test_the_history_of_the_list_says_who_left_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    left = {**LISTED, "left_at": 1_700_000_000.0, "left_why": "by hand", "left_by": "ann"}
    code, out, calls = told(monkeypatch, {"anomalies": [left]}, "anomalies", "history", "--model", "acme/large")
    assert code == 0 and f"{moment(1_700_000_000.0)} by hand ann" in out
    assert calls[0][1].endswith("/admin/anomalies/history?limit=100&model=acme%2Flarge")


def test_a_model_is_taken_off_the_list_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, calls = told(monkeypatch, {"listed": False}, "anomalies", "dismiss", "acme/large", "-r", "another app")
    assert (code, out) == (0, "acme/large is off the list\n")
    assert calls[0] == (
        "POST", "http://127.0.0.1:8081/admin/anomalies/acme/large/dismiss", {"reason": "another app", "actor": "cli"}
    )  # fmt: skip
    refusal = {"error": {"message": "'a' is not on the anomaly list"}}
    code, out, _ = told(monkeypatch, refusal, "anomalies", "dismiss", "a", "-r", "x", status=409)
    assert code == 1 and "not on the anomaly list" in out


def test_findings_are_told_with_the_figures_they_were_decided_on(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {"findings": [RISE, CHANGED, TREND]}
    code, out, calls = told(monkeypatch, rows, "findings", "--model", "acme/large", "--since", "2026-01-31")
    assert code == 0
    for word in ("6.0% → 9.5% of 1000 (1.6×, chance 3.0e-03)", "unsure", "gpt-1 → gpt-2 (fp)", "repaired 2% → 10%"):
        assert word in out
    assert calls[0][1].endswith("/admin/findings?model=acme%2Flarge&since=1769817600.0&limit=200")
    code, out, _ = told(monkeypatch, rows, "findings", "--standing", "--json")
    assert json.loads(out) == [RISE, TREND]
    code, out, _ = told(monkeypatch, {"findings": []}, "findings")
    assert (code, out) == (0, "nothing was found\n")


def test_findings_since_no_moment_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, calls = told(monkeypatch, {"findings": []}, "findings", "--since", "yesterday")
    assert code == 2 and "'yesterday' is no moment" in out and calls == []


@pytest.mark.parametrize(
    ("group", "field", "path"),
    [("gray", "releases", "/admin/gray"), ("jobs", "jobs", "/admin/jobs"), ("switch", "switches", "/admin/switches")],
)
def test_list_was_no_such_command_though_help_says_list_them(
    group: str, field: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare, listed = (told(monkeypatch, {field: [], "now": 0}, *words) for words in ((group,), (group, "list")))
    assert listed == bare and listed[0] == 0 and listed[2][0][1].endswith(path)
    code, _, calls = told(monkeypatch, {field: [], "now": 0}, group, "--url", "http://other:1", "list")
    assert code == 0 and calls[0][1] == f"http://other:1{path}"


@pytest.mark.parametrize(
    ("more", "lang", "wanted"),
    [
        ((), "C.UTF-8", "en"), ((), "zh_CN.UTF-8", "zh"), (("--lang", "en"), "zh_CN.UTF-8", "en"), (("--lang", "zh"), "", "zh"),
    ],
)  # fmt: skip
def test_a_gray_report_came_in_chinese_in_any_terminal(
    more: tuple[str, ...], lang: str, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", lang)
    _, _, calls = told(monkeypatch, {"markdown": "#"}, "gray", "report", "a", *more)
    assert calls[0][1].endswith(f"/admin/gray/reports/a?language={wanted}")


@pytest.mark.parametrize("more", [("--lang", "zh"), ()])
@pytest.mark.parametrize("command", [("status",), ("models",), ("models", "acme/large")])
def test_the_tables_words_stayed_english_whatever_was_asked_for(
    command: tuple[str, ...], more: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "C" if more else "zh_CN.UTF-8")
    code, out, _ = told(monkeypatch, FLEET, *command, *more)
    assert code == 0 and "L1 预警" in out and "自动" in out and "共 97 条" in out
    assert "warn" not in out and "automatic" not in out


def test_the_rules_of_a_model_read_otherwise_than_on_its_page(monkeypatch: pytest.MonkeyPatch) -> None:
    from breaker.levels import Level, Reason
    from breaker.triggers import Reading
    from console.why import rule_line
    from console.words import load

    shown = [
        Reading(reason=Reason.RATIO_10M, level=Level.WARN, value=0.0825, line=0.08, n=97, minimum=30, known=True, fired=True),
        Reading(reason=Reason.RATIO_10M, level=Level.REDUCED, line=0.15, minimum=30),
        Reading(reason=Reason.NIGHTLY, level=Level.REDUCED, line=1.0),
    ]  # fmt: skip
    rules = [
        {"rule": r.reason.value, "level": r.level.value, "value": r.value, "line": r.line, "n": r.n, "minimum": r.minimum,
         "known": r.known, "fired": r.fired}
        for r in shown
    ]  # fmt: skip
    fleet = FLEET | {"models": [ROW | {"rules": rules}]}
    for language in ("en", "zh"):
        t = load()[language]
        _, out, _ = told(monkeypatch, fleet, "models", "acme/large", "--lang", language)
        for line in (rule_line(reading, t) for reading in shown):
            words = (line.name, line.value, line.line, line.sample, t(f"model.rule_{line.state}"))
            assert any(all(word in row for word in words) for row in out.splitlines()), words


def test_a_rule_of_a_newer_service_is_shown_by_its_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    newer = RULE | {"rule": "moonphase", "level": "eclipsed", "value": 3, "line": 2}
    code, out, _ = told(monkeypatch, FLEET | {"models": [ROW | {"rules": [newer]}]}, "models", "acme/large")
    row = next(line for line in out.splitlines() if "moonphase" in line)
    assert code == 0 and "eclipsed" in row and "≥ 2" in row
