"""What every rule reads, and what the next change waits for."""

from breaker.edges import enter
from breaker.evidence import Evidence, EvidenceKind
from breaker.explain import explain
from breaker.levels import Level, Reason
from breaker.policy import BreakerPolicy
from breaker.ports import ProbeTally
from breaker.seen import Seen
from breaker.snapshot import Snapshot
from breaker.window import Counts, MinuteRow

POLICY = BreakerPolicy()
T0 = 1_700_000_040.0


def test_every_rule_is_read_and_none_is_known_without_counts() -> None:
    rules = explain(Snapshot(model="m"), Seen(), POLICY, T0).rules
    assert len({rule.reason for rule in rules}) == 14
    assert not any(rule.known or rule.fired for rule in rules)


def test_probe_results_of_an_older_epoch_are_none_of_this_recovery() -> None:
    here = Snapshot(model="m", level=Level.RECOVERING, until=T0 + 60, epoch=3)
    tally = ProbeTally(epoch=3, granted=2, results=(True, False))
    assert explain(here, Seen(probes=tally), POLICY, T0).probes == (True, False)
    assert explain(here, Seen(probes=ProbeTally(epoch=2, granted=2, results=(True,))), POLICY, T0).probes == ()


def test_an_hourly_finding_flags_the_model_and_moves_nothing() -> None:
    flag = Evidence(id="h", kind=EvidenceKind.HOURLY, model="m", found_at=T0, valid_until=T0 + 3_600)
    explanation = explain(Snapshot(model="m"), Seen(evidence=[flag]), POLICY, T0 + 1)
    assert explanation.abnormal == (flag,)
    assert not any(rule.fired for rule in explanation.rules)
    assert explain(Snapshot(model="m"), Seen(evidence=[flag]), POLICY, T0 + 3_600).abnormal == ()


def test_counts_of_two_detectors_are_said_to_be_so_while_an_upgrade_rolls() -> None:
    def told(minutes_ago: int) -> tuple[str, ...]:
        newest = int(T0 // 60) - 2
        rows = [
            MinuteRow(model="m", scope="", minute=newest - back, counts=Counts(judged=9), detectors=(version,))
            for back, version in ((0, "3"), (minutes_ago, "2"))
        ]
        return explain(Snapshot(model="m"), Seen(minutes=rows), POLICY, T0).detectors

    assert told(28) == ("2", "3")
    assert told(40) == ("3",)


def test_a_recovering_model_asks_for_probes() -> None:
    here = enter(Snapshot(model="m", level=Level.OPEN), Level.RECOVERING, T0, (Reason.COOLED_DOWN,), POLICY)
    assert explain(here, Seen(), POLICY, T0).probes_wanted
