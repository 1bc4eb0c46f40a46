"""The first admin token: made at the first start, shown once, kept as a hash in the data directory.

Whoever lost it deletes the file and starts again. A token given in the environment stands beside it, or in its place
where there is none yet.
"""

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from router.auth import digest

FILE = "admin_token.sha256"
VARIABLE = "POINTSMAN_ADMIN_TOKEN"
PREFIX = "pma-"
TOKEN_BYTES = 24
LEAST_CHARS = 8
"""Of one given from outside: NIST SP 800-63B, 5.1.1.2, asks for eight at least of a secret that a person chose."""


class WeakToken(Exception):
    """The token in the environment is too short to keep anybody out."""


def admin_hashes(folder: Path, environment: Mapping[str, str]) -> tuple[frozenset[str], str | None]:
    """The hashes that let an operator in, and the new token if one was just made. Raises WeakToken."""
    file, token = folder / FILE, PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
    if given := environment.get(VARIABLE):
        if len(given) < LEAST_CHARS:
            raise WeakToken(f"{VARIABLE} has {len(given)} characters: give it {LEAST_CHARS} or more, or none")
        first = file.read_text(encoding="ascii").split() if file.exists() else []
        return frozenset({digest(given), *first}), None
    folder.mkdir(parents=True, exist_ok=True)
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return frozenset(file.read_text(encoding="ascii").split()), None
    with os.fdopen(handle, "w", encoding="ascii") as out:
        out.write(digest(token) + "\n")
    return frozenset({digest(token)}), token
