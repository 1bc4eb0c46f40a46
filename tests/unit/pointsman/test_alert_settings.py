"""The alerts part of the file: what it becomes, and each mistake with its line."""

from pathlib import Path

import pytest

from monitor.alerts.alert import Severity
from pointsman.alert_templates import template_problems
from pointsman.settings import Settings, SettingsError, parse

BASE = """
models: {a: {endpoints: [{base_url: http://127.0.0.1:1/v1, model: a}]}}
routes: {chat: {candidates: [{model: a}]}}
alerts:
"""
WHOLE = """
  language: en
  link_base: https://ops.example/pointsman/
  link_secret: ${SECRET:-shared}
  channels:
    on-call: {kind: wecom, url: "https://robots.example/a", users: [zhang], mobiles: ["138"], backup: second}
    second: {kind: dingtalk, url: "https://robots.example/b", secret: SEC, language: zh}
  routes:
    - {kinds: [daily_report], channels: [second]}
    - {severities: [critical], models: ["acme/*"], channels: [on-call, second]}
    - {channels: [on-call]}
  maintenance:
    - {days: [sun], start: "23:00", end: "03:00", models: ["lab/*"], reason: nightly training}
  policy: {group_wait_s: 5}
"""


def parsed(text: str) -> Settings:
    return parse(BASE + text, {})


def test_the_whole_part_becomes_channels_routing_and_windows() -> None:
    alerts = parsed(WHOLE).alerts
    first, second = alerts.all_channels()
    assert (first.name, first.language, first.users, first.mobiles, first.backup) == (
        "on-call", "en", ("zhang",), ("138",), "second",
    )  # fmt: skip
    assert (second.language, second.secret) == ("zh", "SEC")
    assert alerts.routing().backup("second") == "on-call"
    assert alerts.base() == "https://ops.example/pointsman"
    window = alerts.maintenance[0].window("Asia/Shanghai")
    assert (window.days, window.start, window.end, window.timezone) == (frozenset({6}), 1_380, 180, "Asia/Shanghai")
    assert alerts.routes[1].severities == [Severity.CRITICAL]


@pytest.mark.parametrize(
    ("text", "where", "part"),
    [
        pytest.param("  chanels: {}", "alerts.chanels", "did you mean 'channels'", id="a typing mistake"),
        pytest.param("  channels: {a: {kind: pager, url: 'http://x'}}", "alerts.channels.a.kind", "wecom", id="kind"),
        pytest.param("  channels: {a: {kind: wecom, url: 'ftp://x'}}", "alerts.channels.a", "http", id="address"),
        pytest.param("  channels: {a: {kind: slack, url: 'http://x', secret: s}}", "alerts.channels.a", "secret", id="secret"),
        pytest.param("  channels: {a: {kind: feishu, url: 'http://x', mobiles: ['1']}}", "alerts.channels.a", "users", id="numbers"),
        pytest.param("  channels: {a: {kind: wecom, url: 'http://x', backup: b}}", "alerts.channels.a.backup", "another", id="backup"),
        pytest.param("  channels: {a: {kind: wecom, url: 'http://x', backup: a}}", "alerts.channels.a.backup", "another", id="itself"),
        pytest.param(
            "  channels: {a: {kind: wecom, url: 'http://x'}, b: {kind: wecom, url: 'http://x'}}", "alerts.channels.b.url", "'a'", id="twice"
        ),
        pytest.param("  routes: [{channels: [nobody]}]", "alerts.routes", "nobody", id="no such channel"),
        pytest.param("  routes: [{kinds: [nightlyy], channels: []}]", "alerts.routes", "nightly", id="no such kind"),
        pytest.param("  templates: /nowhere/at/all", "alerts.templates", "no folder", id="no folder"),
        pytest.param("  policy: {budget_reserved: 15}", "alerts.policy", "budget_reserved", id="nothing ordinary is left"),
        pytest.param("  maintenance: [{days: [sun], start: '25:00', end: '01:00', reason: abc}]", "alerts.maintenance", "match", id="hour"),
        pytest.param(
            "  maintenance: [{days: [sun], start: '01:00', end: '02:00', timezone: Mars/North, reason: abc}]", "alerts.maintenance", "Mars", id="zone"
        ),
        pytest.param("  link_base: ops.example", "alerts.link_base", "URL", id="no address of a console"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_place(text: str, where: str, part: str) -> None:
    with pytest.raises(SettingsError) as refused:
        parsed(text)
    (mistake,) = refused.value.mistakes
    assert mistake.where.startswith(where)
    assert part in mistake.what
    assert mistake.line == 5


def test_a_secret_is_printed_nowhere() -> None:
    assert "SEC" not in repr(parsed(WHOLE).alerts).replace("SecretStr", "")
    assert "robots.example" not in repr(parsed(WHOLE).alerts)


def test_own_templates_are_tried_before_they_are_needed(tmp_path: Path) -> None:
    assert template_problems(parsed("  language: en")) == ()
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "hourly.md").write_text("{% if %}")
    (problem,) = template_problems(parsed(f"  templates: {tmp_path}"))
    assert problem.startswith("en/hourly.md: ")
