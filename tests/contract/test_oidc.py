"""Logging in with an identity provider: whole rounds over a real one's sockets, and every way it must not work."""

import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

pytest.importorskip("authlib", reason="oidc, the extra is not installed")

from console.access import Role
from pointsman.network import NetworkSettings, Way
from pointsman.oidc import OidcProvider, role_of
from pointsman.settings import SettingsError, parse
from pointsman.settings_console import OidcSettings
from tests.support.console_desk import Browser, World
from tests.support.identity_provider import IdentityProvider, key_named

BACK = "http://console/login/sso/back"


@asynccontextmanager
async def at_the_company(idp: IdentityProvider, world: World | None = None, **more: Any) -> AsyncIterator[Browser]:
    """A browser before our login page, and the company's provider beside it."""
    async with idp:
        settings = OidcSettings.model_validate(idp.settings(**more))
        provider = OidcProvider(settings, BACK, Way(NetworkSettings()))
        try:
            async with Browser(world or World(), identities=provider) as browser:
                yield browser
        finally:
            await provider.close()


async def gone_to(browser: Browser) -> httpx.URL:
    """Sent to the provider, and back to us with what it says."""
    leaving = await browser.get("/login/sso?next=/audit")
    assert leaving.status_code == 303, leaving.text
    async with httpx.AsyncClient() as person:
        sent_back = await person.get(leaving.headers["location"])
    return httpx.URL(sent_back.headers["location"])


async def gone_round(browser: Browser, **changed: str) -> httpx.Response:
    """To the provider and back; `changed` goes over what it sends back."""
    back = await gone_to(browser)
    assert str(back).startswith(BACK)
    return await browser.get("/login/sso/back", params={**back.params, **changed})


async def test_a_person_comes_in_with_the_highest_role_of_their_groups() -> None:
    async with at_the_company(IdentityProvider(claims={"groups": ["sre", "leads", "staff"]})) as browser:
        assert "With your company account" in (await browser.get("/login")).text
        entered = await gone_round(browser)
        assert (entered.status_code, entered.headers.get("location")) == (303, "/audit")
        page = (await browser.get("/")).text
    assert "min.wang" in page and "admin" in page


async def test_acts_are_written_down_under_the_name_the_provider_told() -> None:
    world = World()
    async with at_the_company(IdentityProvider(), world) as browser:
        await gone_round(browser)
        await browser.post("/model/reset", seen_on="/", name="alpha", reason="fixed")
    assert (world.acted[0].actor, world.acted[0].role) == ("min.wang", "operator")


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        pytest.param({"groups": ["staff"]}, 403, id="in none of the groups"),
        pytest.param({"groups": None}, 403, id="no groups at all"),
        pytest.param({"aud": "another-app"}, 502, id="a token for another app"),
        pytest.param({"aud": ["another-app", "a-third"]}, 502, id="a token for two other apps"),
        pytest.param({"aud": None}, 502, id="a token for nobody"),
        pytest.param({"aud": ["pointsman", "another-app"], "azp": "another-app"}, 502, id="asked for by another app"),
        pytest.param({"iss": "https://evil.example"}, 502, id="a token of another issuer"),
        pytest.param({"iss": None}, 502, id="a token of no issuer"),
        pytest.param({"exp": 1_700_000_000}, 502, id="an old token"),
        pytest.param({"exp": None}, 502, id="a token for ever"),
        pytest.param({"iat": 4_000_000_000, "exp": 4_000_000_300}, 502, id="a token of tomorrow"),
        pytest.param({"nbf": 4_000_000_000}, 502, id="a token that does not hold yet"),
        pytest.param({"nonce": "another"}, 502, id="a token of another login"),
        pytest.param({"nonce": None}, 502, id="a token of no login"),
        pytest.param({"sub": None}, 502, id="a token about nobody"),
        pytest.param({"sub": ""}, 502, id="a token about an empty name"),
        pytest.param({"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"}, 502, id="beside another access token"),
    ],
)
async def test_nobody_else_comes_in(claims: dict[str, Any], status: int) -> None:
    async with at_the_company(IdentityProvider(claims=claims)) as browser:
        assert (await gone_round(browser)).status_code == status
        assert (await browser.get("/")).status_code == 303


@pytest.mark.parametrize("algorithm", ["none", "HS256", "RS512"])
async def test_a_token_signed_otherwise_than_by_the_providers_key_is_nothing(algorithm: str) -> None:
    """The provider itself says that it knows `none` and HS256; RS512 it does not name."""
    async with at_the_company(IdentityProvider(algorithm=algorithm)) as browser:
        assert (await gone_round(browser)).status_code == 502
        assert (await browser.get("/")).status_code == 303


async def test_a_token_signed_by_a_strange_key_of_the_same_name_is_nothing() -> None:
    idp = IdentityProvider()
    idp.published, idp.key = [idp.key], key_named("k1", 1)
    async with at_the_company(idp) as browser:
        assert (await gone_round(browser)).status_code == 502


@pytest.mark.parametrize("kid", ["k2", "k1", None])
async def test_a_provider_that_turns_its_key_over_is_followed_at_once(kid: str | None) -> None:
    """With a new name, under the old name, and without names."""
    idp = IdentityProvider()
    if kid is None:
        idp.key = key_named(None)
    async with at_the_company(idp) as browser:
        assert (await gone_round(browser)).status_code == 303
        idp.key = key_named(kid, 1)
        assert (await gone_round(browser)).status_code == 303


async def test_a_key_that_the_provider_withdrew_opens_nothing_more() -> None:
    idp = IdentityProvider()
    async with at_the_company(idp) as browser:
        assert (await gone_round(browser)).status_code == 303
        idp.published = [key_named("k2")]
        assert (await gone_round(browser)).status_code == 502


async def test_a_code_opens_once() -> None:
    idp = IdentityProvider()
    async with at_the_company(idp) as browser:
        back = await gone_to(browser)
        code = back.params["code"]
        assert (await browser.get("/login/sso/back", params=back.params)).status_code == 303
        # The address out of the browser's history: its login is over.
        assert (await browser.get("/login/sso/back", params=back.params)).status_code == 403
        # The code carried into a login of one's own: the provider knows that it was used.
        assert (await gone_round(browser, code=code)).status_code == 502


async def test_a_code_stolen_before_it_was_used_opens_nothing_for_the_thief() -> None:
    idp, world = IdentityProvider(), World()
    async with at_the_company(idp, world) as victim:
        stolen = (await gone_to(victim)).params["code"]
        thief_provider = OidcProvider(OidcSettings.model_validate(idp.settings()), BACK, Way(NetworkSettings()))
        async with Browser(world, identities=thief_provider) as thief:
            assert (await gone_round(thief, code=stolen)).status_code == 502
        await thief_provider.close()


async def test_the_way_back_needs_the_state_that_left_and_works_for_ten_minutes() -> None:
    world = World()
    async with at_the_company(IdentityProvider(), world) as browser:
        assert (await gone_round(browser, state="made-up")).status_code == 403
        assert (await gone_round(browser, code="")).status_code == 403
        back = await gone_to(browser)
        world.clock.tick(601)
        assert (await browser.get("/login/sso/back", params=back.params)).status_code == 403
        browser.client.cookies.clear()
        assert (await browser.get("/login/sso/back", params=back.params)).status_code == 403


async def test_whom_the_provider_refuses_is_told_so() -> None:
    async with at_the_company(IdentityProvider(refuses="access_denied")) as browser:
        answer = await gone_round(browser)
        assert answer.status_code == 403 and "access_denied" in answer.text


async def test_a_made_up_refusal_is_not_shown_to_whoever_clicks_it() -> None:
    async with at_the_company(IdentityProvider()) as browser:
        answer = await browser.get("/login/sso/back?error=call+0900-123&state=made-up")
        assert answer.status_code == 403 and "0900" not in answer.text


async def test_nobody_is_sent_elsewhere_after_a_login() -> None:
    async with at_the_company(IdentityProvider()) as browser:
        for bad in ("https://evil.example", "//evil.example", "/\\evil.example", "/logout"):
            leaving = await browser.get("/login/sso", params={"next": bad})
            async with httpx.AsyncClient() as person:
                back = httpx.URL((await person.get(leaving.headers["location"])).headers["location"])
            assert (await browser.get("/login/sso/back", params=back.params)).headers["location"] == "/"


@pytest.mark.parametrize(
    ("described", "by"),
    [
        ({}, "basic"),
        ({"token_endpoint_auth_methods_supported": ["client_secret_basic"]}, "basic"),
        ({"token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"]}, "post"),
    ],
)
async def test_the_clients_secret_is_sent_as_the_provider_wants_it(described: dict[str, Any], by: str) -> None:
    idp = IdentityProvider(described=described)
    async with at_the_company(idp) as browser:
        assert (await gone_round(browser)).status_code == 303
    assert idp.secrets_by == {by}


async def test_the_description_is_read_once_and_again_after_a_login_that_failed() -> None:
    idp = IdentityProvider()
    async with at_the_company(idp) as browser:
        for _ in range(3):
            await gone_round(browser)
        assert idp.seen.count("/.well-known/openid-configuration") == 1
        assert (await gone_round(browser, code="bad")).status_code == 502
        await gone_round(browser)
        assert idp.seen.count("/.well-known/openid-configuration") == 2


WELL_KNOWN = "/.well-known/openid-configuration"


@pytest.mark.parametrize(
    ("described", "answers"),
    [
        pytest.param({"issuer": "https://evil.example"}, {}, id="calls itself another"),
        pytest.param({"jwks_uri": ""}, {}, id="tells no keys"),
        pytest.param({"id_token_signing_alg_values_supported": ["HS256", "none"]}, {}, id="signs with nothing we take"),
        pytest.param({}, {WELL_KNOWN: (500, b"<html>down</html>")}, id="down"),
        pytest.param({}, {WELL_KNOWN: (200, b"<html>hello</html>")}, id="answers with a page"),
        pytest.param({}, {WELL_KNOWN: (200, b"[]")}, id="answers with a list"),
        pytest.param({}, {WELL_KNOWN: (302, b"")}, id="sends us elsewhere"),
        pytest.param({}, {WELL_KNOWN: (200, b'{"a": "' + b"x" * 1_100_000 + b'"}')}, id="answers without end"),
        pytest.param({"authorization_endpoint": ["x"]}, {}, id="an address that is a list"),
    ],
)
async def test_a_provider_that_is_down_or_lies_about_itself_lets_tokens_go_on(
    described: dict[str, Any], answers: dict[str, tuple[int, bytes]]
) -> None:
    async with at_the_company(IdentityProvider(described=described, answers=answers)) as browser:
        assert (await browser.get("/login/sso")).status_code == 502
        assert (await browser.login()).status_code == 303


@pytest.mark.parametrize(
    ("path", "status", "sent"),
    [
        ("/token", 500, b"<html>down</html>"),
        ("/token", 200, b"[]"),
        ("/token", 200, b"{}"),
        ("/token", 200, b'{"id_token": 7, "access_token": "a"}'),
        ("/token", 200, b'{"id_token": "not.a.token"}'),
        ("/token", 429, b"slow down"),
        ("/keys", 500, b""),
        ("/keys", 200, b"[]"),
        ("/keys", 200, b'{"keys": [{"kty": "RSA"}]}'),
        ("/keys", 200, b'{"keys": 1}'),
    ],
)
async def test_a_garbled_answer_is_told_plainly(path: str, status: int, sent: bytes) -> None:
    async with at_the_company(IdentityProvider(answers={path: (status, sent)})) as browser:
        answer = await gone_round(browser)
        assert answer.status_code == 502 and "identity provider" in answer.text


async def test_a_provider_that_nobody_reaches_is_told_plainly() -> None:
    idp = IdentityProvider()
    async with at_the_company(idp) as browser:
        idp._server.close()
        assert (await browser.get("/login/sso")).status_code == 502


async def test_no_log_line_holds_a_secret_of_the_login(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    idp = IdentityProvider()
    async with at_the_company(idp) as browser:
        back = await gone_to(browser)
        challenge = next(iter(idp.codes.values()))["code_challenge"]
        assert (await browser.get("/login/sso/back", params=back.params)).status_code == 303
        idp.claims = {"aud": "another-app"}
        await gone_round(browser)
        await gone_round(browser, code="bad")
    ours = [record.getMessage() for record in caplog.records if record.name.startswith(("pointsman", "authlib"))]
    assert any("InvalidClaimError" in line for line in ours) and any("invalid_grant" in line for line in ours)
    assert not any(word in line for line in ours for word in ("verifier", challenge, "hu/sh", "\n", "eyJ"))


async def test_sessions_of_a_provider_end_when_it_is_no_longer_set() -> None:
    async with at_the_company(IdentityProvider()) as browser, Browser(World()) as without:
        await gone_round(browser)
        cookie = browser.client.cookies["pointsman_session"]
        assert (await browser.get("/")).status_code == 200
        assert (await without.client.get("/", headers={"cookie": f"pointsman_session={cookie}"})).status_code == 303
        assert "company account" not in (await without.get("/login")).text


@pytest.mark.parametrize(
    ("role_claim", "claims"), [("realm.roles", {"realm": {"roles": ["sre"]}}), ("role", {"role": "sre"})]
)
async def test_groups_may_be_nested_or_one_word(role_claim: str, claims: dict[str, Any]) -> None:
    async with at_the_company(IdentityProvider(claims=claims), role_claim=role_claim) as browser:
        assert (await gone_round(browser)).status_code == 303


def test_a_role_claim_may_hold_anything() -> None:
    settings = OidcSettings.model_validate(
        {"issuer": "https://x.example", "client_id": "p", "roles": {"sre": "operator", "7": "viewer"}}
    )
    for groups, role in ((None, None), ({"sre": 1}, None), ([["sre"]], None), ([7, None], Role.VIEWER), ("", None)):
        assert role_of({"groups": groups}, settings) is role


def test_settings_without_a_way_back_are_refused() -> None:
    whole = {
        "models": {"a": {"endpoints": [{"base_url": "http://x/v1", "model": "a"}]}},
        "routes": {"r": {"candidates": [{"model": "a"}]}},
        "console": {"oidc": {"issuer": "https://x.example", "client_id": "p", "roles": {"sre": "operator"}}},
    }
    with pytest.raises(SettingsError, match="oidc needs `url`"):
        parse(json.dumps(whole), {})
