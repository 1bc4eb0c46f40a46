"""docs/cases.md names tests that exist, and leaves no row without an answer."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs" / "cases.md").read_text(encoding="utf-8").splitlines()
    if re.match(r"\| [A-Z]\d+ \|", line)
]
TESTS = {
    name
    for file in (ROOT / "tests").rglob("test_*.py")
    for name in re.findall(r"^\s*(?:async )?def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
}


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_reported_fault_is_held_by_tests_that_exist(row: list[str]) -> None:
    number, _, symptom, here = row
    named = re.findall(r"`(test_\w+)`", here)
    assert symptom and (named or len(here) > 20), f"{number} has neither a test nor a reason"
    assert set(named) <= TESTS, f"{number} names tests that do not exist: {set(named) - TESTS}"


def test_every_reported_fault_has_one_row() -> None:
    numbers = [row[0] for row in ROWS]
    assert len(numbers) == len(set(numbers)) == 57
