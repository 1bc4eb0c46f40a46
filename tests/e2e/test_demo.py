"""The demo's story, played as a person would and followed on the pages: it takes minutes, so it runs by `make test-long`."""

import asyncio
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.browser import browser_page, chromium_or_skip, log_in

ADDRESS = re.compile(r"show it live: (http://\S+)\s+admin token: (\S+)")
WATCH = """() => {
  const look = () => {
    const cards = [...document.querySelectorAll("article.card")].map(
      (card) => card.querySelector("h2").innerText + " " + card.querySelector(".signal b").innerText);
    saw(cards.join(", ") || document.querySelector("h1").innerText);
  };
  new MutationObserver(look).observe(document.body, { subtree: true, childList: true });
  look();
}"""
LIVE = ("All 2 models are healthy", "alpha L1 warn", "alpha L2 reduced", "alpha L3 open", "All 2 models are healthy")


async def demo() -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pointsman", "demo"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )


async def lines_until(process: asyncio.subprocess.Process, words: str) -> list[str]:
    """What it says up to a line that holds `words`, or to its end."""
    assert process.stdout is not None
    said: list[str] = []
    while line := (await process.stdout.readline()).decode():
        said.append(line)
        if words in line:
            break
    return said


@pytest.mark.long
@pytest.mark.timeout(900)
async def test_the_story_goes_as_told() -> None:
    process = await demo()
    told, _ = await process.communicate()
    assert process.returncode == 0, told.decode()
    assert "the story went as told" in told.decode()


@pytest.mark.long
@pytest.mark.timeout(900)
async def test_the_story_is_followed_on_the_pages_as_it_happens(tmp_path: Path) -> None:
    chromium_or_skip()
    process = await demo()
    try:
        said = await lines_until(process, "show it live")
        found = ADDRESS.search(said[-1])
        assert found is not None, said
        base, token = found.groups()
        seen: list[str] = []
        async with browser_page(base, tmp_path) as (page, faults):
            await log_in(page, base, token)
            await page.expose_function("saw", lambda state: seen.append(state) if state not in seen[-1:] else None)
            await page.evaluate(WATCH)  # from here on nobody touches this page
            said += await lines_until(process, "people are told that it is over")
            await _is_told_on_the_other_pages(await page.context.new_page(), base)
            said += await lines_until(process, "✓ back")
            assert in_order(LIVE, seen), (seen, "".join(said))
            assert (faults.errors, faults.outside) == ([], [])
        said += await lines_until(process, "no such line")
        assert await process.wait() == 0, "".join(said)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _is_told_on_the_other_pages(page: Any, base: str) -> None:
    await page.goto(f"{base}/model?name=alpha")
    moves = await page.inner_text("table.moves")
    for level in ("L1 warn", "L2 reduced", "L3 open", "Recovering", "Healthy"):
        assert level in moves, moves
    await page.goto(f"{base}/incidents?state=all")
    assert "Level moved" in await page.inner_text("#rows")
    await page.goto(f"{base}/requests?trouble=1")
    assert "another model" in await page.inner_text("#rows")
    await page.close()


def in_order(wanted: tuple[str, ...], seen: list[str]) -> bool:
    """Whether each of `wanted` was seen, one after another, whatever was seen between."""
    rest = iter(seen)
    return all(any(one in state for state in rest) for one in wanted)
