"""The link in a message by which whoever reads it takes the alert: a signed token that names one incident.

Pure. The token is `INCIDENT.UNTIL.SIGNATURE`: HMAC-SHA256 over what stands before it, cut to 128 bits. It opens a page;
only the form on that page acknowledges, because chat programs fetch every link they see.
"""

import base64
import hashlib
import hmac
import re

VALID_S = 7 * 86_400.0
_TOKEN = re.compile(r"(\d{1,12})\.(\d{1,15})\.([A-Za-z0-9_-]{22})")


def make(secret: bytes, incident_id: int, now_s: float) -> str:
    """A token for one incident, valid for a week from `now_s`."""
    head = f"{incident_id}.{int(now_s + VALID_S)}"
    return f"{head}.{_signature(secret, head)}"


def read(secret: bytes, token: str, now_s: float) -> int | None:
    """The incident it names; None: not ours, tampered with, or too old."""
    match = _TOKEN.fullmatch(token)
    if match is None:
        return None
    head = f"{match[1]}.{match[2]}"
    if not hmac.compare_digest(_signature(secret, head), match[3]) or now_s >= int(match[2]):
        return None
    return int(match[1])


def _signature(secret: bytes, head: str) -> str:
    digest = hmac.new(secret, b"pointsman-ack:" + head.encode(), hashlib.sha256).digest()[:16]
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
