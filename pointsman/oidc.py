"""The company's identity provider over OpenID Connect (the optional extra `pointsman[oidc]`: joserfc, of Authlib's makers).

Authorization code with PKCE; the ID token is checked whole: signature against the provider's keys, issuer, audience,
nonce, expiry. Roles come from a claim (groups, usually); whoever has none of the listed values stays out.
"""

import base64
import hashlib
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote_plus

import httpx

from console.access import Role
from console.sso import Flow, IdentityProvider, Person, SsoRefused
from pointsman.settings_console import OidcSettings

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"]
"""Signatures by a key of the provider's own; never `none`, never a shared secret."""
LEEWAY_S = 60
TIMEOUT_S = 10.0


class OidcProvider:
    """`back_url`: where the provider sends people back to. Raises ImportError where the extra is not installed."""

    def __init__(
        self,
        settings: OidcSettings,
        back_url: str,
        transport: httpx.AsyncBaseTransport | None = None,
        real_now_s: Callable[[], float] = time.time,
    ) -> None:
        import joserfc  # noqa: F401 - here, so that a missing extra stops the start and not a login

        self._settings, self._back_url, self._now_s = settings, back_url, real_now_s
        self._client = httpx.AsyncClient(timeout=TIMEOUT_S, transport=transport)
        self._found: Mapping[str, Any] | None = None

    async def close(self) -> None:
        await self._client.aclose()

    async def begin(self, flow: Flow) -> str:
        found, settings = await self._discovered(), self._settings
        asked = {
            "response_type": "code",
            "client_id": settings.client_id,
            "redirect_uri": self._back_url,
            "scope": settings.scope,
            "state": flow.state,
            "nonce": flow.nonce,
            "code_challenge": challenge_of(flow.verifier),
            "code_challenge_method": "S256",
        }
        return str(httpx.URL(found["authorization_endpoint"]).copy_merge_params(asked))

    async def finish(self, flow: Flow, code: str) -> Person:
        found, settings = await self._discovered(), self._settings
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._back_url,
            "client_id": settings.client_id,
            "code_verifier": flow.verifier,
        }
        secret = settings.client_secret.get_secret_value()
        basic = "client_secret_post" not in found.get("token_endpoint_auth_methods_supported", [])
        # RFC 6749, 2.3.1: name and secret are form-encoded before they become a Basic header.
        auth = httpx.BasicAuth(quote_plus(settings.client_id), quote_plus(secret)) if secret and basic else None
        if secret and not basic:
            form["client_secret"] = secret
        token = await self._told(self._client.build_request("POST", found["token_endpoint"], data=form), auth)
        claims = await self._checked(str(token.get("id_token") or ""), flow, found)
        return Person(name=self._name(claims), role=self._role(claims))

    async def _discovered(self) -> Mapping[str, Any]:
        """The provider's own description, read once."""
        if self._found is None:
            issuer = str(self._settings.issuer).rstrip("/")
            found = await self._read(f"{issuer}/.well-known/openid-configuration")
            if str(found.get("issuer", "")).rstrip("/") != issuer:
                raise SsoRefused(f"{issuer} says that it is {found.get('issuer')!r}")
            if missing := [k for k in ("authorization_endpoint", "token_endpoint", "jwks_uri") if not found.get(k)]:
                raise SsoRefused(f"{issuer} does not tell its {', '.join(missing)}")
            self._found = found
        return self._found

    async def _read(self, url: str) -> Mapping[str, Any]:
        return await self._told(self._client.build_request("GET", url), None)

    async def _told(self, request: httpx.Request, auth: httpx.Auth | None) -> Mapping[str, Any]:
        """The JSON object of an answer. Raises SsoRefused; the message names the address and nothing that was sent."""
        try:
            answer = await self._client.send(request, auth=auth)
            told = answer.json() if answer.status_code == 200 else None
        except (httpx.HTTPError, ValueError) as error:
            raise SsoRefused(f"{request.url}: {type(error).__name__}") from error
        if not isinstance(told, dict):
            raise SsoRefused(f"{request.url} answered {answer.status_code}")
        return told

    async def _checked(self, id_token: str, flow: Flow, found: Mapping[str, Any]) -> Mapping[str, Any]:
        from joserfc import jwt
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet

        # Read anew each time: providers turn their keys over, and people log in rarely.
        keys = await self._read(found["jwks_uri"])
        registry = jwt.JWTClaimsRegistry(
            now=int(self._now_s()),
            leeway=LEEWAY_S,
            iss={"essential": True, "value": found["issuer"]},
            aud={"essential": True, "value": self._settings.client_id},
            nonce={"essential": True, "value": flow.nonce},
            exp={"essential": True},
            sub={"essential": True},
        )
        try:
            token = jwt.decode(id_token, KeySet.import_key_set(dict(keys)), algorithms=ALGORITHMS)  # type: ignore[arg-type]
            registry.validate(token.claims)
        except (JoseError, ValueError, KeyError, TypeError) as error:
            raise SsoRefused(f"the ID token does not hold: {error}") from error
        return token.claims

    def _name(self, claims: Mapping[str, Any]) -> str:
        named = (claims.get(claim) for claim in (self._settings.name_claim, "email", "sub"))
        return next(str(name) for name in named if name)

    def _role(self, claims: Mapping[str, Any]) -> Role | None:
        """The highest role of any value of the claim; a claim may be one word, a list, or nested (`a.b`)."""
        value: Any = claims
        for part in self._settings.role_claim.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        values = value if isinstance(value, list) else [value]
        roles = {Role(self._settings.roles[str(one)]) for one in values if str(one) in self._settings.roles}
        return max(roles, key=list(Role).index, default=None)


def challenge_of(verifier: str) -> str:
    """RFC 7636, 4.2."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


_provider: type[IdentityProvider] = OidcProvider
