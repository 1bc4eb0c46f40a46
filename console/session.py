"""Who is logged in: a signed cookie, and the tokens that prove a form came from our own page.

Pure: a key and moments in, text out. Nothing is kept on the server, so any replica with the same key takes the cookie.
A session names the token it was opened with (by a prefix of its hash), so that it ends when that token is withdrawn.
"""

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from console.access import Role

SESSION_S = 12 * 3_600.0
"""One shift and a bit; then the token is asked for again."""
NONCE_BYTES = 16
LOGIN_FORM_S = 3_600.0
MARK_CHARS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """`id` is drawn at login; `mark` is the start of the token's SHA-256; `began_at` in real seconds since the epoch."""

    id: str
    actor: str
    role: Role
    mark: str
    began_at: float


class Sealer:
    """Signs with HMAC-SHA256 under one secret key. Each purpose signs apart, so that no text serves two of them."""

    def __init__(self, key: bytes) -> None:
        if len(key) < 32:
            raise ValueError("the console's signing key needs 32 bytes or more")
        self._key = key

    def seal(self, session: Session) -> str:
        """The cookie's value."""
        body = _b64(json.dumps(asdict(session), separators=(",", ":")).encode())
        return f"{body}.{self._sign('session', body)}"

    def opened(self, cookie: str, now_s: float) -> Session | None:
        """The session in `cookie`; None when it is not ours, was changed, or is too old."""
        body, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._sign("session", body).encode()):
            return None
        try:
            fields = json.loads(_unb64(body))
            session = Session(**{**fields, "role": Role(fields["role"])})
        except (ValueError, TypeError, KeyError, binascii.Error):
            return None  # signed by an older release with other fields
        return session if 0 <= now_s - session.began_at < SESSION_S else None

    def seal_flow(self, values: Sequence[str], now_s: float) -> str:
        """What a login by another site must bring back, and when it began."""
        body = _b64(json.dumps([int(now_s), *values]).encode())
        return f"{body}.{self._sign('flow', body)}"

    def opened_flow(self, cookie: str, now_s: float, longest_s: float) -> list[str] | None:
        body, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._sign("flow", body).encode()):
            return None
        began_at, *values = json.loads(_unb64(body))
        return [str(value) for value in values] if 0 <= now_s - began_at < longest_s else None

    def form_token(self, session_id: str, nonce: bytes) -> str:
        """A token for the forms of one page. A fresh nonce each time keeps compressed pages from leaking it (BREACH)."""
        drawn = _b64(nonce)
        return f"{drawn}.{self._sign('form', f'{session_id}|{drawn}')}"

    def is_form_token(self, session_id: str, given: str) -> bool:
        nonce, _, signature = given.rpartition(".")
        wanted = self._sign("form", f"{session_id}|{nonce}")
        return bool(nonce) and hmac.compare_digest(signature.encode(), wanted.encode())

    def login_token(self, nonce: bytes, now_s: float) -> str:
        """For the login form, where there is no session yet."""
        body = f"{int(now_s)}.{_b64(nonce)}"
        return f"{body}.{self._sign('login', body)}"

    def is_login_token(self, given: str, now_s: float) -> bool:
        body, _, signature = given.rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._sign("login", body).encode()):
            return False
        at = body.partition(".")[0]
        return at.isdigit() and 0 <= now_s - int(at) < LOGIN_FORM_S

    def _sign(self, purpose: str, text: str) -> str:
        return _b64(hmac.digest(self._key, f"{purpose}|{text}".encode("utf-8", "surrogatepass"), hashlib.sha256))


def mark_of(digest: str) -> str:
    """What a session keeps of the token's hash."""
    return digest[:MARK_CHARS]


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _unb64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
