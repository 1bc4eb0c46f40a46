"""The report for robots, spreadsheets and programs."""

import csv
import io
import json
from dataclasses import replace

import pytest

from monitor.report.digest import LIMIT_BYTES, digest, escaped
from monitor.report.document import Report
from monitor.report.export import COLUMNS, as_csv, as_json
from tests.support.reports import report


@pytest.fixture(scope="module")
def whole() -> Report:
    return report()


def test_the_worst_stands_first_with_what_changed(whole: Report) -> None:
    lines = digest(whole, "zh").splitlines()
    assert lines[0] == "**2 个模型变差：deepseek-chat、glm-air**"
    assert lines[1].startswith("- deepseek-chat: **9.9% (52/524)** 翻倍")
    assert lines[2].startswith("  > 复读率 2.9% → 9.9%")


@pytest.mark.parametrize("limit", [300, 600, 1_200, LIMIT_BYTES])
@pytest.mark.parametrize("language", ["zh", "en"])
def test_it_never_outgrows_its_bytes_and_says_what_it_left_out(whole: Report, limit: int, language: str) -> None:
    many = replace(whole, models=tuple(replace(m, model=f"{m.model}-{n}") for n in range(20) for m in whole.models))
    text = digest(many, "zh" if language == "zh" else "en", limit)
    assert len(text.encode()) <= limit
    if limit >= 600:
        assert ("另有" if language == "zh" else "more models") in text


def test_nothing_a_model_said_is_markdown(whole: Report) -> None:
    text = digest(whole, "en")
    assert "](" not in text and "<" not in text
    assert escaped("a *b*\n# [x](y) <@all>") == r"a \*b\* \# \[x\](y) ‹@all>"


def test_the_table_has_one_figure_a_row(whole: Report) -> None:
    rows = list(csv.reader(io.StringIO(as_csv(whole).removeprefix("\ufeff"))))
    assert tuple(rows[0]) == COLUMNS
    assert {len(row) for row in rows} == {len(COLUMNS)}
    assert ["2026-01-31", "nightly-2026-01-31", "deepseek-chat", "total", "doubled", "524", "52", "0.099237"] in rows
    assert {row[3] for row in rows[1:]} == {"total", "baseline", "class", "lure", "language", "json", "fault"}


def test_a_name_that_is_a_formula_is_text_in_a_spreadsheet(whole: Report) -> None:
    odd = replace(whole, models=(replace(whole.models[0], model="=HYPERLINK(1)"),))
    assert ",'=HYPERLINK(1)," in as_csv(odd)


def test_programs_get_the_whole_document(whole: Report) -> None:
    data = json.loads(as_json(whole))
    assert [model["model"] for model in data["models"]][:2] == ["deepseek-chat", "glm-air"]
    assert data["models"][0]["total"] == {"n": 524, "k": 52}
