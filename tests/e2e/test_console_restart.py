"""A page that somebody left open goes on telling after the service was restarted: same session, nobody touches it."""

from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from pointsman.demo.scripted import ScriptedUpstream
from tests.support.browser import browser_page, chromium_or_skip, log_in
from tests.support.service import running, settings_file
from tests.support.tcp_proxy import Manner, proxy_to

ENV = {"POINTSMAN_ADMIN_TOKEN": "pma-restart"}


@pytest.mark.timeout(300)
async def test_an_open_page_is_live_again_after_a_restart_and_keeps_what_is_typed(tmp_path: Path) -> None:
    chromium_or_skip()
    async with (
        ScriptedUpstream() as upstream,
        proxy_to(0) as door,  # one address, whichever process stands behind it
        httpx.AsyncClient(timeout=60) as client,
    ):
        file, base = settings_file(tmp_path, upstream.base_url), f"http://127.0.0.1:{door.port}"
        async with browser_page(base, tmp_path) as (page, _):
            async with running(file, env=ENV) as service:
                door.target = urlsplit(service.urls[1]).port or 0
                await log_in(page, base, ENV["POINTSMAN_ADMIN_TOKEN"])
                await page.goto(f"{base}/model?name=a")
                await page.wait_for_selector("article.card.calm")
                await page.fill("form[action$='/model/reset'] [name=reason]", "half a sentence")
                await page.evaluate("window.untouched = true")
            door.refuse()
            async with running(file, env=ENV) as service:
                door.target, door.manner = urlsplit(service.urls[1]).port or 0, Manner.PASS
                act = {"mode": "forced_open", "reason": "vendor incident", "minutes": 30}
                token = {"authorization": f"Bearer {ENV['POINTSMAN_ADMIN_TOKEN']}"}
                answer = await client.post(f"{service.urls[1]}/admin/models/a/force", json=act, headers=token)
                assert answer.status_code == 200
                await page.wait_for_selector("article.card.open:has-text('forced open')")
                assert await page.evaluate("window.untouched") is True
                typed = await page.input_value("form[action$='/model/reset'] [name=reason]")
                assert typed == "half a sentence"
                await page.click("form[action$='/model/reset'] button")
                await page.wait_for_selector("article.card.calm")
