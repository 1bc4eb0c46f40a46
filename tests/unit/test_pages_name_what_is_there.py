"""Pages and docstrings name files that are there, and the architecture page says truly in which file a record lives."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = (
    "base", "bench", "breaker", "console", "deploy", "detector", "docs", "fallback_phrases", "migrations", "monitor",
    "pointsman", "router", "store", "tests", "upstream",
)  # fmt: skip
NAMED = re.compile(rf"`((?:{'|'.join(ROOMS)})/[A-Za-z0-9_./-]+)`")
IN_CODE = re.compile(rf"\b((?:{'|'.join(ROOMS)})/[a-z0-9_/-]+\.(?:py|md|sql|yaml))\b")
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)[^)]*\)")
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("docs/decisions/*.md"),
        *ROOT.glob("deploy/*.md"),
        *ROOT.glob("bench/*.md"),
    ]
)
MADE = {"bench/results", "bench/results/scale.json", "bench/results/NAME.json"}


def there(name: str) -> bool:
    return (ROOT / name).exists() or (ROOT / f"{name}.py").exists() or name.rstrip("/") in MADE


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_names_files_that_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [name for name in NAMED.findall(text) if not there(name)] == []
    assert [link for link in LINK.findall(text) if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("room", ROOMS)
def test_docstrings_and_comments_name_files_that_are_there(room: str) -> None:
    wrong = {
        (str(file.relative_to(ROOT)), name)
        for file in (ROOT / room).rglob("*.py")
        if "node_modules" not in file.parts
        for name in IN_CODE.findall(file.read_text(encoding="utf-8"))
        if not there(name)
    }
    assert not wrong


def test_each_record_lives_where_the_architecture_page_says() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    said = re.findall(r"((?:`\w+`(?:,?\s)+)+)in `([\w/]+\.py)`", text)
    records = [(name, file) for names, file in said for name in re.findall(r"`(\w+)`", names)]
    assert len(records) >= 13
    for name, file in records:
        assert re.search(rf"^class {name}\b", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE), (name, file)


def test_every_room_has_its_row() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = {file.parent.name for file in ROOT.glob("*/__init__.py")} | {"migrations"}
    assert {room for room in rooms if f"`{room}/`" not in text} == set()
