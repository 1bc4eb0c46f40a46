"""Thresholds from labelled replies: judged by the engine itself, suggested only on enough labels."""

import math
from dataclasses import replace

import pytest

from detector import Profile
from monitor.replay.calibrate import GRIDS, Curve, Point, _best, curves, edge
from monitor.replay.records import Stored
from monitor.replay.rules import Rules
from tests.support.evals import FINE, LOOP

RULES = Rules()


def one(text: str, truth: bool | None, scene: str = "chat", **more: object) -> Stored:
    return Stored(**{"id": "r", "text": text, "scene": scene, "truth": truth, **more})  # type: ignore[arg-type]


def copies(count: int, number: int = 0) -> str:
    return f"We walked {number} miles along the river. " * count + "Then the lamps went out and everybody went home."


def test_the_edge_is_the_highest_line_that_still_flags() -> None:
    assert edge(one(FINE, False), RULES, "cycle_count") == -math.inf
    assert edge(one(copies(7), True), replace(RULES, profiles={"chat": BARE}), "cycle_count") == 6
    assert edge(one("你！" * 200, True), RULES, "trigram_repeat") == math.inf  # another rule flags it at any line


BARE = Profile(name="chat", statistics=False, char_rule=False, block_copies=99, stuck_words=99)
"""Only whole cycles count, so that one threshold decides alone."""


def test_more_finds_within_the_false_alarms_allowed_are_suggested() -> None:
    rules = replace(RULES, profiles={"chat": replace(BARE, cycle_count=6)})
    healthy = [one(f"{FINE} {n}", False) for n in range(40)]
    ill = [one(copies(6, n), True) for n in range(12)]
    (found,) = [c for c in curves([*healthy, *ill], rules) if c.name == "cycle_count"]
    assert (found.now, found.healthy, found.ill, found.enough) == (6, 40, 12, True)
    assert found.suggested == 5 and found.moves
    assert found.at(5).found == 12 and found.at(6).found == 0
    assert found.found_rate(found.at(5)) == 1.0


def test_a_line_that_flags_good_replies_is_moved_away_from_them() -> None:
    rules = replace(RULES, profiles={"chat": BARE})
    healthy = [one(f"{FINE} {n}", False) for n in range(30)] + [one(copies(5, n), False) for n in range(6)]
    ill = [one(copies(12, n), True) for n in range(10)]
    (found,) = [c for c in curves([*healthy, *ill], rules) if c.name == "cycle_count"]
    assert found.at(4).false == 6
    assert (found.suggested, found.at(found.suggested).false, found.at(found.suggested).found) == (5, 0, 10)


def test_few_labels_are_shown_and_suggest_nothing() -> None:
    found = curves([one(LOOP, True), one(FINE, False)], RULES)
    assert [curve.name for curve in found] == ["trigram_repeat", "char_repeat", "cycle_count"]
    assert not any(curve.enough or curve.moves for curve in found)


def test_scenes_are_told_apart_and_what_has_no_label_or_text_is_left_out() -> None:
    replies = [one(FINE, False), one(FINE, None), one(LOOP, True, "qa"), replace(one("", True), text=None)]
    ticks = []
    found = curves(replies, RULES, told=lambda: ticks.append(1))
    assert {(curve.scene, curve.healthy, curve.ill) for curve in found} == {("chat", 1, 0), ("qa", 0, 1)}
    assert len(ticks) == 4


def test_likeness_to_the_reply_before_is_only_looked_at_where_there_is_one() -> None:
    with_history = one(FINE, True, previous=FINE)
    assert "context_sim" in {curve.name for curve in curves([with_history], RULES)}


def test_the_highest_rate_that_may_hide_behind_no_false_alarm_is_told() -> None:
    curve = Curve(scene="", name="x", now=1, suggested=1, healthy=100, ill=1, points=(), enough=True)
    rate, most = curve.false_rate(Point(value=1, false=0, found=0))
    assert rate == 0.0 and most == pytest.approx(0.0295, abs=0.001)  # the rule of three
    assert curve.false_rate(Point(value=1, false=5, found=0))[1] > 0.1


def test_among_equals_the_line_in_force_stays() -> None:
    points = [Point(value=v, false=0, found=9) for v in (3, 4, 5)]
    assert _best(points, 4, 0) == 4
    assert _best([Point(value=3, false=9, found=9), Point(value=4, false=2, found=1)], 3, 0) == 4


def test_every_grid_grows_and_holds_the_usual_line_between_its_ends() -> None:
    for name, grid in GRIDS.items():
        assert list(grid) == sorted(set(grid))
        assert grid[0] < getattr(Profile(), name) < grid[-1]
