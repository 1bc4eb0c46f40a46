"""The two languages say the same things, and every word a page asks for is there."""

import re
import string
from pathlib import Path

import pytest

import console
from base.faults import Fault
from breaker.levels import Level, Mode, Reason
from console.access import Role
from console.model_now import CLASSES
from console.pages.requests import FALLBACKS
from console.words import LANGUAGES, load, preferred
from detector.verdict import LoopClass

ROOM = Path(console.__path__[0])
WORDS = load()
LITERAL = re.compile(r"""\b(?:t|words)\(\s*["']([a-z_]+(?:\.[a-z0-9_]+)+|join)["']\s*[,)]""")


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_both_languages_hold_the_same_keys() -> None:
    zh, en = (WORDS[name].keys for name in LANGUAGES)
    assert zh == en


@pytest.mark.parametrize("key", sorted(WORDS["en"].keys))
def test_both_languages_fill_in_the_same_values(key: str) -> None:
    assert fields(WORDS["zh"](key)) == fields(WORDS["en"](key))


def test_every_word_a_page_asks_for_is_there() -> None:
    asked = {
        key for file in [*ROOM.rglob("*.html"), *ROOM.rglob("*.py")] for key in LITERAL.findall(file.read_text("utf-8"))
    }
    assert len(asked) > 60
    assert sorted(asked - WORDS["en"].keys) == []


def test_every_level_mode_reason_and_role_has_a_word() -> None:
    wanted = {f"level.{x}" for x in Level} | {f"mode.{x}" for x in Mode} | {f"reason.{x}" for x in Reason}
    wanted |= {f"role.{x}" for x in Role} | {f"fault.{x}" for x in Fault} | {f"class.{x}" for x in LoopClass}
    wanted |= {f"class.{x}" for x in CLASSES} | {f"fallback.{x}" for x in FALLBACKS} | {f"got.{x}" for x in FALLBACKS}
    assert sorted(wanted - WORDS["zh"].keys) == []


@pytest.mark.parametrize(
    ("header", "language"),
    [("zh-CN,zh;q=0.9,en;q=0.8", "zh"), ("en-US,en;q=0.9", "en"), ("en,zh;q=0.5", "en"), ("fr", "zh"), ("", "zh")],
)
def test_the_browser_chooses_the_language(header: str, language: str) -> None:
    assert preferred(header) == language


def test_a_missing_word_shows_its_key_and_breaks_no_page() -> None:
    assert WORDS["en"]("no.such.word", n=1) == "no.such.word"
