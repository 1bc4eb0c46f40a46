"""What is told when: groups, waits, repeats, escalation, inhibition, silences. Scenario rows 51 and 52 as tables."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from monitor.alerts.alert import AlertKind, Severity
from monitor.alerts.decide import Decision, Group, Notice, Why, decide, group_key, told
from monitor.alerts.incident import Incident
from monitor.alerts.mute import Muted, Silence, Window, muted
from monitor.alerts.policy import AlertPolicy
from tests.support.incidents import AT, alert, grave, incident

POLICY = AlertPolicy()


class Story:
    """Incidents and groups in memory, moved on by what is decided."""

    def __init__(self, *incidents: Incident, silences: Sequence[Silence] = ()) -> None:
        self.kept = {one.id: one for one in incidents}
        self.groups: dict[str, Group] = {}
        self.silences = silences

    def at(self, seconds: float) -> list[Notice]:
        waiting = [one for one in self.kept.values() if not one.settled]
        mutes = muted(waiting, self.silences, (), AT + seconds)
        decision: Decision = decide(waiting, self.groups, mutes, POLICY, AT + seconds)
        for notice in decision.notices:
            self.groups[notice.group.key] = replace(notice.group, seq=notice.group.seq + 1, last_at=notice.at)
            for one in (*notice.firing, *notice.over):
                self.kept[one.id] = told(one, notice.at)
        for one in decision.quiet:
            self.kept[one.id] = replace(one, settled=True)
        return list(decision.notices)

    def change(self, id: int, **fields: object) -> None:
        here = self.kept[id]
        self.kept[id] = replace(here, revision=here.revision + 1, **fields)  # type: ignore[arg-type]


def whys(notices: Sequence[Notice]) -> list[Why]:
    return [notice.why for notice in notices]


def test_what_belongs_together_waits_half_a_minute_and_comes_together() -> None:
    story = Story(incident(1, alert(scene="qa")), incident(2, alert(scene="chat", at=AT + 20)))
    assert story.at(29.9) == []
    (notice,) = story.at(30)
    assert (notice.why, [one.id for one in notice.firing]) == (Why.FIRST, [1, 2])
    assert story.at(31) == []


def test_a_model_that_is_out_is_told_at_once() -> None:
    assert whys(Story(incident(1, grave())).at(0)) == [Why.FIRST]


def test_a_new_member_comes_five_minutes_after_the_group_s_last_word() -> None:
    story = Story(incident(1, alert(scene="qa")))
    story.at(30)
    story.kept[2] = incident(2, alert(scene="chat", at=AT + 60))
    assert story.at(329) == []
    (notice,) = story.at(330)
    assert (notice.why, len(notice.firing)) == (Why.NEW_MEMBER, 2)


def test_a_grave_new_member_does_not_wait_for_the_interval() -> None:
    story = Story(incident(1, alert(scene="qa")))
    story.at(30)
    story.kept[2] = incident(2, alert(scene="chat", at=AT + 60, severity=Severity.CRITICAL))
    assert whys(story.at(60)) == [Why.NEW_MEMBER]


def test_a_level_is_told_again_when_it_changed_and_at_once_when_it_became_grave() -> None:
    story = Story(incident(1, alert(AlertKind.TRANSITION, facts={"level": "warn"})))
    story.at(30)
    story.change(1, stage="reduced")
    assert story.at(100) == []
    assert whys(story.at(330)) == [Why.CHANGED]
    story.change(1, stage="open", severity=Severity.CRITICAL)
    assert whys(story.at(331)) == [Why.CHANGED]


def test_a_level_that_came_back_before_it_was_told_is_not_told() -> None:
    story = Story(incident(1, alert(AlertKind.TRANSITION, facts={"level": "warn"})))
    story.at(30)
    story.change(1, stage="reduced")
    story.change(1, stage="warn")
    assert story.at(400) == []


def test_row_51_one_firing_one_resolved_and_none_for_what_was_never_announced() -> None:
    story = Story(incident(1, grave()), incident(2, alert(scene="qa", model="b", subject="b")))
    assert whys(story.at(0)) == [Why.FIRST]
    story.change(1, resolved_at=AT + 600)
    story.change(2, resolved_at=AT + 20)
    assert story.at(30) == []
    assert story.kept[2].settled
    (over,) = story.at(600)
    assert (over.why, [one.id for one in over.over], over.severity) == (Why.RESOLVED, [1], Severity.INFO)
    assert story.at(100_000) == []


def test_row_52_thirty_scenes_and_a_model_that_is_out_are_one_message() -> None:
    scenes = [incident(at, alert(scene=f"s{at}", at=AT - 20)) for at in range(1, 31)]
    story = Story(*scenes, incident(31, grave()))
    (notice,) = story.at(0)
    assert ([one.id for one in notice.firing], notice.held) == ([31], 30)
    story.change(31, acked_at=AT + 60)
    assert story.at(3_600) == []
    assert not any(one.announced for one in story.kept.values() if one.id != 31)


def test_a_bad_night_and_the_l3_that_follows_from_it_were_two_calls_in_the_night() -> None:
    night = {"confirmed": True}
    story = Story(incident(1, alert(AlertKind.NIGHTLY, facts=night)))
    assert story.at(15) == [], "what belongs together is waited for"
    story.kept[2] = incident(2, grave(AT + 16, facts={"level": "open", "reasons": ["nightly"]}))
    (notice,) = story.at(17)
    assert (notice.lead.id, notice.held) == (2, 1)
    story.change(2, acked_at=AT + 60)
    assert story.at(3_600) == []
    story.change(2, resolved_at=AT + 7_200)
    still, ended = story.at(7_300)
    assert (ended.why, ended.severity) == (Why.RESOLVED, Severity.INFO)
    assert ([one.id for one in still.firing], still.severity) == ([1], Severity.WARN), (
        "it still holds, and wakes nobody"
    )


def test_a_rise_that_may_be_chance_is_told_when_it_stands_and_else_ends_without_a_word() -> None:
    story = Story(
        incident(1, alert(AlertKind.HOURLY, facts={"sure": False})),
        incident(2, alert(AlertKind.HOURLY, subject="b", model="b", facts={"sure": False})),
    )
    assert story.at(3_600) == []
    story.change(1, facts={"sure": True})
    story.change(2, resolved_at=AT + 7_200)
    assert [[one.id for one in notice.firing] for notice in story.at(7_200)] == [[1]]
    assert story.kept[2].settled
    # What was told goes on to be told, whatever a later hour makes of it.
    story.change(1, facts={"sure": False})
    assert whys(story.at(7_200 + 14_400)) == [Why.REPEAT]


def test_an_l1_that_stands_on_scenes_alone_is_as_sure_as_they_are() -> None:
    warn = {"level": "warn", "reasons": ["scene"]}
    story = Story(
        incident(1, alert(AlertKind.SCENE, scene="qa", facts={"sure": False})),
        incident(2, alert(AlertKind.TRANSITION, facts=warn)),
        incident(
            3, alert(AlertKind.TRANSITION, subject="b", model="b", facts=warn | {"reasons": ["scene", "ratio_10m"]})
        ),
    )
    assert [[one.id for one in notice.firing] for notice in story.at(30)] == [[3]]
    story.change(1, facts={"sure": True})
    assert sorted(one.id for notice in story.at(3_700) for one in notice.firing) == [1, 2]


def test_an_l1_on_scenes_that_became_an_l2_is_told() -> None:
    story = Story(incident(1, alert(AlertKind.TRANSITION, facts={"level": "warn", "reasons": ["scene"]})))
    assert story.at(60) == []
    story.change(1, stage="reduced", facts={"level": "reduced", "reasons": ["ratio_30m"]})
    assert [[one.id for one in notice.firing] for notice in story.at(61)] == [[1]]


def test_thirty_scenes_without_it_are_one_message_too() -> None:
    story = Story(*(incident(at, alert(scene=f"s{at}")) for at in range(1, 31)))
    (notice,) = story.at(30)
    assert len(notice.firing) == 30


def test_a_detector_that_is_suspect_mutes_what_it_says_of_single_models_but_not_hard_failures() -> None:
    suspect = incident(1, alert(AlertKind.DETECTOR_SUSPECT, subject="fleet", model="", severity=Severity.CRITICAL))
    soft = incident(2, grave(facts={"level": "open", "reasons": ["rolling_15m"]}))
    hard = incident(3, grave(subject="b", model="b", facts={"level": "open", "reasons": ["hard_failures"]}))
    critical = Severity.CRITICAL
    refused = incident(
        4, alert(AlertKind.FORBIDDEN, subject="c #1", model="c", severity=critical, facts={"status": 401.0})
    )
    story = Story(suspect, soft, hard, refused)
    assert sorted(one.id for notice in story.at(0) for one in notice.firing) == [1, 3, 4]
    story.change(1, resolved_at=AT + 600)
    assert 2 in [one.id for notice in story.at(600) for one in notice.firing]


def test_a_repeat_comes_after_four_hours_unless_somebody_took_it() -> None:
    story = Story(incident(1, alert(scene="qa")), incident(2, alert(scene="chat")))
    story.at(30)
    story.change(1, acked_at=AT + 60, acked_by="li")
    assert story.at(30 + 14_399) == []
    (again,) = story.at(30 + 14_400)
    assert (again.why, [one.id for one in again.firing]) == (Why.REPEAT, [2])
    story.change(2, acked_at=AT + 60, acked_by="li")
    assert story.at(30 + 40_000) == []


def test_an_ack_stops_repeats_and_not_the_resolve() -> None:
    story = Story(incident(1))
    story.at(30)
    story.change(1, acked_at=AT + 60)
    story.change(1, resolved_at=AT + 400)
    assert whys(story.at(400)) == [Why.RESOLVED]


def test_a_grave_one_that_nobody_takes_escalates_in_three_steps_and_no_further() -> None:
    story = Story(incident(1, grave()))
    story.at(0)
    steps = [(at, notice.why, notice.step) for at in range(0, 7_200, 60) for notice in story.at(at)]
    assert steps == [(600, Why.ESCALATED, 1), (1_200, Why.ESCALATED, 2), (1_800, Why.ESCALATED, 3)]


def test_a_grave_one_that_somebody_took_does_not_escalate() -> None:
    story = Story(incident(1, grave()))
    story.at(0)
    story.change(1, acked_at=AT + 300)
    assert story.at(3_000) == []


def test_a_silence_mutes_all_but_the_end_of_what_was_announced() -> None:
    silence = Silence(model="a", author="li", reason="known", starts_at=AT + 60, ends_at=AT + 1_000)
    story = Story(incident(1, grave()), silences=[silence])
    story.at(0)
    story.kept[2] = incident(2, alert(scene="qa", at=AT + 70))
    assert story.at(700) == []
    story.change(1, resolved_at=AT + 800)
    assert whys(story.at(800)) == [Why.RESOLVED]
    assert [one.id for notice in story.at(1_000) for one in notice.firing] == [2]


def test_a_moment_is_told_once_and_needs_no_end() -> None:
    story = Story(incident(1, alert(AlertKind.MODEL_CHANGED)))
    assert whys(story.at(30)) == [Why.FIRST]
    assert story.kept[1].settled
    assert story.at(100_000) == []


def test_a_report_does_not_wait_for_others() -> None:
    assert whys(Story(incident(1, alert(AlertKind.DAILY_REPORT, severity=Severity.INFO))).at(0)) == [Why.FIRST]


def test_what_waited_while_no_monitor_ran_is_told_at_once_when_one_comes() -> None:
    assert whys(Story(incident(1)).at(50_000)) == [Why.FIRST]


def test_information_is_told_once_and_never_repeated() -> None:
    story = Story(incident(1, alert(severity=Severity.INFO)))
    story.at(30)
    assert story.at(1_000_000) == []


def test_two_that_decide_the_same_name_it_the_same() -> None:
    one, two = Story(incident(1, grave())).at(0), Story(incident(1, grave())).at(0)
    assert one[0].id == two[0].id == f"{group_key(incident(1, grave()))}#1"


@pytest.mark.parametrize(
    ("at", "covered"),
    [
        pytest.param("2026-01-05 02:30", True, id="Monday at night"),
        pytest.param("2026-01-05 03:00", False, id="its end is outside"),
        pytest.param("2026-01-04 23:30", True, id="Sunday before midnight belongs to Sunday's window"),
        pytest.param("2026-01-06 02:30", False, id="Monday has no window of its own"),
        pytest.param("2026-01-05 22:59", False, id="Monday evening"),
    ],
)
def test_a_window_past_midnight_belongs_to_the_day_it_starts_on(at: str, covered: bool) -> None:
    from datetime import datetime
    from zoneinfo import ZoneInfo

    window = Window(days=frozenset({6}), start=23 * 60, end=3 * 60, timezone="Asia/Shanghai", models=("a*",))
    moment = datetime.fromisoformat(at).replace(tzinfo=ZoneInfo("Asia/Shanghai")).timestamp()
    found = muted([incident(1), incident(2, alert(model="b"))], (), (window,), moment)
    assert found == ({1: Muted.MAINTENANCE} if covered else {})


def test_a_test_of_the_pipe_is_never_muted() -> None:
    everything = Silence(author="li", reason="quiet", starts_at=0, ends_at=AT * 2)
    assert muted([incident(1, alert(AlertKind.TEST)), incident(2)], [everything], (), AT) == {2: Muted.SILENCED}


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [({"model": "a"}, True), ({"model": "b"}, False), ({"kind": "sce*"}, True), ({"scene": "chat"}, False), ({}, True)],
)
def test_a_silence_matches_by_globs_and_an_empty_field_matches_all(pattern: dict[str, str], matches: bool) -> None:
    silence = Silence(author="li", reason="r", starts_at=0, ends_at=1, **pattern)  # type: ignore[arg-type]
    assert silence.matches(incident(1, alert(scene="qa"))) is matches


def test_a_silence_that_was_ended_by_hand_is_over() -> None:
    silence = Silence(author="li", reason="r", starts_at=0, ends_at=100, ended_at=50)
    assert [silence.active(at) for at in (0, 49, 50, 99)] == [True, True, False, False]
