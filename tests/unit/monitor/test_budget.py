"""Which letters go, wait or come as one: 15 a minute and robot, 5 of them for what is grave."""

from monitor.alerts.alert import Severity
from monitor.alerts.budget import Plan, plan
from monitor.alerts.policy import AlertPolicy
from monitor.alerts.ports import Letter, Robot

POLICY = AlertPolicy()


def letters(count: int, severity: Severity = Severity.WARN, *, first: int = 1, channel: str = "w") -> list[Letter]:
    return [
        Letter(id=at, alert_id=f"g#{at}", channel=channel, severity=severity, body={}, tries=0, created_at=0.0)
        for at in range(first, first + count)
    ]


def sizes(found: Plan) -> list[int]:
    return [len(errand.letters) for errand in found.errands]


def test_within_the_budget_each_goes_by_itself() -> None:
    assert sizes(plan(letters(10), {}, {}, POLICY, 0.0)) == [1] * 10


def test_overflow_becomes_one_digest_and_nothing_is_lost() -> None:
    found = plan(letters(30), {}, {}, POLICY, 0.0)
    assert sizes(found) == [1] * 9 + [21]


def test_what_others_of_the_fleet_sent_counts() -> None:
    assert sizes(plan(letters(3), {"w": 8}, {}, POLICY, 0.0)) == [1, 2]
    assert sizes(plan(letters(3), {"w": 10}, {}, POLICY, 0.0)) == []


def test_the_last_five_are_kept_for_what_is_grave_and_it_goes_first() -> None:
    both = letters(3) + letters(7, Severity.CRITICAL, first=4)
    found = plan(both, {"w": 10}, {}, POLICY, 0.0)
    assert [errand.letters[0].severity for errand in found.errands] == [Severity.CRITICAL] * 5
    assert sizes(found) == [1, 1, 1, 1, 3]


def test_of_thirty_models_that_open_at_once_all_are_told_within_the_minute() -> None:
    found = plan(letters(4) + letters(30, Severity.CRITICAL, first=5), {}, {}, POLICY, 0.0)
    assert sizes(found) == [1] * 14 + [16]
    assert sizes(plan(letters(30, Severity.CRITICAL), {"w": 15}, {}, POLICY, 0.0)) == []


def test_a_robot_that_rests_is_not_asked() -> None:
    found = plan(letters(2), {}, {"w": Robot(channel="w", rest_until=10.0)}, POLICY, 9.9)
    assert (found.errands, len(found.blocked)) == ((), 2)
    assert sizes(plan(letters(2), {}, {"w": Robot(channel="w", rest_until=10.0)}, POLICY, 10.0)) == [1, 1]


def test_a_broken_robot_is_tried_with_one_letter_every_ten_minutes() -> None:
    broken = {"w": Robot(channel="w", broken_at=0.0, tried_at=100.0)}
    assert sizes(plan(letters(5), {}, broken, POLICY, 699.0)) == []
    found = plan(letters(5), {}, broken, POLICY, 700.0)
    assert (sizes(found), len(found.blocked)) == ([1], 4)


def test_one_robot_s_budget_does_not_touch_another_s() -> None:
    found = plan(letters(1) + letters(1, first=2, channel="d"), {"w": 15}, {}, POLICY, 0.0)
    assert [errand.channel for errand in found.errands] == ["d"]
