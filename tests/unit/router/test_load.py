"""How many attempts of a model one process may have under way."""

import pytest

from router.load import Load
from router.topology import Model


def model(cap: int | None) -> Model:
    return Model(name="b", vendor="v", endpoints=(), max_concurrent=cap)


@pytest.mark.parametrize(
    ("cap", "others", "places"),
    [
        pytest.param(None, 7, None, id="no cap"),
        pytest.param(10, 0, 10, id="alone"),
        pytest.param(10, 2, 3, id="never more than the cap together"),
        pytest.param(2, 7, 1, id="at least one, or a process could not ask at all"),
    ],
)
def test_each_process_has_its_part_of_the_places(cap: int | None, others: int, places: int | None) -> None:
    load = Load()
    load.heard(others)
    assert load.places(model(cap)) == places


def test_it_is_full_with_its_own_part_and_free_again_when_an_attempt_has_ended_or_a_process_has_gone() -> None:
    load, one = Load(), model(4)
    load.heard(1)
    with load.slot(one):
        assert not load.full(one)
        with load.slot(one):
            assert load.full(one)
            load.heard(0)
            assert not load.full(one)
            load.heard(1)
        assert not load.full(one)
