"""Where the runbooks are: beside the package in a wheel, in docs/ in a clone."""

import re
from functools import cache
from pathlib import Path

_NAME = re.compile(r"([a-z_]{1,40})(?:(?:\.zh)?\.md)?")
"""A kind, or its file's name: so the files' links to each other lead somewhere, served as well as read in a clone."""


def runbook(kind: str, language: str) -> str | None:
    """The runbook of one kind of alert as Markdown, in Chinese (`zh`) or English; None: there is none."""
    if (name := _NAME.fullmatch(kind)) is None:
        return None
    file = _folder() / (f"{name[1]}.zh.md" if language == "zh" else f"{name[1]}.md")
    return file.read_text(encoding="utf-8") if file.is_file() else None


@cache
def _folder() -> Path:
    packaged = Path(__file__).parent / "runbooks"
    return packaged if packaged.is_dir() else Path(__file__).parents[1] / "docs" / "runbooks"
