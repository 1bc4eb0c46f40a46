"""The audit of dependencies never passes in silence: it names a hole, or says what it could not ask."""

import pytest

from tests.support.audit import main, told

CLEAN = {"name": "httpx", "version": "0.28.1", "vulns": []}
HOLED = {
    "name": "jinja2", "version": "3.0", "vulns": [{"id": "PYSEC-1", "aliases": ["CVE-1"], "fix_versions": ["3.1"]}]
}  # fmt: skip
UNKNOWN = {"name": "uvloop", "skip_reason": "not found"}


def test_a_hole_is_named_with_the_version_that_mends_it() -> None:
    lines, holed = told({"dependencies": [CLEAN, HOLED]})
    assert holed and lines == ["jinja2 3.0: PYSEC-1 CVE-1; mended in 3.1", "2 packages asked about, 1 known holes"]


def test_an_index_without_advisories_is_told_as_not_run() -> None:
    lines, holed = told({"dependencies": [UNKNOWN, UNKNOWN]})
    assert not holed and len(lines) == 1 and lines[0].startswith("NOT RUN: the audit of 2 packages")


def test_packages_that_the_index_does_not_know_are_named() -> None:
    lines, holed = told({"dependencies": [CLEAN, UNKNOWN]})
    assert not holed and lines[0].startswith("NOT RUN for 1 of 2") and "uvloop" in lines[0]


def test_a_pip_audit_that_is_not_there_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert main("/nowhere/pip-audit", "requirements.lock") == 1
    assert "NOT RUN: pip-audit" in capsys.readouterr().out
