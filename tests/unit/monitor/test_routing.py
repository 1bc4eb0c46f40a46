"""Where a notice goes."""

from dataclasses import replace

from monitor.alerts.alert import AlertKind, Severity
from monitor.alerts.decide import Group, Notice, Why
from monitor.alerts.incident import Incident
from monitor.alerts.routing import Routing, Rule
from tests.support.incidents import AT, alert, grave, incident


def notice(*firing: Incident, over: tuple[Incident, ...] = ()) -> Notice:
    return Notice(group=Group(key="g"), why=Why.FIRST, at=AT, firing=firing, over=over)


def test_without_rules_everything_goes_everywhere() -> None:
    assert Routing(["w", "d"]).channels(notice(incident(1))) == ("w", "d")


def test_the_first_rule_that_matches_says_it() -> None:
    routing = Routing(
        ["w", "d", "r"],
        [
            Rule(kinds=("daily_report",), channels=("r",)),
            Rule(severities=("critical",), channels=("w", "d")),
            Rule(models=("lab/*",), channels=()),
            Rule(channels=("d",)),
        ],
    )
    assert routing.channels(notice(incident(1, alert(AlertKind.DAILY_REPORT)))) == ("r",)
    assert routing.channels(notice(incident(1, grave()))) == ("w", "d")
    assert routing.channels(notice(incident(1, alert(model="lab/x")))) == ()
    assert routing.channels(notice(incident(1))) == ("d",)


def test_who_heard_of_the_gravest_hears_of_its_end() -> None:
    routing = Routing(["w", "d"], [Rule(severities=("critical",), channels=("w",)), Rule(channels=("d",))])
    ended = replace(incident(1, grave()), severity=Severity.WARN, resolved_at=AT + 1)
    assert routing.channels(notice(over=(ended,))) == ("w",)


def test_a_broken_robot_is_not_told_of_itself() -> None:
    broken = incident(1, alert(AlertKind.ROBOT_BROKEN, subject="w", model=""))
    assert Routing(["w", "d"]).channels(notice(broken)) == ("d",)
    assert Routing(["w", "d"], [Rule(channels=("w",))]).channels(notice(broken)) == ("d",)
    assert Routing(["w"]).channels(notice(broken)) == ()


def test_the_second_step_takes_the_second_channel_too() -> None:
    routing = Routing(["w", "d", "s"], [Rule(channels=("w",))], {"w": "s"})
    assert routing.channels(notice(replace(incident(1, grave()), escalation=1))) == ("w",)
    assert routing.channels(notice(replace(incident(1, grave()), escalation=2))) == ("w", "s")


def test_channels_back_each_other_up_in_a_ring_unless_told_otherwise() -> None:
    routing = Routing(["w", "d"], backups={"w": "gone"})
    assert (routing.backup("w"), routing.backup("d"), routing.backup("x")) == ("d", "w", None)
    assert Routing(["w"]).backup("w") is None
