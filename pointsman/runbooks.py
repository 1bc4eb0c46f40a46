"""Where the runbooks are: beside the package in a wheel, in docs/ in a clone."""

import re
from functools import cache
from pathlib import Path

_NAME = re.compile(r"[a-z_]{1,40}")


def runbook(kind: str, language: str) -> str | None:
    """The runbook of one kind of alert as Markdown, in Chinese (`zh`) or English; None: there is none."""
    if not _NAME.fullmatch(kind):
        return None
    file = _folder() / (f"{kind}.zh.md" if language == "zh" else f"{kind}.md")
    return file.read_text(encoding="utf-8") if file.is_file() else None


@cache
def _folder() -> Path:
    packaged = Path(__file__).parent / "runbooks"
    return packaged if packaged.is_dir() else Path(__file__).parents[1] / "docs" / "runbooks"
