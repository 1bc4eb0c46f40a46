"""Why a model stands where it stands, in both languages."""

from dataclasses import replace

import pytest

from breaker.explain import Explanation, explain
from breaker.levels import Level, Mode
from breaker.machine import force
from breaker.policy import BreakerPolicy
from breaker.ports import ProbeTally
from breaker.seen import Seen
from breaker.snapshot import Snapshot
from breaker.window import Counts, MinuteRow
from console.why import told
from console.words import LANGUAGES, load

POLICY = BreakerPolicy()
WORDS = load()
T0 = 1_700_000_040.0
PROBED = Seen(probes=ProbeTally(epoch=3, granted=2, results=(True, False)))


def of(here: Snapshot, seen: Seen = PROBED, policy: BreakerPolicy = POLICY) -> Explanation:
    return explain(here, seen, policy, T0)


@pytest.mark.parametrize(
    ("here", "english", "chinese"),
    [
        pytest.param(Snapshot(model="m"), "Too few replies to tell: 30", "样本太少，至少要 30 条", id="healthy"),
        pytest.param(
            Snapshot(model="m"), "To L1 warn: Repeats over 10 minutes", "升到 L1 预警：10 分钟复读率", id="up"
        ),
        pytest.param(
            Snapshot(model="m", level=Level.WARN),
            "Clears below 6.4\u00a0% on 10 checks in a row (now 0), with useless replies below 8.0\u00a0%",
            "连续 10 次检查低于 6.4\u00a0% 即解除（现 0 次），其间无效回复须低于 8.0\u00a0%",
            id="warn",
        ),
        pytest.param(
            Snapshot(model="m", level=Level.REDUCED, since=T0),
            "Watched for another 30 min",
            "再观察 30 分钟",
            id="reduced",
        ),
        pytest.param(
            Snapshot(model="m", level=Level.OPEN, until=T0 + 60), "Probes begin in 1 min", "1 分钟后", id="open"
        ),
        pytest.param(
            Snapshot(model="m", level=Level.RECOVERING, until=T0 + 60, epoch=3),
            "1 good and 1 bad probes. Passes after 13 good; 21 with one bad, 29 with two",
            "探测 1 好 1 坏。13 次全好即通过（1 坏需 21，2 坏需 29）",
            id="recovering",
        ),
        pytest.param(
            force(Snapshot(model="m"), Mode.FORCED_OPEN, "op", "why", T0 + 90, T0),
            "Back to probing in 1 min",
            "1 分钟后到期，先进入恢复探测",
            id="forced",
        ),
        pytest.param(
            Snapshot(model="m", level=Level.WARN, pinned_until=T0 + 9),
            "Held at this level for another 9 s",
            "状态反复，9 秒内不再下降",
            id="pinned",
        ),
    ],
)
def test_the_next_change_is_told_in_the_readers_language(here: Snapshot, english: str, chinese: str) -> None:
    for language, words in (("en", english), ("zh", chinese)):
        lines = told(of(here), WORDS[language])
        assert any(line.startswith(words) for line in lines), lines


def test_nothing_is_said_in_the_other_language() -> None:
    here = replace(Snapshot(model="m"), level=Level.REDUCED, since=T0)
    lines = {language: "".join(told(of(here), WORDS[language])) for language in LANGUAGES}
    assert lines["en"].isascii() or not any("\u4e00" <= c <= "\u9fff" for c in lines["en"])
    assert any("\u4e00" <= c <= "\u9fff" for c in lines["zh"])


def test_counts_of_two_detectors_are_said_to_be_so_while_an_upgrade_rolls() -> None:
    newest = int(T0 // 60) - 2
    rows = [
        MinuteRow(model="m", scope="", minute=newest - back, counts=Counts(judged=9), detectors=(version,))
        for back, version in ((0, "3"), (5, "2"))
    ]
    mixed, plain = (of(Snapshot(model="m"), Seen(minutes=some)) for some in (rows, rows[:1]))
    assert any("come from detectors 2, 3" in line for line in told(mixed, WORDS["en"]))
    assert any("出自检测器 2、3 版" in line for line in told(mixed, WORDS["zh"]))
    assert not any("detectors" in line for line in told(plain, WORDS["en"]))


def test_the_probes_it_takes_to_pass_are_those_of_the_policy_in_force() -> None:
    here = Snapshot(model="m", level=Level.RECOVERING, until=T0 + 60, epoch=3)
    strict = BreakerPolicy(probe_false_pass=0.01, probe_budget=60)
    assert "Passes after 20 good" in "".join(told(of(here, policy=strict), WORDS["en"]))
