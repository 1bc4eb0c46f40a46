"""The hourly watch: what is a finding, what is chance, and what people are shown of an hour."""

from random import Random

import pytest

from breaker.policy import BreakerPolicy
from breaker.window import Counts
from monitor.alerts.alert import AlertKind
from monitor.policy import MonitorPolicy
from monitor.rollup import DAY_S, HOUR_S, Rollup
from monitor.versions import Version, change_finding, changes
from monitor.watch import WEEK_S, figures, hour_finding, parse_finding, profile, scene_findings

HOUR = 1_700_006_400.0  # on the hour
NOW = HOUR + HOUR_S + 300
BREAKER, POLICY = BreakerPolicy(), MonitorPolicy()


def counts(n: int, k: int, **more: int) -> Counts:
    return Counts(judged=n, stuck=k, **more)


@pytest.mark.parametrize(
    ("before", "now", "found"),
    [
        pytest.param((1_000, 4), (1_000, 6), False, id="4 to 6 is chance"),
        pytest.param((1_000, 60), (1_000, 95), True, id="60 to 95 is not"),
        pytest.param((1_000, 0), (1_000, 15), True, id="0 to 15"),
        pytest.param((1_000, 0), (1_000, 9), False, id="0 to 9 is too few"),
        pytest.param((1_000, 50), (2_000, 100), False, id="traffic doubles at the same ratio"),
        pytest.param((1_000, 95), (1_000, 60), False, id="it falls"),
        pytest.param((1_000, 60), (0, 0), False, id="silence"),
        pytest.param((29, 0), (100, 10), False, id="hardly anything to compare with"),
        pytest.param((30, 0), (100, 10), True, id="just enough to compare with"),
    ],
)
def test_an_hour_is_marked_when_repeats_rose_by_half_beyond_chance(
    before: tuple[int, int], now: tuple[int, int], found: bool
) -> None:
    rows = {("", HOUR): counts(*now), ("", HOUR - HOUR_S): counts(*before)}
    finding = hour_finding("a", HOUR, rows, NOW, BREAKER, POLICY)
    assert (finding is not None) is found


def test_a_finding_says_its_numbers_its_class_and_the_same_hour_last_week() -> None:
    rows = {
        ("", HOUR): counts(1_000, 95),
        ("", HOUR - HOUR_S): counts(1_000, 60),
        ("", HOUR - WEEK_S): counts(500, 20),
    }
    finding = hour_finding("a", HOUR, rows, NOW, BREAKER, POLICY)
    assert finding is not None
    assert (finding.kind, finding.until - finding.at) == (AlertKind.HOURLY, 7_200.0)
    assert finding.numbers["growth"] == pytest.approx(95 / 60)
    assert finding.numbers["chance"] < 0.01
    assert (finding.numbers["last_week"], finding.numbers["last_week_n"]) == (0.04, 500)
    assert finding.facts["top_class"] == "stuck"


def test_a_scene_is_found_by_its_own_rise_and_carries_its_part_of_the_traffic() -> None:
    rows = {
        ("", HOUR): counts(1_000, 40),
        ("", HOUR - HOUR_S): counts(1_000, 30),
        ("scene:chat", HOUR): counts(700, 5),
        ("scene:chat", HOUR - HOUR_S): counts(700, 10),
        ("scene:cockpit", HOUR): counts(300, 35),
        ("scene:cockpit", HOUR - HOUR_S): counts(300, 12),
        ("endpoint:0", HOUR): counts(1_000, 90),
        ("endpoint:0", HOUR - HOUR_S): counts(1_000, 10),
    }
    (finding,) = scene_findings("a", HOUR, rows, NOW, BREAKER, POLICY)
    assert (finding.kind, finding.scene, finding.numbers["traffic"]) == (AlertKind.SCENE, "cockpit", 0.3)
    # As the breaker reads evidence of this kind (breaker/triggers/findings.py).
    assert finding.numbers["repeats"] >= BREAKER.period_min_repeats
    assert finding.numbers["growth"] >= BREAKER.scene_growth
    assert finding.numbers["chance"] < BREAKER.period_chance


def test_a_scene_that_never_repeated_before_grows_from_half_a_reply_and_counts_as_evidence() -> None:
    rows = {
        ("", HOUR): counts(1_000, 20),
        ("scene:qa", HOUR): counts(400, 12),
        ("scene:qa", HOUR - HOUR_S): counts(400, 0),
    }
    (finding,) = scene_findings("a", HOUR, rows, NOW, BREAKER, POLICY)
    assert finding.numbers["growth"] > BREAKER.scene_growth
    assert finding.numbers["chance"] == 0.0


def hours(*repeats: int) -> dict[tuple[str, float], Counts]:
    """Hours of a thousand replies, the last of them the one that is judged."""
    return {("", HOUR - back * HOUR_S): counts(1_000, k) for back, k in enumerate(reversed(repeats))}


@pytest.mark.parametrize(
    ("repeats", "sure"),
    [
        pytest.param((60, 60, 60, 95), False, id="half more in one hour may be chance"),
        pytest.param((60, 60, 95, 95), True, id="an hour later it still stands"),
        pytest.param((60, 60, 95, 60), None, id="it was chance"),
        pytest.param((60, 60, 60, 120), True, id="twice as much is told at once"),
        pytest.param((60, 60, 120, 120), None, id="and not again while it stands"),
        pytest.param((60, 60, 95, 150), True, id="it rises on"),
        pytest.param((0, 0, 0, 10), False, id="ten where there were none"),
        pytest.param((0, 0, 10, 9), True, id="and nine more"),
        pytest.param((10, 30, 10, 26), False, id="an hour of few does not make the next one sure"),
    ],
)
def test_a_rise_is_told_when_it_is_rare_or_stands(repeats: tuple[int, ...], sure: bool | None) -> None:
    finding = hour_finding("a", HOUR, hours(*repeats), NOW, BREAKER, POLICY)
    assert (finding.facts["sure"] if finding else None) is sure


def test_a_rise_that_stands_says_the_numbers_of_both_hours() -> None:
    finding = hour_finding("a", HOUR, hours(60, 60, 95, 91), NOW, BREAKER, POLICY)
    assert finding is not None and finding.facts["hours"] == 2
    assert (finding.numbers["n"], finding.numbers["repeats"], finding.numbers["previous"]) == (2_000, 186, 0.06)
    assert finding.numbers["growth"] == pytest.approx(186 / 120)
    assert finding.numbers["chance"] < POLICY.tell_chance


def test_every_mark_may_be_told_at_once() -> None:
    finding = hour_finding("a", HOUR, hours(60, 60, 60, 95), NOW, BREAKER, MonitorPolicy(tell_chance=1))
    assert finding is not None and finding.facts["sure"]


def test_of_calm_hours_under_one_in_a_hundred_is_marked_and_one_in_a_thousand_told() -> None:
    # 30 repeats an hour by chance, where the exact test errs most; figures of more hours: docs/decisions/0009.
    rng = Random(7)
    calm = [sum(rng.random() < 0.03 for _ in range(1_000)) for _ in range(4_003)]
    found = [hour_finding("a", HOUR, hours(*calm[at : at + 4]), NOW, BREAKER, POLICY) for at in range(4_000)]
    marked = [finding for finding in found if finding is not None]
    assert 8 <= len(marked) <= 32
    assert sum(finding.facts["sure"] for finding in marked) <= 4


@pytest.mark.parametrize(
    ("repaired", "found"),
    [
        pytest.param([2, 3, 4, 6, 8, 10], True, id="rising"),
        pytest.param([10, 8, 6, 4, 3, 2], False, id="falling"),
        pytest.param([6, 6, 6, 6, 6, 6], False, id="level"),
        pytest.param([0, 1, 1, 2, 3, 4], False, id="too few to say"),
        pytest.param([4, 6, 9, 5, 10, 12], False, id="it fell in between"),
        pytest.param([9, 9, 10, 10, 11, 12], False, id="it hardly rises"),
    ],
)
def test_ever_more_repaired_json_is_a_trend(repaired: list[int], found: bool) -> None:
    rows = {
        ("", HOUR - back * HOUR_S): Counts(judged=200, structured=100, repaired=k)
        for back, k in enumerate(reversed(repaired))
    }
    assert (parse_finding("a", HOUR, rows, NOW, POLICY) is not None) is found


def test_an_hour_without_structured_replies_makes_the_trend_unknown() -> None:
    rows = {("", HOUR - back * HOUR_S): Counts(structured=100, repaired=30 - 5 * back) for back in range(6)}
    assert parse_finding("a", HOUR, rows, NOW, POLICY) is not None
    rows["", HOUR - 2 * HOUR_S] = Counts(judged=50)
    assert parse_finding("a", HOUR, rows, NOW, POLICY) is None


def test_figures_are_per_thousand_and_shares_of_the_bad() -> None:
    row = Rollup(
        model="a", scope="", starts_at=HOUR, counts=Counts(judged=400, stuck=3, phrase_loop=1, timeouts=100)
    )  # fmt: skip
    seen = figures(row)
    assert (seen.per_1000, seen.classes, seen.hard_ratio) == (10.0, {"stuck": 0.75, "phrase_loop": 0.25}, 0.2)
    empty = figures(Rollup(model="a", scope="", starts_at=HOUR, counts=Counts()))
    assert (empty.per_1000, empty.classes, empty.hard_ratio) == (0.0, {}, 0.0)


def test_the_profile_pools_the_same_hour_of_several_days_in_local_time() -> None:
    midnight = 1_699_999_200.0 - 8 * HOUR_S  # 06:00 in Shanghai is 22:00 UTC
    rows = [
        Rollup(model="a", scope="", starts_at=midnight + day * DAY_S, counts=counts(100, k))
        for day, k in enumerate((1, 3))
    ]
    seen = profile(rows, 8 * 3_600.0)
    (hour,) = [hour for hour, value in enumerate(seen) if value is not None]
    assert seen[hour] == 20.0
    assert hour == int((midnight + 8 * HOUR_S) % DAY_S // HOUR_S)


def version(served: str, fingerprint: str = "", at: float = 1.0, endpoint: int = 0, asked: str = "gpt") -> Version:
    return Version(model="a", endpoint=endpoint, asked=asked, served=served, fingerprint=fingerprint, at=at)


@pytest.mark.parametrize(
    ("seen", "new"),
    [
        pytest.param([version("gpt-1", "fp1")], [], id="as known"),
        pytest.param([version("gpt-2", "fp1")], ["gpt-2 (fp1)"], id="another model"),
        pytest.param([version("gpt-1", "fp2"), version("gpt-1", "fp2", 2.0)], ["gpt-1 (fp2)"], id="told once"),
        pytest.param([version("gpt-9", endpoint=1)], [], id="an endpoint's first"),
        pytest.param([version("gpt-9", asked="gpt-new")], [], id="the operator asks for another"),
    ],
)
def test_a_version_never_seen_before_at_a_known_place_is_a_change(seen: list[Version], new: list[str]) -> None:
    known = [version("gpt-1", "fp1"), version("gpt-0", "fp0")]
    assert [it.name for it in changes(known, seen)] == new


def test_a_change_tells_what_was_there_and_when_it_was_first_seen() -> None:
    known = [version("gpt-1", "fp1", at=1.0), version("gpt-1", "fp2", at=5.0), version("x", endpoint=1, at=9.0)]
    finding = change_finding(version("gpt-2", at=77.0), known, 60.0)
    assert (finding.at, finding.facts["was"], finding.facts["is"]) == (77.0, "gpt-1 (fp2)", "gpt-2")
