"""What people read, for every kind and language: golden files, and what must never get through.

POINTSMAN_UPDATE_GOLDEN=1 writes the files anew; look at the difference by eye before committing it.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from breaker.policy import BreakerPolicy
from monitor.alerts.alert import Alert, AlertKind, Severity
from monitor.alerts.channel import Channel, Language, Mention
from monitor.alerts.decide import Group, Notice, Why
from monitor.alerts.deliver import KINDS
from monitor.alerts.notify import body_of
from monitor.alerts.ports import Dossier
from monitor.alerts.render import Renderer
from monitor.alerts.templates import Templates, span
from tests.support.clock import ManualClock
from tests.support.golden_alerts import ALERTS, SAMPLE
from tests.support.incidents import AT, alert, grave, incident

GOLDEN = Path(__file__).parents[2] / "data" / "golden" / "alerts"
DOSSIER = Dossier(classes={"stuck": 12, "sentence_loop": 3}, scenes={"chat": 11, "qa": 4}, sample=SAMPLE)


OURS = frozenset({"level", "stage", "reason", "from", "markdown"})
"""Facts that are words of closed lists, or Markdown made and escaped by ourselves."""


def renderer(folder: Path | None = None, **policy: Any) -> Renderer:
    clock = ManualClock()
    return Renderer(
        Templates(folder),
        clock,
        BreakerPolicy(**policy).model_dump(),
        link_base="https://ops.example",
        ack_link=lambda id: f"https://ops.example/ack/{id}",
    )


def firing(of: Alert, **more: Any) -> Mapping[str, Any]:
    given = {"group": Group(key="g", seq=3), "why": Why.FIRST, "at": AT + 754}
    notice = Notice(**{**given, "firing": (incident(17, of),), **more})
    return body_of(notice, DOSSIER if of.model and of.kind is not AlertKind.COMPLAINTS else None)


def resolved(of: Alert) -> Mapping[str, Any]:
    over = replace(incident(17, of), resolved_at=AT + 3_900)
    return body_of(Notice(group=Group(key="g"), why=Why.RESOLVED, at=AT + 3_900, over=(over,)))


def holds(name: str, text: str) -> None:
    file = GOLDEN / name
    if os.environ.get("POINTSMAN_UPDATE_GOLDEN"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n", encoding="utf-8")
    assert file.read_text(encoding="utf-8") == text + "\n"


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("name", ALERTS)
def test_a_message_is_the_golden_one(name: str, language: Language) -> None:
    message = renderer().message(firing(ALERTS[name]), language)
    holds(f"{language}/{name}.md", message.markdown)
    assert message.title == message.markdown.partition("\n")[0].replace("**", "")


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("name", [name for name, one in ALERTS.items() if not one.passes])
def test_an_end_is_the_golden_one(name: str, language: Language) -> None:
    message = renderer().message(resolved(ALERTS[name]), language)
    holds(f"{language}/{name}.over.md", message.markdown)
    assert message.severity is Severity.INFO


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_group_an_escalation_and_a_repeat_are_the_golden_ones(language: Language) -> None:
    scenes = tuple(incident(at, alert(scene=f"s{at}", facts={"ratio": 0.05 + at / 100})) for at in range(1, 15))
    ended = replace(incident(20, alert(scene="old")), resolved_at=AT + 60)
    say = renderer().message
    group = body_of(Notice(group=Group(key="g"), why=Why.NEW_MEMBER, at=AT + 60, firing=scenes, over=(ended,)))
    holds(f"{language}/_group.md", say(group, language).markdown)
    step = firing(
        ALERTS["transition"], why=Why.ESCALATED, firing=(replace(incident(17, grave()), escalation=2),), held=30
    )
    holds(f"{language}/_escalated.md", say(step, language).markdown)
    holds(f"{language}/_repeat.md", say(firing(ALERTS["hourly"], why=Why.REPEAT), language).markdown)
    digest = renderer().digest([firing(ALERTS["hourly"]), resolved(ALERTS["scene"])], language)
    holds(f"{language}/_digest.md", digest.markdown)


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("name", ["m", "模型" * 60, "𠮷" * 128])
def test_a_digest_of_very_many_alerts_counts_what_it_does_not_list_and_is_not_cut(
    language: Language, name: str
) -> None:
    opened = replace(ALERTS["transition"], subject=name, model=name)
    bodies = [firing(replace(ALERTS["hourly"], subject=name, model=name)) for _ in range(150)] + [firing(opened)]
    message = renderer().digest(bodies, language)
    listed = [line for line in message.markdown.splitlines() if "`A17`" in line]
    assert f"{151 - len(listed)} {'条没有列出' if language == 'zh' else 'more are not listed'}" in message.markdown
    assert listed[0].startswith("> 🔴")  # the gravest, though it came last
    channel = Channel(name="c", kind="wecom", url="http://r/?key=1")
    sent = json.loads(KINDS["wecom"].post(channel, message, now_s=AT, limit_bytes=1_000_000).content)
    assert sent["markdown"]["content"] == message.markdown


def test_a_digest_is_as_grave_and_as_loud_as_the_gravest_of_it() -> None:
    step = firing(ALERTS["transition"], why=Why.ESCALATED, firing=(replace(incident(17, grave()), escalation=1),))
    message = renderer().digest([firing(ALERTS["heartbeat"]), step], "en")
    assert (message.severity, message.mention) == (Severity.CRITICAL, Mention.ON_CALL)
    quiet = renderer().digest([firing(ALERTS["heartbeat"]), firing(ALERTS["test"])], "en")
    assert (quiet.severity, quiet.mention) == (Severity.WARN, Mention.NOBODY)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_end_of_a_model_that_was_removed_does_not_say_that_it_is_well(language: Language) -> None:
    over = replace(incident(17, ALERTS["transition"]), resolved_at=AT + 3_900)
    over = replace(over, facts={**over.facts, "removed": "model"})
    body = body_of(Notice(group=Group(key="g"), why=Why.RESOLVED, at=AT + 3_900, over=(over,)))
    holds(f"{language}/_removed.over.md", renderer().message(body, language).markdown)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_end_of_a_night_that_nothing_can_be_held_against_does_not_say_that_the_model_is_well(
    language: Language,
) -> None:
    over = replace(incident(17, ALERTS["nightly"]), resolved_at=AT + 3_900)
    over = replace(over, facts={**over.facts, "run": "nightly-2026-01-31", "no_baseline": True})
    body = body_of(Notice(group=Group(key="g"), why=Why.RESOLVED, at=AT + 3_900, over=(over,)))
    text = renderer().message(body, language).markdown
    holds(f"{language}/_no_baseline.over.md", text)
    assert "pointsman baseline pin nightly-2026-01-31" in text and "已恢复" not in text


def test_every_kind_has_its_golden_message() -> None:
    assert {one.kind for one in ALERTS.values()} == set(AlertKind)


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("name", ALERTS)
def test_a_message_survives_facts_that_are_not_there(name: str, language: Language) -> None:
    bare = replace(ALERTS[name], facts={})
    for body in (firing(bare), resolved(replace(bare, moment=False))):
        text = renderer().message(body, language).markdown
        assert "None" not in text
        assert "Undefined" not in text
        assert text.startswith("**")


@pytest.mark.parametrize("language", ["zh", "en"])
def test_what_a_model_wrote_calls_nobody_and_marks_nothing(language: Language) -> None:
    text = renderer().message(firing(ALERTS["complaints"]), language).markdown
    assert "<@all>" not in text
    (line,) = [line for line in text.splitlines() if "evil" in line]
    assert line.count("`") == 2  # as code: no link, no bold


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("name", ALERTS)
def test_the_only_links_of_a_message_are_our_own(name: str, language: Language) -> None:
    evil = "![p](http://evil/p.png) [here](http://evil) a](http://evil)"
    of = ALERTS[name]
    facts = {key: evil if isinstance(value, str) and key not in OURS else value for key, value in of.facts.items()}
    of = replace(of, subject=evil, model=evil if of.model else "", scene=evil, facts={**facts, "note": evil})
    members = (incident(17, of), incident(18, replace(of, scene=evil + "2")))
    body = body_of(Notice(group=Group(key="g"), why=Why.FIRST, at=AT, firing=members), replace(DOSSIER, sample=evil))
    for text in (renderer().message(body, language), renderer().digest([body, body], language)):
        links = re.findall(r"\]\((.*?)\)", re.sub(r"`[^`]*`", "", text.markdown))
        assert [link for link in links if not link.startswith("https://ops.example")] == []


def test_the_lines_are_those_of_the_policy_in_force() -> None:
    own = renderer(
        warn_clear_ratio=0.04, warn_ratio=0.05, reduce_ratio=0.11, reduce_clear_ratio=0.09, reduced_share=0.2
    )
    text = own.message(firing(ALERTS["transition_warn"]), "en").markdown
    assert "below 4%; its share is cut at 11%" in text
    assert "Its share is cut to 20%" in own.message(firing(ALERTS["transition_reduced"]), "en").markdown


@pytest.mark.parametrize(
    ("step", "mention"), [(0, Mention.NOBODY), (1, Mention.ON_CALL), (2, Mention.ON_CALL), (3, Mention.ALL)]
)
def test_each_step_of_an_escalation_calls_louder(step: int, mention: Mention) -> None:
    body = firing(ALERTS["transition"], firing=(replace(incident(17, grave()), escalation=step),))
    assert renderer().message(body, "zh").mention is mention


def test_an_own_template_stands_for_the_packaged_one(tmp_path: Path) -> None:
    (tmp_path / "zh").mkdir()
    (tmp_path / "zh" / "hourly.md").write_text("**{{ model }} 本小时 {{ ratio | pct }}**\n{{ ref }}")
    own = renderer(tmp_path)
    assert own.message(firing(ALERTS["hourly"]), "zh").markdown == "**acme/large 本小时 6%**\nA17"
    assert "Repeats rose" in own.message(firing(ALERTS["hourly"]), "en").markdown


def test_an_own_frame_stands_for_all_kinds(tmp_path: Path) -> None:
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "frame.md").write_text(
        "**[ACME] {% block title %}{% endblock %}**\n{% block what %}{% endblock %}"
    )
    text = renderer(tmp_path).message(firing(ALERTS["scene"]), "en").markdown
    assert text.startswith("**[ACME] acme/large: scene qa repeats more**\nRepeats of this scene rose")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("{% if %}", "line 1", id="cannot be read"),
        pytest.param("{{ 1 / 0 }}", "division by zero", id="fails"),
        pytest.param("{{ facts.__class__.__mro__ }}", "no first line", id="reaches out of the sandbox"),
        pytest.param("{% include '../../secret.md' %}", "secret.md", id="reads another file"),
        pytest.param("{% for a in range(999999999) %}x{% endfor %}", "range", id="runs for ever"),
        pytest.param("  \n", "no first line", id="says nothing"),
    ],
)
def test_a_broken_template_is_replaced_and_the_message_says_so(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "hourly.md").write_text(text)
    own = renderer(tmp_path)
    told = own.message(firing(ALERTS["hourly"]), "en").markdown
    assert "Repeats rose clearly" in told
    last = told.splitlines()[-1]
    assert "Your template hourly.md is broken" in last
    assert why.lower() in last.lower()
    problems = list(Templates(tmp_path).problems(own.values(firing(ALERTS["hourly"]), "en")))
    assert [problem.partition(":")[0] for problem in problems] == ["en/hourly.md"]


@pytest.mark.parametrize(
    ("seconds", "zh", "en"),
    [(0, "0 秒", "0 s"), (59, "59 秒", "59 s"), (90, "1 分钟 30 秒", "1 min 30 s"), (7_320, "2 小时 2 分钟", "2 h 2 min"), (90_061, "1 天 1 小时", "1 d 1 h")],
)  # fmt: skip
def test_durations_are_said_in_two_units(seconds: float, zh: str, en: str) -> None:
    assert (span(seconds, "zh"), span(seconds, "en")) == (zh, en)


def test_scaled_time_beyond_the_calendar_is_told_as_a_number() -> None:
    late = replace(ALERTS["job_missed"], facts={"next_at": 9e14})
    assert "900000000000000" in renderer().message(firing(late), "en").markdown


EXTREME = {
    "4 bytes each": "𠮷" * 128,
    "joined emoji": "👨‍👩‍👧‍👦🚂" * 18,
    "Chinese": "模型" * 64,
    "half a character": "\ud800" + "坏" * 60,
    "marks": "``**[x](http://e)" * 8,
    "control": "\u202e\x00\x1b[31m" * 12,
    "to be escaped": '"\\\n\t' * 32,
    "calls": "<@all>" * 21,
}
BYTES = {"wecom": 4_096, "dingtalk": 20_000, "feishu": 20 * 1_024, "slack": 40_000, "webhook": 2_000_000}


@pytest.mark.parametrize("name", EXTREME.values(), ids=EXTREME)
@pytest.mark.parametrize("kind", ["transition", "scene", "hourly", "complaints", "gray", "robot_broken"])
def test_names_at_their_worst_are_sent_whole_or_cut_within_every_robot_s_bytes(kind: str, name: str) -> None:
    of = ALERTS[kind]
    facts = {**of.facts, "sample": name * 40, "note": name * 30, "detail": name * 30}
    of = replace(of, subject=name, model=name if of.model else "", scene=name, facts=facts)
    members = tuple(
        replace(incident(number, replace(of, scene=f"{name}{number}")), escalation=1) for number in range(1, 25)
    )
    notice = Notice(group=Group(key="g"), why=Why.ESCALATED, at=AT + 5, firing=members)
    body = body_of(notice, Dossier(classes={"stuck": 1}, scenes={name: 3}, sample=name * 40))
    for language in ("zh", "en"):
        message = renderer().message(body, language)  # type: ignore[arg-type]
        for robot, most in BYTES.items():
            channel = Channel(name="c", kind=robot, url="http://r/?key=1", users=("值班" * 20,) * 100)  # type: ignore[arg-type]
            for limit in (1_000_000, 1_500):
                content = KINDS[robot].post(channel, message, now_s=AT, limit_bytes=limit).content
                sent = json.loads(content)
                said = sent["markdown"]["content"] if robot == "wecom" else content.decode()
                assert 0 < len(said.encode()) <= most, (robot, limit)
