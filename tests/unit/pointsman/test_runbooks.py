"""Each kind of alert has its page in both languages, and every command on it is one that exists."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main

from console.markdown import to_html
from monitor.alerts.alert import AlertKind
from pointsman.cli.main import app
from pointsman.runbooks import runbook

KINDS = [kind.value for kind in AlertKind]
FOLDER = Path(__file__).parents[3] / "docs" / "runbooks"
COMMANDS: Any = typer.main.get_command(app)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_kind_of_alert_has_its_page_with_the_three_parts(kind: str, language: str) -> None:
    text = runbook(kind, language)
    assert text is not None
    assert text.startswith("# ")
    assert len(re.findall(r"^## ", text, re.MULTILINE)) == 3


@pytest.mark.parametrize("name", ["nobody", "../settings", "transition.zh", "", "TRANSITION"])
def test_what_is_no_kind_has_no_page(name: str) -> None:
    assert runbook(name, "en") is None


@pytest.mark.parametrize("kind", KINDS)
def test_each_command_of_a_page_exists_with_its_options(kind: str) -> None:
    for language in ("en", "zh"):
        text = runbook(kind, language) or ""
        for line in re.findall(r"(?:^|`)pointsman ([^`\n]+)", text, re.MULTILINE):
            _exists(line)


def _exists(line: str) -> None:
    words, here = shlex.split(line), COMMANDS
    while words and words[0] in getattr(here, "commands", {}):
        here = here.commands[words.pop(0)]
    assert here is not COMMANDS, line
    options = {option for parameter in here.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= options, line
    assert not hasattr(here, "commands") or (not words and here.invoke_without_command), line


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_link_of_a_page_leads_to_another_page_served_and_as_a_file(kind: str, language: str) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", runbook(kind, language) or ""):
        assert runbook(target, language) is not None
        assert (FOLDER / target).is_file()
        assert target.endswith(".zh.md") is (language == "zh")


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_whole_as_html(kind: str) -> None:
    html = to_html(runbook(kind, "zh") or "")
    for tag in ("h1", "h2", "ul", "li", "code", "pre", "p", "ol"):
        assert html.count(f"<{tag}>") == html.count(f"</{tag}>")
    assert "](" not in html
