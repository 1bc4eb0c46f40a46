"""Tables as CSV: one way for all of them, and no cell that a spreadsheet would run."""

import csv
import io
from pathlib import Path

import pytest

import console
from breaker.levels import Level
from console.csv_out import Sheet, csv_answer, mappings
from tests.support.console_desk import Browser, World, asked, failed

TEMPLATES = sorted((Path(console.__path__[0]) / "templates").glob("*.html"))
DRAWN_BY_OTHERS = ("gray_arms",)
"""Macros: gray.html and gray_one.html draw the table and bring the link."""


def read(body: bytes | memoryview) -> list[list[str]]:
    return list(csv.reader(io.StringIO(bytes(body).decode("utf-8-sig"))))


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        pytest.param("=1+1", "'=1+1", id="a formula"),
        pytest.param("＝1+1", "'＝1+1", id="a formula in full-width signs"),
        pytest.param("\n=1+1", "'\n=1+1", id="a formula behind a line end"),
        pytest.param("@SUM(A1)", "'@SUM(A1)", id="a function"),
        pytest.param(("-a", "b"), "'-a b", id="a list that begins like one"),
        pytest.param({"x": 1}, '{"x": 1}', id="a mapping"),
        pytest.param(Level.OPEN, "open", id="a level is its word"),
        pytest.param(None, "", id="nothing"),
        pytest.param(-2.5, "-2.5", id="a number stays one"),
        pytest.param('a "b"\nc', 'a "b"\nc', id="quotes and lines"),
    ],
)
def test_a_cell_is_plain_and_harmless(value: object, cell: str) -> None:
    answer = csv_answer("x", Sheet(columns=("a", "b"), rows=[(value, 1)]))
    assert read(answer.body) == [["a", "b"], [cell, "1"]]
    assert "pointsman-x.csv" in answer.headers["content-disposition"]


def test_a_key_that_is_missing_is_an_empty_cell() -> None:
    assert read(csv_answer("x", mappings([{"a": 1}], "a", "b")).body)[1] == ["1", ""]


@pytest.mark.parametrize(
    "template",
    [t for t in TEMPLATES if "<table" in t.read_text() and t.stem not in DRAWN_BY_OTHERS],
    ids=lambda t: t.stem,
)
def test_every_table_has_a_link_to_take_it_away(template: Path) -> None:
    text = template.read_text()
    assert text.count("csv(") >= text.count("<table"), template.name


@pytest.mark.parametrize("name", ["rules", "classes", "scenes", "endpoints", "loops", "hours", "transitions"])
async def test_each_table_of_a_model_can_be_taken_away(name: str) -> None:
    world = World(replies=[failed()])
    async with Browser(world) as browser:
        await browser.login("pma-viewer")
        answer = await browser.get(f"/model?name=alpha&csv={name}")
        assert answer.headers["content-type"] == "text/csv; charset=utf-8"
        rows = read(answer.content)
        assert all(len(row) <= len(rows[0]) for row in rows) and len(rows[0]) >= 2
        if name == "loops":
            assert rows[1][0] == "00b2"


async def test_a_table_that_the_page_does_not_have_is_not_found() -> None:
    async with Browser(World()) as browser:
        await browser.login("pma-viewer")
        assert (await browser.get("/model?name=alpha&csv=nothing")).status_code == 404
        assert (await browser.get("/?csv=fleet")).text.count("\n") == 3
        assert (await browser.get("/nowhere?csv=fleet")).status_code == 404


async def test_filters_hold_for_what_is_taken_away() -> None:
    world = World(asked=[asked(), asked(request_id="pm-2", route="qa")])
    async with Browser(world) as browser:
        await browser.login("pma-viewer")
        rows = read((await browser.get("/requests?route=qa&csv=requests")).content)
        assert [row[0] for row in rows] == ["request_id", "pm-2"]
        assert "route=qa&amp;csv=requests" in (await browser.get("/requests?route=qa")).text
        attempts = read((await browser.get("/request?id=pm-2&csv=attempts")).content)
        assert [row[0] for row in attempts] == ["model", "alpha", "acme/large"]
        assert "csv=fleet" in (await browser.get("/?route=chat")).text
