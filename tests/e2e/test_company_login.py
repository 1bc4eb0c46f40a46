"""Into the operators' pages by the company's account: a real Chromium, the real service, a provider over real sockets."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from pointsman.demo.scripted import ScriptedUpstream
from tests.support.browser import browser_page, chromium_or_skip
from tests.support.identity_provider import IdentityProvider
from tests.support.service import running, settings_file
from tests.support.tcp_proxy import proxy_to

ENV = {"POINTSMAN_ADMIN_TOKEN": "pma-company-login"}


@pytest.mark.timeout(300)
async def test_a_person_comes_in_by_the_company_and_acts_under_their_own_name(tmp_path: Path) -> None:
    """The provider is another site to the browser, so that the cookie of the way back is tried as well."""
    chromium_or_skip()
    async with (
        ScriptedUpstream() as upstream,
        IdentityProvider(host="localhost") as idp,
        proxy_to(0) as door,  # an address that is known before the service has one
    ):
        base = f"http://127.0.0.1:{door.port}/ops"
        console = {"url": f"http://127.0.0.1:{door.port}", "prefix": "/ops", "oidc": idp.settings()}
        async with (
            running(settings_file(tmp_path, upstream.base_url, console=console), env=ENV) as service,
            browser_page(base, tmp_path) as (page, seen),
        ):
            door.target = urlsplit(service.urls[1]).port or 0
            await page.goto(f"{base}/model?name=a")
            await page.click("text=With your company account")
            await page.wait_for_url(f"{base}/model?name=a")
            await page.fill("form[action$='/model/reset'] [name=reason]", "vendor says it is mended")
            await page.click("form[action$='/model/reset'] button")
            await page.goto(f"{base}/audit")
            await page.wait_for_selector("tr:has-text('min.wang'):has-text('vendor says it is mended')")
            assert seen.errors == []
            idp.claims = {"groups": ["staff"]}
            await page.context.clear_cookies()
            await page.goto(f"{base}/login")
            await page.click("text=With your company account")
            await page.wait_for_selector("text=You are in none of the groups")
    assert idp.secrets_by == {"basic"}
