"""Logging in with an identity provider: a whole round over a provider in memory, and every way it must not work."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from console.access import Role
from console.sso import Flow, SsoRefused
from pointsman.oidc import OidcProvider
from pointsman.settings import SettingsError, parse
from pointsman.settings_console import OidcSettings
from tests.support.console_desk import Browser, World

pytest.importorskip("joserfc", reason="oidc, the extra is not installed")
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

ISSUER = "https://login.example/realms/staff"
NOW_S = 1_700_000_000
BACK = "http://console/login/sso/back"
SETTINGS = OidcSettings.model_validate(
    {
        "issuer": ISSUER,
        "client_id": "pointsman",
        "client_secret": "hush",
        "roles": {"sre": "operator", "leads": "admin"},
    }
)
KEY, OTHER_KEY = (RSAKey.generate_key(2048, {"kid": kid, "use": "sig"}) for kid in ("k1", "k2"))


class Idp:
    """An identity provider; `claims` go over the usual ones, `key` signs."""

    def __init__(self, **claims: Any) -> None:
        self.claims, self.key, self.algorithm = claims, KEY, "RS256"
        self.nonce, self.challenge, self.asked = "", "", []  # type: ignore[var-annotated]
        self.fails = self.lies = False

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        if self.fails:
            return httpx.Response(500, text="<html>down</html>")
        if request.url.path.endswith("openid-configuration"):
            issuer = "https://evil.example" if self.lies else ISSUER
            return httpx.Response(200, json={
                "issuer": issuer, "authorization_endpoint": f"{ISSUER}/auth", "token_endpoint": f"{ISSUER}/token",
                "jwks_uri": f"{ISSUER}/keys",
            })  # fmt: skip
        if request.url.path.endswith("/keys"):
            return httpx.Response(200, json=KeySet([KEY]).as_dict(private=False))
        return self._token(parse_qs(request.content.decode()))

    def _token(self, form: Mapping[str, list[str]]) -> httpx.Response:
        if form["code"] != ["good"] or not form.get("code_verifier"):
            return httpx.Response(400, json={"error": "invalid_grant"})
        claims = {
            "iss": ISSUER, "aud": "pointsman", "sub": "u1", "exp": NOW_S + 300, "iat": NOW_S, "nonce": self.nonce,
            "preferred_username": "min.wang", "groups": ["staff", "sre"], **self.claims,
        }  # fmt: skip
        token = jwt.encode({"alg": self.algorithm, "kid": self.key.kid}, claims, self.key, algorithms=[self.algorithm])
        return httpx.Response(200, json={"access_token": "a", "token_type": "Bearer", "id_token": token})


def provider_of(idp: Idp) -> OidcProvider:
    return OidcProvider(SETTINGS, BACK, httpx.MockTransport(idp), lambda: NOW_S)


async def gone_round(browser: Browser, idp: Idp, **changed: str) -> httpx.Response:
    """To the provider and back; `changed` goes over what it sends back."""
    leaving = await browser.get("/login/sso?next=/audit")
    assert leaving.status_code == 303, leaving.text
    asked = {name: values[0] for name, values in parse_qs(urlsplit(leaving.headers["location"]).query).items()}
    assert (
        asked["code_challenge_method"] == "S256" and asked["redirect_uri"] == BACK and asked["client_id"] == "pointsman"
    )
    idp.nonce = idp.nonce or asked["nonce"]
    return await browser.get("/login/sso/back", params={"state": asked["state"], "code": "good", **changed})


async def test_a_person_comes_in_with_the_highest_role_of_their_groups() -> None:
    world, idp = World(), Idp(groups=["sre", "leads", "staff"])
    async with Browser(world, identities=provider_of(idp)) as browser:
        assert "With your company account" in (await browser.get("/login")).text
        entered = await gone_round(browser, idp)
        assert entered.headers["location"] == "/audit"
        page = (await browser.get("/")).text
    assert "min.wang" in page and "admin" in page


async def test_acts_are_written_down_under_the_name_the_provider_told() -> None:
    world, idp = World(), Idp()
    async with Browser(world, identities=provider_of(idp)) as browser:
        await gone_round(browser, idp)
        await browser.post("/model/reset", seen_on="/", name="alpha", reason="fixed")
    assert (world.acted[0].actor, world.acted[0].role) == ("min.wang", "operator")


@pytest.mark.parametrize(
    ("idp", "status"),
    [
        pytest.param(Idp(groups=["staff"]), 403, id="in none of the groups"),
        pytest.param(Idp(groups=None), 403, id="no groups at all"),
        pytest.param(Idp(aud="another-app"), 502, id="a token for another app"),
        pytest.param(Idp(iss="https://evil.example"), 502, id="a token of another issuer"),
        pytest.param(Idp(exp=NOW_S - 3_600), 502, id="an old token"),
        pytest.param(Idp(nonce="another"), 502, id="a token of another login"),
    ],
)
async def test_nobody_else_comes_in(idp: Idp, status: int) -> None:
    async with Browser(World(), identities=provider_of(idp)) as browser:
        assert (await gone_round(browser, idp)).status_code == status
        assert (await browser.get("/")).status_code == 303


async def test_a_token_signed_by_a_strange_key_is_nothing() -> None:
    idp = Idp()
    idp.key = OTHER_KEY
    async with Browser(World(), identities=provider_of(idp)) as browser:
        assert (await gone_round(browser, idp)).status_code == 502


async def test_the_way_back_needs_the_state_that_left_and_works_once_in_ten_minutes() -> None:
    world, idp = World(), Idp()
    async with Browser(world, identities=provider_of(idp)) as browser:
        assert (await gone_round(browser, idp, state="made-up")).status_code == 403
        assert (await gone_round(browser, idp, code="")).status_code == 403
        assert (await browser.get("/login/sso/back?state=x&code=good")).status_code == 403
        leaving = await browser.get("/login/sso")
        state = parse_qs(urlsplit(leaving.headers["location"]).query)["state"][0]
        world.clock.tick(601)
        assert (await browser.get(f"/login/sso/back?state={state}&code=good")).status_code == 403
        browser.client.cookies.clear()
        assert (await browser.get(f"/login/sso/back?state={state}&code=good")).status_code == 403


async def test_a_refused_code_is_told_plainly() -> None:
    idp = Idp()
    async with Browser(World(), identities=provider_of(idp)) as browser:
        assert (await gone_round(browser, idp, code="bad")).status_code == 502


async def test_a_provider_that_is_down_or_lies_about_itself_lets_tokens_go_on() -> None:
    idp = Idp()
    idp.fails = True
    async with Browser(World(), identities=provider_of(idp)) as browser:
        assert (await browser.get("/login/sso")).status_code == 502
        idp.fails, idp.lies = False, True
        assert (await browser.get("/login/sso")).status_code == 502
        assert (await browser.login()).status_code == 303


async def test_sessions_of_a_provider_end_when_it_is_no_longer_set() -> None:
    idp = Idp()
    async with Browser(World(), identities=provider_of(idp)) as browser, Browser(World()) as without:
        await gone_round(browser, idp)
        cookie = browser.client.cookies["pointsman_session"]
        assert (await browser.get("/")).status_code == 200
        assert (await without.client.get("/", headers={"cookie": f"pointsman_session={cookie}"})).status_code == 303
        assert "company account" not in (await without.get("/login")).text


async def test_groups_may_be_nested_or_one_word() -> None:
    for role_claim, claims in (("realm.roles", {"realm": {"roles": ["sre"]}}), ("role", {"role": "sre"})):
        idp = Idp(groups=[], **claims)
        idp.nonce = "n"
        settings = SETTINGS.model_copy(update={"role_claim": role_claim})
        provider = OidcProvider(settings, BACK, httpx.MockTransport(idp), lambda: NOW_S)
        flow = Flow(state="s", nonce="n", verifier="v" * 43, next="/")
        assert (await provider.finish(flow, "good")).role is Role.OPERATOR
        idp.nonce = "m"
        with pytest.raises(SsoRefused, match="nonce"):
            await provider.finish(flow, "good")


def test_settings_without_a_way_back_are_refused() -> None:
    whole = {
        "models": {"a": {"endpoints": [{"base_url": "http://x/v1", "model": "a"}]}},
        "routes": {"r": {"candidates": [{"model": "a"}]}},
        "console": {"oidc": {"issuer": ISSUER, "client_id": "p", "roles": {"sre": "operator"}}},
    }
    with pytest.raises(SettingsError, match="oidc needs `url`"):
        parse(json.dumps(whole), {})
