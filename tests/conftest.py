"""What every test runs on, and what every run ends with: the parts that were not run, and why."""

import asyncio
from collections.abc import Callable, Mapping

import pytest

from tests.support.loops import TidyLoop


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Every test and fixture that awaits runs on a loop that leaves nothing open behind."""
    return {"tidy": TidyLoop}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print `NOT RUN: part, why` once for each reason of each file."""
    told = set()
    for report in terminalreporter.stats.get("skipped", []):
        part = report.nodeid.partition("::")[0]
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        told.add((part, why.removeprefix("Skipped: ")))
    for part, why in sorted(told):
        terminalreporter.write_line(f"NOT RUN: {part}, {why}")
