"""An OpenID Connect provider over real sockets: it keeps codes, PKCE and client secrets as a real one does.

Whoever comes to `/auth` is sent back at once, as with a session at the company already open. What a test sets makes it
err: other claims, a strange key, no signature, lies about itself.
"""

import asyncio
import base64
import functools
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote_plus, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, RSAKey

CLIENT, SECRET = "pointsman", "hu/sh+ 1%"
"""The secret holds what must be encoded on its way."""
Key = RSAKey | ECKey


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@functools.cache
def key_named(kid: str | None, which: int = 0) -> Key:
    """One key per name and `which`; kept, since drawing one takes long. None: it goes without a name."""
    return RSAKey.generate_key(2048, {"kid": kid, "use": "sig"} if kid else {"use": "sig"}, auto_kid=False)


@dataclass
class IdentityProvider:
    """`claims` go over the usual ones (None takes one away); `key` signs; `published` is what `/keys` tells."""

    claims: dict[str, Any] = field(default_factory=dict)
    key: Key = field(default_factory=lambda: key_named("k1"))
    algorithm: str = "RS256"
    published: list[Key] | None = None
    described: dict[str, Any] = field(default_factory=dict)
    """Goes over its description of itself."""
    answers: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    """Path → status and body sent instead."""
    host: str = "127.0.0.1"
    """By what name people know it."""
    nonce: str | None = None
    refuses: str = ""
    """The error that people are sent back with."""
    seen: list[str] = field(default_factory=list)
    """Each request's path."""
    secrets_by: set[str] = field(default_factory=set)
    """How the client proved itself: `basic`, `post`."""
    codes: dict[str, Mapping[str, str]] = field(default_factory=dict)

    async def __aenter__(self) -> "IdentityProvider":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    @property
    def issuer(self) -> str:
        return f"http://{self.host}:{self._server.sockets[0].getsockname()[1]}/realms/staff"

    def settings(self, **more: Any) -> dict[str, Any]:
        """What `console.oidc` holds for it."""
        roles = {"sre": "operator", "leads": "admin"}
        return {"issuer": self.issuer, "client_id": CLIENT, "client_secret": SECRET, "roles": roles, **more}

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            body = (await reader.readexactly(int(headers.get("content-length") or 0))).decode()
            status, more, sent = self._answer(first.split()[1], headers, dict(parse_qsl(body, keep_blank_values=True)))
            lines = [f"HTTP/1.1 {status} -", f"content-length: {len(sent)}", "connection: close", *more]
            writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + sent)
            await writer.drain()
        finally:
            writer.close()

    def _answer(self, target: str, headers: Mapping[str, str], form: Mapping[str, str]) -> tuple[int, list[str], bytes]:
        url = urlsplit(target)
        path = url.path.removeprefix("/realms/staff")
        self.seen.append(path)
        if path in self.answers:
            status, sent = self.answers[path]
            return status, ["content-type: text/html"], sent
        if path == "/auth":
            return 303, [f"location: {self._way_back(dict(parse_qsl(url.query)))}"], b""
        status, told = self._told(path, headers, form)
        return status, ["content-type: application/json"], json.dumps(told).encode()

    def _told(self, path: str, headers: Mapping[str, str], form: Mapping[str, str]) -> tuple[int, Any]:
        match path:
            case "/.well-known/openid-configuration":
                return 200, {
                    "issuer": self.issuer,
                    "authorization_endpoint": f"{self.issuer}/auth",
                    "token_endpoint": f"{self.issuer}/token",
                    "jwks_uri": f"{self.issuer}/keys",
                    "id_token_signing_alg_values_supported": ["none", "HS256", "RS256", "ES256"],
                    **self.described,
                }
            case "/keys":
                return 200, KeySet(self.published or [self.key]).as_dict(private=False)
            case "/token":
                return self._token(headers, form)
            case _:
                return 404, {"error": "not_found"}

    def _way_back(self, asked: Mapping[str, str]) -> str:
        """Keeps what the code was given for."""
        assert asked["client_id"] == CLIENT and asked["response_type"] == "code", asked
        assert asked["code_challenge_method"] == "S256" and "openid" in asked["scope"].split(), asked
        if self.refuses:
            return f"{asked['redirect_uri']}?{urlencode({'error': self.refuses, 'state': asked['state']})}"
        code = secrets.token_urlsafe(12)
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def _token(self, headers: Mapping[str, str], form: Mapping[str, str]) -> tuple[int, Any]:
        basic = "Basic " + base64.b64encode(f"{quote_plus(CLIENT)}:{quote_plus(SECRET)}".encode()).decode()
        by = "basic" if headers.get("authorization") == basic else "post" if form.get("client_secret") == SECRET else ""
        if not by:
            return 401, {"error": "invalid_client"}
        self.secrets_by.add(by)
        asked = self.codes.pop(form.get("code", ""), None)  # once
        proof = b64(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        if asked is None or asked["redirect_uri"] != form.get("redirect_uri") or asked["code_challenge"] != proof:
            return 400, {"error": "invalid_grant", "error_description": "unknown\ncode"}
        return 200, {"access_token": "a", "token_type": "Bearer", "id_token": self.id_token(asked["nonce"])}

    def id_token(self, nonce: str) -> str:
        now = int(time.time())
        usual = {
            "iss": self.issuer, "aud": CLIENT, "sub": "u1", "exp": now + 300, "iat": now, "nonce": self.nonce or nonce,
            "preferred_username": "min.wang", "groups": ["staff", "sre"], **self.claims,
        }  # fmt: skip
        claims = {name: value for name, value in usual.items() if value is not None}
        if self.algorithm == "none":
            parts = ({"alg": "none", "typ": "JWT"}, claims)
            return ".".join([*(b64(json.dumps(part).encode()) for part in parts), ""])
        if self.algorithm == "HS256":  # the public key taken for a shared secret
            return _signed_with_the_public_key(self.key, claims)
        header = {"alg": self.algorithm, **({"kid": self.key.kid} if self.key.kid else {})}
        return jwt.encode(header, claims, self.key, algorithms=[self.algorithm])


def _signed_with_the_public_key(key: Key, claims: Mapping[str, Any]) -> str:
    body = ".".join(b64(json.dumps(part).encode()) for part in ({"alg": "HS256", "kid": key.kid}, claims))
    return f"{body}.{b64(hmac.digest(key.as_pem(private=False), body.encode(), 'sha256'))}"
