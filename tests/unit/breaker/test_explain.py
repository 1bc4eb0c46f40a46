"""What people are told about the next change."""

import pytest

from breaker.edges import enter
from breaker.evidence import Evidence, EvidenceKind
from breaker.explain import explain
from breaker.levels import Level, Mode, Reason
from breaker.machine import force
from breaker.policy import BreakerPolicy
from breaker.ports import ProbeTally
from breaker.seen import Seen
from breaker.snapshot import Snapshot
from breaker.window import Counts, MinuteRow

POLICY = BreakerPolicy()
T0 = 1_700_000_040.0


@pytest.mark.parametrize(
    "here, words",
    [
        pytest.param(Snapshot(model="m"), "升到L1 预警：10 分钟复读率", id="healthy"),
        pytest.param(Snapshot(model="m", level=Level.WARN), "回到健康：10 分钟复读率 < 6.4% 连续 10 次（现 0 次）"),
        pytest.param(Snapshot(model="m", level=Level.REDUCED, since=T0), "回到健康：观察还剩 1800 秒", id="reduced"),
        pytest.param(Snapshot(model="m", level=Level.OPEN, until=T0 + 60), "冷却还剩 60 秒", id="open"),
        pytest.param(
            Snapshot(model="m", level=Level.RECOVERING, until=T0 + 60, epoch=3), "探测 1 好 1 坏", id="recovering"
        ),
        pytest.param(
            force(Snapshot(model="m"), Mode.FORCED_OPEN, "op", "why", T0 + 90, T0),
            "人工强制熔断，90 秒后到期",
            id="forced",
        ),
        pytest.param(Snapshot(model="m", level=Level.WARN, pinned_until=T0 + 9), "抖动锁定还剩 9 秒", id="pinned"),
    ],
)
def test_the_next_change_is_put_into_words(here: Snapshot, words: str) -> None:
    seen = Seen(probes=ProbeTally(epoch=3, granted=2, results=(True, False)))
    told = explain(here, seen, POLICY, T0).next_words
    assert any(line.startswith(words) for line in told), told


def test_every_rule_has_words() -> None:
    rules = explain(Snapshot(model="m"), Seen(), POLICY, T0).rules
    assert len(rules) == 14
    assert all("样本不足" in rule.words for rule in rules)


def test_an_hourly_finding_flags_the_model_and_moves_nothing() -> None:
    flag = Evidence(id="h", kind=EvidenceKind.HOURLY, model="m", found_at=T0, valid_until=T0 + 3_600)
    explanation = explain(Snapshot(model="m"), Seen(evidence=[flag]), POLICY, T0 + 1)
    assert explanation.abnormal == (flag,)
    assert not any(rule.reading.fired for rule in explanation.rules)
    assert explain(Snapshot(model="m"), Seen(evidence=[flag]), POLICY, T0 + 3_600).abnormal == ()


def test_counts_of_two_detectors_are_said_to_be_so_while_an_upgrade_rolls() -> None:
    def told(minutes_ago: int) -> str:
        newest = int(T0 // 60) - 2
        rows = [
            MinuteRow(model="m", scope="", minute=newest - back, counts=Counts(judged=9), detectors=(version,))
            for back, version in ((0, "3"), (minutes_ago, "2"))
        ]
        return "".join(explain(Snapshot(model="m"), Seen(minutes=rows), POLICY, T0).next_words)

    assert "多个检测器版本（2、3）" in told(28)
    assert "检测器版本" not in told(40)


def test_a_recovering_model_asks_for_probes() -> None:
    here = enter(Snapshot(model="m", level=Level.OPEN), Level.RECOVERING, T0, (Reason.COOLED_DOWN,), POLICY)
    assert explain(here, Seen(), POLICY, T0).probes_wanted
