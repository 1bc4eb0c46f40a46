"""Stored replies under other rules: what is read, what changes, and what the breaker would have done."""

import json
from dataclasses import replace

import pytest

from breaker.levels import Level
from breaker.policy import BreakerPolicy
from detector import GatePolicy, Profile, RuleSet
from monitor.replay.compare import Outcome, by_scene, gathered, judged
from monitor.replay.records import BadLine, Stored, read_lines
from monitor.replay.rules import Rules
from monitor.replay.timeline import MOST_MINUTES, NotPlayable, stories
from tests.support.evals import FINE, LOOP

NOW = Rules()
FOURFOLD = "We walked along the quiet river. " * 4 + "Then the lamps went out and everybody went home."
"""Its fourth copy is not yet followed by more of the same: below the usual line of four, over one of three."""


def one(text: str | None = FINE, **more: object) -> Stored:
    return Stored(**{"id": "r", "text": text, "at": 60.0, "model": "a", "scene": "chat", **more})  # type: ignore[arg-type]


def lines(*rows: object) -> list[Stored | BadLine]:
    return list(read_lines(json.dumps(row).encode() for row in rows))


def test_a_line_says_what_it_knows() -> None:
    (found,) = lines(
        {"id": 7, "text": "x", "at": "2026-01-31T08:00:00+08:00", "model": "m", "category": "car", "label": "healthy",
         "verdict": {"degenerate": True}, "messages": [{"role": "assistant", "content": "before"}]},
    )  # fmt: skip
    assert found == Stored(
        id="7", text="x", at=1_769_817_600.0, model="m", scene="car", previous="before", truth=False, said=True
    )


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"txt": "x"}, '"text" is missing'),
        ([1], "an object"),
        ({"text": "x", "at": "yesterday"}, "is no moment: 'yesterday'"),
        ({"text": "x", "at": "2026-01-31T08:00:00"}, "names no time zone"),
        ({"text": "x", "at": True}, "is no moment"),
        ({"text": "x", "profile": 3}, '"profile" is not a string'),
    ],
)
def test_a_line_that_is_no_reply_says_why_and_where(row: object, why: str) -> None:
    good, bad = lines({"text": "fine"}, row)
    assert isinstance(good, Stored)
    assert isinstance(bad, BadLine) and bad.number == 2 and why in bad.why


def test_borderline_replies_are_not_labelled() -> None:
    assert [r.truth for r in lines({"text": "", "label": "borderline"}, {"text": ""}) if isinstance(r, Stored)] == [
        None,
        None,
    ]


def test_a_lower_line_flags_more_and_is_counted_by_scene() -> None:
    strict = replace(NOW, profiles={"chat": Profile(name="chat", cycle_count=3)})
    replies = [one(FOURFOLD, truth=False), one(FINE), one(LOOP, truth=True), one(FOURFOLD, scene="qa")]
    found = gathered([(judged(r, NOW, strict), r) for r in replies])
    assert (found.newly, found.no_longer) == (1, 0)
    chat = found.scenes["chat"]
    assert (chat.replies, chat.before, chat.after) == (3, 1, 2)
    assert (chat.healthy, chat.ill, chat.false_before, chat.false_after, chat.missed_after) == (1, 1, 0, 1, 0)
    assert list(by_scene(found)) == ["chat", "qa"]
    assert [outcome.after for outcome, _ in found.changed] == [True]
    assert found.total.replies == 4


def test_the_classic_rules_can_be_tried() -> None:
    classic = replace(NOW, gate=GatePolicy(rules=RuleSet.CLASSIC))
    assert classic.flags(one("你！" * 80))
    assert not classic.flags(one(FINE))
    assert not classic.flags(one("The long walk home took an hour and a half, as always. " * 5))  # its unit is too long


@pytest.mark.parametrize(
    ("said", "metrics", "line", "flagged"),
    [
        pytest.param(False, {"trigram_repeat": 0.5}, 0.6, False, id="below the line"),
        pytest.param(False, {"trigram_repeat": 0.5}, 0.45, True, id="the line came down to it"),
        pytest.param(True, {"trigram_repeat": 0.7}, 0.6, True, id="over the line"),
        pytest.param(True, {"trigram_repeat": 0.7}, 0.8, False, id="the line went up past it"),
        pytest.param(True, {"trigram_repeat": 0.0}, 0.9, True, id="found by a rule that leaves no figure"),
    ],
)
def test_without_its_text_a_reply_is_judged_by_its_figures(
    said: bool, metrics: dict[str, float], line: float, flagged: bool
) -> None:
    rules = replace(NOW, profiles={"chat": Profile(name="chat", trigram_repeat=line)})
    assert rules.flags(one(None, said=said, metrics=metrics)) is flagged


def test_a_profile_nobody_knows_is_an_error() -> None:
    with pytest.raises(ValueError, match="unknown profile"):
        NOW.flags(one(profile="poem"))


def traffic(bad_from: int, bad_to: int, minutes: int = 60, per_minute: int = 6) -> list[Outcome]:
    found = []
    for number in range(minutes * per_minute):
        minute = number // per_minute
        bad = bad_from <= minute < bad_to and number % 2 == 0
        found.append(
            Outcome(
                id=str(number), at=6_000.0 + 60 * minute + number % per_minute, model="a", scene="", truth=None,
                before=False, after=bad,
            )
        )  # fmt: skip
    return found


def test_the_breaker_is_played_on_the_recorded_minutes() -> None:
    outcomes = traffic(5, 40)
    (calm,) = stories(outcomes, BreakerPolicy(), after=False)
    (ill,) = stories(outcomes, BreakerPolicy(), after=True)
    assert calm.played.told == ()
    levels = [moved.to_level for moved in ill.played.told]
    assert levels[:2] == [Level.WARN, Level.REDUCED] and Level.OPEN in levels
    assert ill.began_at == 6_000.0


def test_recorded_replies_stand_in_for_the_probes_nobody_sent() -> None:
    (story,) = stories(traffic(5, 22), BreakerPolicy(), after=True)
    levels = [moved.to_level for moved in story.played.told]
    assert levels[-2:] == [Level.RECOVERING, Level.REDUCED] or levels[-1] is Level.HEALTHY


def test_replies_without_moments_or_over_too_long_a_time_make_no_timeline() -> None:
    with pytest.raises(NotPlayable, match="both a moment"):
        stories([replace(traffic(0, 0)[0], at=None)], BreakerPolicy(), after=True)
    first = traffic(0, 0)[0]
    with pytest.raises(NotPlayable, match="span"):
        stories([first, replace(first, at=6_000.0 + 60 * MOST_MINUTES)], BreakerPolicy(), after=True)


def test_what_an_evaluation_answered_is_read_as_it_is_exported() -> None:
    lines = [
        b'{"run_id": "r", "model": "a", "prompt_id": "zh-1", "lure": "code", "at": 5.0, "ill": true, "reply": "xx", "reply_chars": 2}',
        b'{"prompt_id": "zh-2", "lure": "code", "ill": false, "reply": "", "reply_chars": 900, "metrics": {}}',
    ]
    first, second = read_lines(lines)
    assert isinstance(first, Stored) and isinstance(second, Stored)
    assert (first.id, first.text, first.scene, first.model, first.at, first.said) == (
        "zh-1",
        "xx",
        "code",
        "a",
        5.0,
        True,
    )
    # Its text is past its time.
    assert (second.id, second.text) == ("zh-2", None)
