"""The first admin token: made at the first start, shown once, kept as a hash in the data directory.

Whoever lost it deletes the file and starts again. A token given in the environment stands beside it.
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


def admin_hashes(folder: Path, environment: Mapping[str, str]) -> tuple[frozenset[str], str | None]:
    """The hashes that let an operator in, and the new token if one was just made."""
    if given := environment.get(VARIABLE):
        return frozenset({digest(given)}), None
    file, token = folder / FILE, PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return frozenset(file.read_text(encoding="ascii").split()), None
    with os.fdopen(handle, "w", encoding="ascii") as out:
        out.write(digest(token) + "\n")
    return frozenset({digest(token)}), token
