"""How the counts of several writers become the fleet's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breaker.window import Counts, MinuteRow
from store.merge import AHEAD_S, FINGERPRINTS_CAP, KEPT_S, acceptable, merge_minutes


@pytest.mark.parametrize(
    ("starts_at", "expected"),
    [
        pytest.param(10_000.0 + AHEAD_S, True, id="as far ahead as may be"),
        pytest.param(10_000.1 + AHEAD_S, False, id="from the future"),
        pytest.param(10_000.0 - KEPT_S, True, id="the oldest back-fill"),
        pytest.param(9_999.9 - KEPT_S, False, id="too old"),
    ],
)
def test_impossible_times_are_refused(starts_at: float, expected: bool) -> None:
    assert acceptable(starts_at, 10_000.0) is expected


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["", "scene:a"]), st.integers(0, 50))), st.randoms())
def test_the_order_of_writers_does_not_matter(seen: list[tuple[int, str, int]], rng: object) -> None:
    rows = [MinuteRow(model="a", scope=s, minute=m, counts=Counts(judged=n)) for m, s, n in seen]
    mixed = list(rows)
    rng.shuffle(mixed)  # type: ignore[attr-defined]
    assert merge_minutes(mixed) == merge_minutes(rows)
    assert sum(r.counts.judged for r in merge_minutes(rows)) == sum(n for _, _, n in seen)


def test_only_the_top_fingerprints_are_kept() -> None:
    seen = {f"f{n}": n + 1 for n in range(100)}
    (row,) = merge_minutes(
        [MinuteRow(model="a", scope="", minute=1, counts=Counts(judged=1), fingerprints=seen)]
    )  # fmt: skip
    assert len(row.fingerprints) == FINGERPRINTS_CAP
    assert max(row.fingerprints, key=lambda name: row.fingerprints[name]) == "f99"
