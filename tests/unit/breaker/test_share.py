"""Who gets how much of a route."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breaker.levels import Level
from breaker.share import RouteCandidate, phrase_only, shares

H, W, R, X, P = Level.HEALTHY, Level.WARN, Level.REDUCED, Level.OPEN, Level.RECOVERING


def route(*parts: tuple[float, int]) -> list[RouteCandidate]:
    return [RouteCandidate(model=f"m{i}", weight=weight, priority=tier) for i, (weight, tier) in enumerate(parts)]


THREE = route((40, 0), (40, 0), (20, 0))
TIERS = route((100, 0), (60, 1), (40, 1))


@pytest.mark.parametrize(
    "candidates, levels, expected",
    [
        pytest.param(THREE, (H, H, H), (0.4, 0.4, 0.2), id="configured"),
        pytest.param(THREE, (W, H, H), (0.4, 0.4, 0.2), id="a warning changes nothing"),
        pytest.param(THREE, (R, H, H), (0.1, 0.6, 0.3), id="reduced to a tenth of the route"),
        pytest.param(route((5, 0), (95, 0)), (R, H), (0.05, 0.95), id="its configured share if that is lower"),
        pytest.param(THREE, (R, R, H), (0.1, 0.1, 0.8), id="two reduced"),
        pytest.param(THREE, (R, R, R), (0.4, 0.4, 0.2), id="all reduced: configured weights"),
        pytest.param(THREE, (X, H, H), (0.0, 2 / 3, 1 / 3), id="open gets nothing"),
        pytest.param(THREE, (P, H, H), (0.0, 2 / 3, 1 / 3), id="recovering gets permits only"),
        pytest.param(THREE, (X, R, R), (0.0, 2 / 3, 1 / 3), id="the rest reduced"),
        pytest.param(THREE, (X, R, H), (0.0, 0.1, 0.9), id="open and reduced"),
        pytest.param(THREE, (X, X, X), (0.0, 0.0, 0.0), id="phrase only"),
        pytest.param(TIERS, (H, H, H), (1.0, 0.0, 0.0), id="the best tier takes all"),
        pytest.param(TIERS, (R, H, H), (0.1, 0.54, 0.36), id="given up to the next tier"),
        pytest.param(TIERS, (R, X, X), (1.0, 0.0, 0.0), id="nobody to give it to"),
        pytest.param(TIERS, (X, R, H), (0.0, 0.1, 0.9), id="next tier, one reduced"),
    ],
)
def test_shares(candidates: list[RouteCandidate], levels: tuple[Level, ...], expected: tuple[float, ...]) -> None:
    given_levels = {c.model: level for c, level in zip(candidates, levels, strict=True)}
    got = shares(candidates, given_levels)
    assert tuple(got[c.model] for c in candidates) == pytest.approx(expected)
    assert phrase_only(candidates, given_levels) == (sum(expected) == 0)


def test_a_weight_of_zero_takes_nothing() -> None:
    assert shares(route((0, 0), (1, 0)), {}) == {"m0": 0.0, "m1": 1.0}
    assert phrase_only(route((0, 0)), {})


@given(
    st.lists(st.tuples(st.floats(0.0, 100.0), st.integers(0, 2), st.sampled_from(list(Level))), min_size=1, max_size=6)
)
def test_shares_add_up_to_one_or_the_route_has_only_phrases(parts: list[tuple[float, int, Level]]) -> None:
    candidates = route(*((weight, tier) for weight, tier, _ in parts))
    levels = {c.model: level for c, (_, _, level) in zip(candidates, parts, strict=True)}
    got = shares(candidates, levels)
    assert all(part >= 0 for part in got.values())
    assert all(got[model] == 0 for model, level in levels.items() if level in (Level.OPEN, Level.RECOVERING))
    assert sum(got.values()) == pytest.approx(0.0 if phrase_only(candidates, levels) else 1.0)
