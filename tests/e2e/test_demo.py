"""The demo's story, played as a person would and followed on the pages: it takes minutes, so it runs by `make test-long`."""

import asyncio
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.browser import browser_page, chromium_or_skip, log_in

ADDRESS = re.compile(r"show it live: (http://\S+)\s+admin token: (\S+)")
WATCH = """() => {
  const look = () => saw(
    [...document.querySelectorAll("article.card")].map(
      (card) => card.querySelector("h2").innerText + " " + card.querySelector(".signal b").innerText),
    [...document.querySelectorAll(".lately li")].reverse().map(
      (li) => [...li.querySelectorAll(".dim, a, .move")].map((part) => part.innerText.trim().split(/\\s+/).join(" "))),
    document.querySelector("h1").innerText);
  new MutationObserver(look).observe(document.body, { subtree: true, childList: true });
  look();
}"""
MOVES = """rows => rows.map((row) => row.cells[1].innerText.trim().split(/\\s+/).join(" ")).reverse()"""
INTERRUPTED = 130
ALPHA = (
    "Healthy → L1 warn", "→ L2 reduced", "→ L3 open", "L3 open → Recovering", "Recovering → L2 reduced", "→ Healthy",
    "→ L3 open", "L3 open → Recovering", "→ L2 reduced",
)  # fmt: skip
BETA = ("→ L3 open", "L3 open → Recovering", "→ L2 reduced")
CATCHES_UP_S = 300.0
"""A page may be minutes late on a machine that is busy with other things; what it then shows must be whole."""


class Eye:
    """What a page drew that nobody touched: the cards it had, and each move it told, once, in order."""

    def __init__(self) -> None:
        self.cards: set[str] = set()
        self.moves: list[tuple[str, ...]] = []
        self.headline = ""
        self._looked = asyncio.Event()

    def saw(self, cards: list[str], moves: list[list[str]], headline: str) -> None:
        self.cards.update(cards)
        self.moves.extend(move for one in moves if (move := tuple(one)) not in self.moves)
        self.headline = headline
        self._looked.set()

    def of(self, model: str) -> list[str]:
        return [move for _, name, move in self.moves if name == model]

    async def until(self, what: str, holds: Callable[[], bool]) -> None:
        try:
            async with asyncio.timeout(CATCHES_UP_S):
                while not holds():
                    self._looked.clear()
                    await self._looked.wait()
        except TimeoutError:
            pytest.fail(f"not drawn: {what}; drawn: {self.headline}, {self.cards}, {self.moves}")


async def demo(*options: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pointsman", "demo", *options),
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
@pytest.mark.timeout(1_500)
async def test_the_story_is_followed_on_the_pages_as_it_happens(tmp_path: Path) -> None:
    chromium_or_skip()
    process = await demo("--stay")
    try:
        said = await lines_until(process, "show it live")
        found = ADDRESS.search(said[-1])
        assert found is not None, said
        base, token = found.groups()
        eye = Eye()
        async with browser_page(base, tmp_path) as (page, faults):
            await log_in(page, base, token)
            await page.expose_function("saw", eye.saw)
            await page.evaluate(WATCH)  # from here on nobody touches this page
            said += await lines_until(process, "people are told that it is over")
            beside = await page.context.new_page()
            await _is_told_on_the_other_pages(beside, base)
            said += await lines_until(process, "the story went as told")
            assert "the pages stay open" in said[-1], "".join(said)
            for model, wanted in (("alpha", ALPHA), ("beta", BETA)):
                await beside.goto(f"{base}/model?name={model}")
                told = await beside.eval_on_selector_all("table.moves tbody tr", MOVES)
                assert in_order(wanted, told), (told, "".join(said))
                await eye.until(str(told), lambda model=model, told=told: eye.of(model)[: len(told)] == told)  # type: ignore[misc]
            assert any("alpha L" in card for card in eye.cards), eye.cards
            assert (faults.errors, faults.outside) == ([], [])
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 0, "".join(said)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.mark.timeout(300)
async def test_an_interrupt_ends_the_story_at_once_and_leaves_nothing_behind() -> None:
    process = await demo()
    try:
        await lines_until(process, "two models share one route")
        process.send_signal(signal.SIGINT)
        rest, _ = await process.communicate()
        assert process.returncode == INTERRUPTED and b"Traceback" not in rest
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _is_told_on_the_other_pages(page: Any, base: str) -> None:
    await page.goto(f"{base}/incidents?state=all")
    assert "Level moved" in await page.inner_text("#rows")
    await page.goto(f"{base}/requests?trouble=1")
    assert "another model" in await page.inner_text("#rows")


def in_order(wanted: tuple[str, ...], seen: list[str]) -> bool:
    """Whether each of `wanted` was seen, one after another, whatever was seen between."""
    rest = iter(seen)
    return all(any(one in state for state in rest) for one in wanted)
