"""The demo's healthy texts are healthy and its sick ones sick, by the detector's own word."""

from random import Random

import pytest

from detector import score
from pointsman.demo.texts import LOOPS, deltas, healthy, loop


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("seed", range(20))
def test_healthy_text_is_clean_and_never_the_same(language: str, seed: int) -> None:
    rng = Random(seed)
    first, second = healthy(rng, language), healthy(rng, language)
    assert first != second
    assert not score(first).degenerate


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("behaviour", sorted(LOOPS))
def test_every_loop_is_degenerate(behaviour: str, language: str) -> None:
    assert score(loop(behaviour, Random(1), language)).degenerate


def test_deltas_joined_are_the_text() -> None:
    text = healthy(Random(2), "zh")
    assert "".join(deltas(text, Random(3), "zh")) == text
