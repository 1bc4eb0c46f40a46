"""How the load of a sick model reaches the others: in steps, and never to nobody."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breaker.commands import force
from breaker.edges import enter
from breaker.levels import Level, Mode, Reason
from breaker.policy import BreakerPolicy
from breaker.share import RouteCandidate, shares
from breaker.snapshot import Snapshot
from breaker.takeover import GIVES_UP, RouteShares, eased, steps

H, R, X = Level.HEALTHY, Level.REDUCED, Level.OPEN


def route(*parts: tuple[float, int]) -> list[RouteCandidate]:
    return [RouteCandidate(model=f"m{i}", weight=weight, priority=tier) for i, (weight, tier) in enumerate(parts)]


def at(step: int, candidates: list[RouteCandidate], *levels: Level) -> tuple[float, ...]:
    given_levels = {c.model: level for c, level in zip(candidates, levels, strict=True)}
    got = eased(candidates, given_levels, step, ratio=0.25, reduced_share=0.1)
    return tuple(got[c.model] for c in candidates)


LADDER = route((1, 0), (1, 1), (1, 2), (1, 3))


@pytest.mark.parametrize(
    "step, expected",
    [
        # Three backups have room for three quarters; the last quarter is nobody else's, so the limit gives way.
        pytest.param(0, (0.0, 0.5, 0.25, 0.25), id="at first with the help of those after it"),
        pytest.param(1, (0.0, 0.5, 0.5, 0.0), id="then the first backup takes half"),
        pytest.param(2, (0.0, 0.75, 0.25, 0.0), id="three quarters"),
        pytest.param(3, (0.0, 1.0, 0.0, 0.0), id="and all"),
    ],
)
def test_a_cold_backup_takes_over_in_steps(step: int, expected: tuple[float, ...]) -> None:
    assert at(step, LADDER, X, H, H, H) == pytest.approx(expected)


def test_what_the_reduced_model_gives_up_is_eased_too_and_it_keeps_its_tenth() -> None:
    two_tiers = route((9, 0), (1, 0), (1, 1))
    assert at(0, two_tiers, R, H, H) == pytest.approx((0.1, 0.35 + 0.3, 0.25))
    assert at(1, two_tiers, R, H, H) == pytest.approx((0.1, 0.6, 0.3))
    assert at(3, two_tiers, R, H, H) == pytest.approx((0.1, 0.9, 0.0))


def test_the_only_backup_takes_all_at_once() -> None:
    assert at(0, route((1, 0), (1, 1)), X, H) == pytest.approx((0.0, 1.0))


def test_where_everybody_is_reduced_nothing_is_eased() -> None:
    assert at(0, route((3, 0), (1, 0)), R, R) == pytest.approx((0.75, 0.25))


@given(
    st.lists(st.tuples(st.floats(0.1, 100.0), st.integers(0, 2), st.sampled_from(list(Level))), min_size=1, max_size=6),
    st.integers(0, 20),
    st.floats(0.02, 1.0),
)
def test_at_every_step_all_of_the_traffic_goes_somewhere_and_no_more_of_it_to_the_sick(
    parts: list[tuple[float, int, Level]], step: int, ratio: float
) -> None:
    candidates = route(*((weight, tier) for weight, tier, _ in parts))
    levels = {c.model: level for c, (_, _, level) in zip(candidates, parts, strict=True)}
    due, got = shares(candidates, levels), eased(candidates, levels, step, ratio=ratio, reduced_share=0.1)
    assert sum(got.values()) == pytest.approx(sum(due.values()))
    assert all(part >= -1e-12 for part in got.values())
    assert all(got[model] == due[model] for model, level in levels.items() if level in GIVES_UP)
    last = eased(candidates, levels, steps(ratio), ratio=ratio, reduced_share=0.1)
    assert last == pytest.approx(due)


def test_steps_pass_with_time_and_the_last_one_is_what_the_table_says() -> None:
    now = [1_000.0]
    obeyed = RouteShares(BreakerPolicy(), {"m0": 1_000.0}.get, lambda: now[0])  # type: ignore[arg-type]
    levels = {"m0": X}
    seen = []
    for passed_s in (0.0, 14.9, 15.0, 30.0, 45.0, 4_500.0):
        now[0] = 1_000.0 + passed_s
        seen.append(round(obeyed(LADDER, levels)["m1"], 3))
    assert seen == [0.5, 0.5, 0.5, 0.75, 1.0, 1.0]
    now[0] = 900.0  # a clock that was set back
    assert obeyed(LADDER, levels)["m1"] == pytest.approx(0.5)


def test_shares_are_worked_out_once_for_each_standing() -> None:
    obeyed = RouteShares(BreakerPolicy(takeover_step_s=0), lambda _: 0.0, lambda: 0.0)
    levels = {"m0": X, "elsewhere": R}
    first = obeyed(LADDER, levels)
    assert first == shares(LADDER, levels)
    assert obeyed(LADDER, dict(levels)) is first
    assert obeyed(LADDER, {"m0": H}) is not first


def test_load_is_shed_when_a_serving_model_falls_and_not_again_when_its_last_tenth_goes() -> None:
    policy = BreakerPolicy(cooldown_jitter=0.0)
    here = Snapshot(model="m")
    assert here.shed_at == 0.0
    here = enter(here, Level.WARN, 50.0, (Reason.RATIO_10M,), policy)
    assert here.shed_at == 0.0
    here = enter(here, Level.REDUCED, 100.0, (Reason.RATIO_30M,), policy)
    here = enter(here, Level.OPEN, 200.0, (Reason.ROLLING_15M,), policy)
    here = enter(here, Level.RECOVERING, 900.0, (Reason.COOLED_DOWN,), policy)
    here = enter(here, Level.OPEN, 950.0, (Reason.PROBES_FAILED,), policy)
    assert here.shed_at == 100.0
    assert force(Snapshot(model="m"), Mode.FORCED_OPEN, "op", "drill", 90.0, 30.0).shed_at == 30.0
