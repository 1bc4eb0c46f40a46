"""Figures of a move, as words and values."""

import math

from console.figures import figures
from console.words import load


def test_a_figure_that_is_no_number_broke_the_page() -> None:
    said = figures(
        [("rolling_15m.n", 30.0), ("nightly.growth", math.inf), ("new_rule.odd", math.nan), ("rolling_15m.line", 0.25)],
        load()["en"],
        percent="{:.0%}".format,
        moment=str,
    )
    assert [value for _, value in said] == ["30", "inf", "nan", "25%"]
