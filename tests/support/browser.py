"""A real headless Chromium, driven as a person would: the system's own, since no package ships one.

`chromium_or_skip()` says why a test was not run where there is none.
"""

import contextlib
import os
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--disable-default-apps",
    "--disable-domain-reliability",
)
AXE = Path(__file__).parents[1] / "data" / "axe" / "axe.min.js"
SLOW_MS = 60_000
"""A shared machine with two cores may take this long; nothing here is timed."""


def chromium_or_skip() -> str:
    """The path of Chromium. Skips with the reason that the run's summary prints as NOT RUN."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    pytest.skip("browser, no Chromium here: apt-get install chromium, or sh tests/support/chromium.sh")


@dataclass
class Seen:
    """What must not happen on any page: errors in the console, requests to anywhere else."""

    errors: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)


@contextlib.asynccontextmanager
async def browser_page(
    base: str, folder: Path, *, width: int = 1280, language: str = "en", theme: str = "light"
) -> AsyncIterator[tuple[Any, Seen]]:
    """A page of a fresh profile in `folder`, and what it did that it should not have."""
    playwright = pytest.importorskip("playwright.async_api", reason="browser, playwright is not installed")
    binary, host, seen = chromium_or_skip(), urlsplit(base).netloc, Seen()
    async with playwright.async_playwright() as driver:
        context = await driver.chromium.launch_persistent_context(
            str(folder / f"profile-{os.urandom(4).hex()}"),
            executable_path=binary,
            headless=True,
            args=list(FLAGS),
            viewport={"width": width, "height": 900},
            locale={"en": "en-US", "zh": "zh-CN"}[language],
            color_scheme=theme,
            timeout=SLOW_MS,
        )
        context.set_default_timeout(SLOW_MS)
        page = context.pages[0] if context.pages else await context.new_page()
        page.on("console", lambda said: seen.errors.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: seen.errors.append(str(error)))
        page.on("request", lambda asked: seen.outside.append(asked.url) if urlsplit(asked.url).netloc != host else None)
        try:
            yield page, seen
        finally:
            await context.close()


async def log_in(page: Any, base: str, token: str, actor: str = "Min") -> None:
    await page.goto(f"{base}/login")
    await page.fill("[name=actor]", actor)
    await page.fill("[name=token]", token)
    await page.click("form[action$='/login'] button")
    await page.wait_for_selector(".brand")


async def serious(page: Any) -> list[str]:
    """What axe-core finds that is serious or critical, one line each: rule, and the first element."""
    # Evaluated by the driver, not by the page: the page's own policy allows no such script.
    await page.evaluate(AXE.read_text(encoding="utf-8"))
    found = await page.evaluate(
        "async () => (await axe.run(document, {resultTypes: ['violations']})).violations"
        ".filter(v => ['serious', 'critical'].includes(v.impact))"
        ".map(v => v.id + ': ' + v.nodes.map(n => n.target.join(' ') + ' ' + (n.any[0]?.message || '')).slice(0, 3).join(' | '))"
    )
    return list(found)
