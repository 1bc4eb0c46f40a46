"""The pages say what was measured: each table and plot is what bench/measured.json gives, and no figure is typed by hand."""

import re
import tomllib
from xml.etree import ElementTree

import pytest

from bench.drawing import bars, lines
from bench.figures import Figures, load
from bench.loads import LOADS
from bench.processes import HERE
from bench.report import DOCS, PAGES, PART, filled, pages
from bench.subjects import AS_SET_UP, POSTGRES, SUBJECTS, Act, chosen


def test_pages_and_plots_are_what_the_kept_figures_give() -> None:
    for file, text in pages(Figures(load(None))).items():
        assert file.read_text(encoding="utf-8") == text, f"{file.name}: run make bench-report"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_every_part_and_shows_every_plot_that_is_there(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    assert {found[1] for found in PART.finditer(text)} == set(PAGES[page](Figures({})))
    for shown in re.findall(r"\(images/(bench-[a-z-]+\.svg)\)", text):
        assert (DOCS / "images" / shown).exists(), shown


def test_without_figures_the_parts_say_so_and_nothing_is_drawn() -> None:
    parts = PAGES["performance.md"](Figures({}))
    assert "NOT MEASURED" in "".join(parts["gateways"]) and "not measured" in "".join(parts["marks"])
    assert not [file for file in pages(Figures({})) if file.suffix == ".svg"]


def test_a_part_that_nobody_writes_is_an_error() -> None:
    with pytest.raises(KeyError):
        filled("<!-- measured: nobody -->\n<!-- end -->", {})


def test_what_cannot_be_measured_stands_in_the_table_with_the_reason() -> None:
    figures = Figures({"litellm": {"name": "litellm", "not_measured": "it is not here"}})
    assert "| litellm | NOT MEASURED: it is not here |" in "\n".join(PAGES["performance.md"](figures)["gateways"])


def test_every_subject_has_loads_that_exist_and_stores_that_can_go_away() -> None:
    gateways = tomllib.loads((HERE / "gateways.toml").read_text()).keys() | {"direct", "pointsman"}
    for subject in SUBJECTS:
        assert set(subject.loads) <= LOADS.keys(), subject.name
        assert subject.gateway in gateways
        assert Act.SQL_DOWN not in subject.acts or subject.sql == POSTGRES
    assert len({subject.name for subject in SUBJECTS}) == len(SUBJECTS)


def test_the_quick_plan_takes_six_minutes_and_the_full_one_fifteen() -> None:
    assert sum(subject.seconds for subject in chosen([], full=False)) <= 6 * 60
    assert sum(subject.seconds for subject in chosen([], full=True)) <= 15 * 60


def test_an_unknown_subject_is_named_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"not in the table of bench/subjects\.py: nobody; there are direct, nginx"):
        chosen(["nobody"], full=False)


def test_added_latency_is_over_going_direct_and_a_valkey_is_not_the_gateway() -> None:
    load = {"whole c1": {"p50_us": 900.0, "cpu_us": 500.0, "bad_status": 2}}
    figures = Figures(
        {
            "direct": {"phases": {AS_SET_UP: {"whole c1": {"p50_us": 150.0}}}},
            "pointsman": {"phases": {AS_SET_UP: load}, "rss_idle_mb": {"python": 100.0, "valkey-server": 8.0}},
        }
    )
    assert figures.added_us("pointsman", "whole c1", "p50_us") == 750.0
    assert figures.resident_mb("pointsman") == 100.0
    assert figures.errors("pointsman") == 2
    assert figures.request_us("pointsman", phase=Act.REDIS_DOWN) is None


def test_plots_are_well_formed_whatever_the_names() -> None:
    series = {"a < b & c": [(1.0, 5.0), (1000.0, 120.0)], "one point": [(10.0, 7.0)]}
    for drawn in (
        lines(series, title="t", across="x", up="y", log_y=True),
        lines(series, title="t", across="x", up="y", log_x=False),
        bars([("nginx", 20.0), ("pointsman", 579.0)], title="t & u", unit="µs"),
    ):
        assert ElementTree.fromstring(drawn).tag.endswith("svg")
