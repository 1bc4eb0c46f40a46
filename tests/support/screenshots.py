"""Every page in every dress, for the eye: `python -m tests.support.screenshots FOLDER` (needs Chromium and playwright).

A real service over a fleet with two hours behind it and something of everything: incidents, silences, an evaluation, a gray
release, complaints, keys, switches. Pages x {light, dark} x {zh, en} x {desk, phone}, and one sheet of small pictures per
dress. Prints what no page may do: scroll sideways, or say anything into the browser's console.
"""

import argparse
import asyncio
import html
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import httpx
from sqlalchemy import insert

from breaker.window import COUNT_NAMES
from monitor.nightly.records import RunState
from monitor.report.document import to_document
from pointsman.assemble import Service, assembled
from pointsman.demo.scripted import ScriptedUpstream
from pointsman.monitoring import doors_of
from pointsman.settings import parse
from store.sql_calls import SqlCallLog
from store.sql_evals import SqlEvals
from store.sql_reports import SqlReports
from store.tables import anomaly, finding, hour_count
from tests.support.browser import browser_page, log_in
from tests.support.console_world import FEW, log_call, seed_counts, settings_text
from tests.support.reports import night, report

TOKEN = "pma-screenshots"
CALLS = 400
WIDTHS = {"desk": 1280, "phone": 390}
SHEET = (
    "<style>body{{margin:8px;background:#888;display:flex;flex-wrap:wrap;gap:8px;font:12px sans-serif}}"
    "figure{{margin:0;width:{wide}px;height:{high}px;overflow:hidden}}img{{width:100%}}</style>{shown}"
)


async def fill(service: Service) -> None:
    """What is kept of a fleet in trouble."""
    rng, now_s = Random(5), service.clock.now_s()
    await seed_counts(service, FEW, rng)
    log = SqlCallLog(service.engine)
    for at in range(CALLS):
        log_call(log, rng, FEW, f"pm-{rng.randbytes(12).hex()}", now_s - rng.random() * 6_900, ill=at % 5 == 0)
    await log.flush()
    told = night()
    evals = SqlEvals(service.engine)
    await evals.begin(told.run)
    await evals.add(told.results)
    await evals.finish(told.run.id, RunState.DONE, told.run.started_at + 900)
    drawn = report()
    await SqlReports(service.engine).keep(drawn.day, now_s - 3_600, told.run.id, to_document(drawn))
    await _rows(service, now_s, rng)


async def act(client: httpx.AsyncClient, admin: str) -> None:
    """What people did about it."""
    for path, body in (
        ("silences", {"model": "moonshot*", "minutes": 90, "reason": "vendor maintenance window"}),
        ("gray/doubao-pro/start", {"candidate": "gpt-4o-mini", "version": "doubao-1.6", "reason": "cheaper and newer"}),
        ("switches", {"route": "copy", "mode": "observe", "minutes": 45, "reason": "poems repeat on purpose"}),
        (
            "models/claude-haiku/force",
            {"mode": "forced_open", "minutes": 30, "reason": "vendor told us of an incident"},
        ),
        ("jobs/retention/run", {"reason": "disk is nearly full"}),
    ):
        answer = await client.post(f"{admin}/admin/{path}", json=body)
        print(path, answer.status_code, "" if answer.is_success else answer.text)


async def _rows(service: Service, now_s: float, rng: Random) -> None:
    zero = dict.fromkeys(COUNT_NAMES, 0)
    sample = {
        "note": "一直说“前方两百米右转”",
        "kind": "repeat",
        "request_id": "pm-0123456789abcdef01234567",
        "source": "user",
    }
    listed = {
        "id": "deepseek-chat-1", "model": "deepseek-chat", "day": "2026-11-29", "last_bad_day": "2026-11-29",
        "listed_at": now_s - 40_000, "users": 9, "complaints": 14, "threshold": 5, "expected": 1.2, "chance": 0.0003,
        "clean_days": 0, "closed_day": "2026-11-29", "samples": [sample], "left_at": 0.0, "left_why": "", "left_by": "",
    }  # fmt: skip
    left = {**listed, "id": "glm-2", "model": "glm-4-plus", "left_at": now_s - 9_000, "left_why": "three clean days"}
    found = {
        "id": "h1", "at": now_s - 2_400, "kind": "hourly", "model": "qwen-max", "scene": "", "until": now_s + 3_600,
        "numbers": {"ratio": 0.21, "previous": 0.06, "growth": 3.5, "n": 1_290.0}, "facts": {},
    }  # fmt: skip
    hours = [
        {
            "model": patient.name, "scope": "", "starts_at": int(now_s // 3600 - back) * 3600, "weight": 60,
            "counts": {**zero, "judged": 60 * patient.per_min, "stuck": int(60 * patient.per_min * rng.choice((0, 0, patient.bad / 3)))},
            "fingerprints": {},
        }
        for patient in FEW
        for back in range(1, 168)
    ]  # fmt: skip
    async with service.engine.begin() as sql:
        await sql.execute(insert(anomaly), [listed, left])
        await sql.execute(insert(finding), [found])
        await sql.execute(insert(hour_count), hours)


async def pages_of(page: Any, base: str) -> list[str]:
    """Every page there is: those of the menu, and one of each kind that is reached from them."""
    paths = await page.eval_on_selector_all("header nav a", "all => all.map(a => a.pathname)")
    for path, link in (
        ("/incidents?state=all", "#rows a"),
        ("/requests?trouble=1", "#rows a"),
        ("/reports", "a[href*='/reports/runs/']"),
        ("/gray", "a[href*='/gray/release']"),
    ):
        await page.goto(base + path)
        found = page.locator(link).first
        if await found.count():
            paths.append(str(await found.get_attribute("href")))
    answer = page.locator("a[href*='/answer?']").first
    await page.goto(base + next((path for path in paths if "/reports/runs/" in path), "/reports"))
    if await answer.count():
        paths.append(str(await answer.get_attribute("href")))
    return [*paths, "/model?name=qwen-max", "/model?name=gpt-4o-mini", "/jobs?name=retention", "/login", "/nowhere"]


async def shoot(base: str, folder: Path, language: str, theme: str, size: str, only: Sequence[str]) -> None:
    """All pages in one dress, and their sheet."""
    dress = folder / f"{size}-{theme}-{language}"
    dress.mkdir(parents=True, exist_ok=True)
    async with browser_page(base, folder, width=WIDTHS[size], language=language, theme=theme) as (page, faults):
        await log_in(page, base, TOKEN)
        taken = []
        for at, path in enumerate(await pages_of(page, base)):
            if only and not any(one == path or (one != "/" and one in path) for one in only):
                continue
            if path == "/login":
                await page.context.clear_cookies()
            await page.goto(base + path)
            await page.wait_for_timeout(400)
            file = dress / f"{at:02d}{path.split('?')[0].replace('/', '_')}.png"
            await page.screenshot(path=str(file), full_page=True)
            taken.append((path, file))
            wide = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            if wide > 0:
                print(f"{dress.name} {path}: scrolls sideways by {wide} px")
        wide_px, high_px = (580, 460) if size == "desk" else (280, 720)
        shown = "".join(f"<figure>{html.escape(p)}<img src='{f.name}'></figure>" for p, f in taken)
        sheet = dress / "sheet.html"
        sheet.write_text(SHEET.format(wide=wide_px, high=high_px, shown=shown), encoding="utf-8")
        await page.set_viewport_size({"width": 1800, "height": 900})
        await page.goto(sheet.as_uri())
        await page.screenshot(path=str(folder / f"{dress.name}.png"), full_page=True)
    errors = [one for one in faults.errors if "404" not in one]
    print(dress.name, len(taken), "pages", errors or "")


async def main(folder: Path, dresses: Sequence[str], only: Sequence[str]) -> None:
    os.environ["POINTSMAN_ADMIN_TOKEN"] = TOKEN
    with tempfile.TemporaryDirectory(prefix="screenshots-") as data:
        async with ScriptedUpstream() as upstream:
            robot = {"kind": "webhook", "url": f"{upstream.base_url}/robot", "secret": "x" * 16}
            settings = parse(
                settings_text(Path(data), FEW, upstream.base_url, alerts={"channels": {"night-shift": robot}}), {}
            )
            async with assembled(settings) as service:
                await fill(service)
            async with assembled(settings) as service:
                doors = await doors_of(service)
                serving = asyncio.create_task(doors.serve())
                headers = {"authorization": f"Bearer {TOKEN}"}
                async with httpx.AsyncClient(headers=headers, timeout=60) as client:
                    await act(client, doors.urls[1])
                    await asyncio.sleep(25)  # the breaker moves, alerts are told, the first rounds are read
                    began_s = time.monotonic()
                    for language in ("zh", "en"):
                        for theme in ("light", "dark"):
                            for size in WIDTHS:
                                if not dresses or f"{size}-{theme}-{language}" in dresses:
                                    await shoot(doors.urls[1], folder, language, theme, size, only)
                    print(f"{time.monotonic() - began_s:.0f} s")
                serving.cancel()
                await asyncio.gather(serving, return_exceptions=True)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=Path)
    options.add_argument("--dress", action="append", default=[], help="desk-light-zh …; none: all eight")
    options.add_argument(
        "--only", action="append", default=[], help="pages whose address holds this; / is the fleet alone"
    )
    given = options.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(given.folder, given.dress, given.only))
