"""No row of the breaker's table of scenarios is left untold, and none is told in fewer forms than the table asks."""

import ast
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.support import scenarios

ROOT = Path(__file__).parents[3]
ROWS: list[dict[str, Any]] = tomllib.loads((scenarios.HERE / "rows.toml").read_text("utf-8"))["row"]
STORIES = {path: scenarios.load(path) for path in scenarios.files()}


def names_of_tests() -> set[str]:
    names = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names.add(node.name)
    return names


def test_the_table_is_whole() -> None:
    numbers = [row["number"] for row in ROWS]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == 42


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"row {row['number']}")
def test_a_row_is_told(row: dict[str, Any]) -> None:
    stories = [story for story in STORIES.values() if story.row == row["number"]]
    told_by = row.get("told_by", [])
    assert stories or told_by, f"{row['given']} -> {row['expect']}: no scenario tells it"
    assert set(told_by) <= names_of_tests()
    if row["runs_on"] == "both":
        assert any(story.real_only is None for story in stories), "it has a pure form, and no file plays it"


def test_every_story_says_what_it_expects() -> None:
    for path, story in STORIES.items():
        assert story.expect is not None and story.end.model_fields_set, f"{path.name} expects nothing"
        assert story.title, f"{path.name} has no title"
