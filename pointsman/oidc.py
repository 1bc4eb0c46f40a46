"""The company's identity provider over OpenID Connect, spoken by Authlib (the optional extra `pointsman[oidc]`).

Authorization code with PKCE; the ID token is checked whole: signature against the provider's keys of this moment,
issuer, audience, authorized party, nonce, times. Roles come from a claim (groups, usually); whoever has none of the
listed values stays out. State and verifier travel in our own signed cookie (console/sso.py), so of Authlib only what
needs no session of its framework is used. Importing this raises ImportError where the extra is not installed.
"""

import contextlib
import logging
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote_plus

import httpx
import httpx2
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.starlette_client import OAuth, StarletteOAuth2App
from authlib.oauth2.auth import encode_client_secret_basic
from joserfc.errors import JoseError

from console.access import Role
from console.sso import Flow, IdentityProvider, Person, SsoRefused
from pointsman.settings_console import OidcSettings

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA")
"""Signatures by a key of the provider's own; never `none`, never a shared secret, whatever the provider offers."""
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
AUTH_METHODS, SIGNINGS = "token_endpoint_auth_methods_supported", "id_token_signing_alg_values_supported"
LEEWAY_S = 60
TIMEOUT_S = 10.0
MOST_BYTES = 1_000_000
"""Of one answer: a description, a key set or a token is a few kilobytes."""

# At DEBUG it writes down the verifier of each login.
logging.getLogger("authlib").setLevel(logging.INFO)


class OidcProvider:
    """`back_url`: where the provider sends people back to; `way`: how it is reached, closed by `close`."""

    def __init__(self, settings: OidcSettings, back_url: str, way: httpx.AsyncBaseTransport) -> None:
        self._settings, self._back_url, self._way = settings, back_url, way
        self._issuer = str(settings.issuer).rstrip("/")
        self._kept: StarletteOAuth2App | None = None

    async def close(self) -> None:
        await self._way.aclose()

    async def begin(self, flow: Flow) -> str:
        with self._refusing():
            app = await self._discovered()
            asked = await app.create_authorization_url(
                self._back_url, state=flow.state, nonce=flow.nonce, code_verifier=flow.verifier
            )
            return str(asked["url"])

    async def finish(self, flow: Flow, code: str) -> Person:
        with self._refusing():
            app = await self._discovered()
            token = await app.fetch_access_token(self._back_url, code=code, code_verifier=flow.verifier)
            # Read anew each time: providers turn their keys over and withdraw them, and people log in rarely.
            await app.fetch_jwk_set(force=True)
            must = {"iss": app.server_metadata["issuer"], "aud": self._settings.client_id}
            claims = await app.parse_id_token(
                token,
                nonce=flow.nonce,
                claims_options={name: {"essential": True, "value": value} for name, value in must.items()},
                leeway=LEEWAY_S,
            )
            if not claims or not claims.get("sub"):
                raise SsoRefused(f"{self._issuer} sent no ID token")
            return Person(name=self._name(claims), role=role_of(claims, self._settings))

    async def _discovered(self) -> StarletteOAuth2App:
        """The client by the provider's own description, which is read once and again after a login that failed."""
        if self._kept is not None:
            return self._kept
        app = self._client()
        found = checked(await app.load_server_metadata(), self._issuer)
        # Authlib hands all of the description to its HTTP client as options: only what is meant gets there.
        app.server_metadata = found
        secret = self._settings.client_secret.get_secret_value()
        posted = "client_secret_post" in (found.get(AUTH_METHODS) or ())
        method = "none" if not secret else "client_secret_post" if posted else basic
        app.client_kwargs["token_endpoint_auth_method"] = method
        self._kept = app
        return app

    def _client(self) -> StarletteOAuth2App:
        return OAuth().register(
            "company",
            client_id=self._settings.client_id,
            client_secret=self._settings.client_secret.get_secret_value() or None,
            server_metadata_url=f"{self._issuer}/.well-known/openid-configuration",
            client_kwargs={
                "scope": self._settings.scope,
                "code_challenge_method": "S256",
                "timeout": TIMEOUT_S,
                "transport": Bridge(self._way),
                "trust_env": False,
            },
        )

    @contextlib.contextmanager
    def _refusing(self) -> Iterator[None]:
        """Whatever Authlib, its libraries or a garbled answer raise, as SsoRefused; no message holds what was sent."""
        try:
            yield
        except SsoRefused:
            self._kept = None
            raise
        except (AuthlibBaseError, JoseError, httpx2.HTTPError, httpx2.InvalidURL, httpx.HTTPError) as error:
            self._kept = None
            raise SsoRefused(f"{self._issuer}: {told(error)}") from error
        except (ValueError, KeyError, TypeError, AttributeError, RuntimeError) as error:
            self._kept = None
            raise SsoRefused(f"{self._issuer} answered what is not OpenID Connect: {told(error)}") from error

    def _name(self, claims: Mapping[str, Any]) -> str:
        named = (claims.get(claim) for claim in (self._settings.name_claim, "email", "sub"))
        return next(str(name) for name in named if name)


def checked(told: Any, issuer: str) -> dict[str, Any]:
    """Of what a provider says of itself, what is used. Raises SsoRefused, naming what is wrong."""
    if str(told.get("issuer", "")).rstrip("/") != issuer:
        raise SsoRefused(
            f"{issuer} says that it is {told.get('issuer')!r}: set console.oidc.issuer to what it calls itself"
        )
    if missing := [name for name in ENDPOINTS if not told.get(name)]:
        raise SsoRefused(f"{issuer} does not tell its {', '.join(missing)}")
    signed = [one for one in told.get(SIGNINGS) or ("RS256",) if one in ALGORITHMS]
    if not signed:
        raise SsoRefused(f"{issuer} signs with {told[SIGNINGS]}: none of {', '.join(ALGORITHMS)}")
    kept = {name: told[name] for name in ("issuer", *ENDPOINTS, AUTH_METHODS, "_loaded_at") if name in told}
    return {**kept, SIGNINGS: signed}


def role_of(claims: Mapping[str, Any], settings: OidcSettings) -> Role | None:
    """The highest role of any value of the claim; a claim may be one word, a list, or nested (`a.b`)."""
    value: Any = claims
    for part in settings.role_claim.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    values = value if isinstance(value, list) else [value]
    roles = {Role(settings.roles[str(one)]) for one in values if str(one) in settings.roles}
    return max(roles, key=list(Role).index, default=None)


def basic(client: Any, method: str, uri: str, headers: Any, body: Any) -> Any:
    """RFC 6749, 2.3.1: name and secret are form-encoded before they become a Basic header; Authlib leaves them raw."""
    client.client_id, client.client_secret = quote_plus(client.client_id), quote_plus(client.client_secret)
    return encode_client_secret_basic(client, method, uri, headers, body)


def told(error: Exception) -> str:
    """One line for the log: what a provider wrote may hold anything."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


class Bridge(httpx2.AsyncBaseTransport):
    """Authlib's HTTP client over our one way out of this process: its proxy, its certificates, its exceptions' names."""

    def __init__(self, way: httpx.AsyncBaseTransport) -> None:
        self._way = way

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        sent = httpx.Request(
            request.method,
            str(request.url),
            headers=request.headers.raw,
            content=await request.aread(),
            extensions={"timeout": request.extensions["timeout"]},
        )
        answer = await self._way.handle_async_request(sent)
        body = b""
        try:
            async for piece in answer.aiter_raw():
                body += piece
                if len(body) > MOST_BYTES:
                    raise SsoRefused(f"{request.url.host} answered more than {MOST_BYTES:,} bytes")
        finally:
            await answer.aclose()
        return httpx2.Response(answer.status_code, headers=answer.headers.raw, stream=httpx2.ByteStream(body))


_provider: type[IdentityProvider] = OidcProvider
