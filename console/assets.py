"""The stylesheet, scripts and icons: read once, compressed once, served from memory with a name that changes with them.

`/static/NAME?v=HASH` may be kept for a year; without the right hash a browser asks again each time.
"""

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.responses import PlainTextResponse, Response

KINDS = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".webmanifest": "application/manifest+json",
}
COMPRESSED = frozenset({".css", ".js", ".svg", ".webmanifest"})
YEAR = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    kind: str
    body: bytes
    packed: bytes | None
    version: str


class Assets:
    """All files below `console/static/` that a browser may ask for."""

    def __init__(self) -> None:
        self._assets: Mapping[str, Asset] = dict(_read(files("console") / "static"))

    def url(self, name: str) -> str:
        """Path and version of one file, without any prefix. Raises KeyError."""
        return f"/static/{name}?v={self._assets[name].version}"

    def answer(self, name: str, *, version: str, accepts: str) -> Response:
        asset = self._assets.get(name)
        if asset is None:
            return PlainTextResponse("no such file", 404)
        headers = {"cache-control": YEAR if version == asset.version else "no-cache", "vary": "accept-encoding"}
        if asset.packed is not None and "gzip" in accepts:
            return Response(asset.packed, media_type=asset.kind, headers=headers | {"content-encoding": "gzip"})
        return Response(asset.body, media_type=asset.kind, headers=headers)


def _read(folder: Traversable, before: str = "") -> list[tuple[str, Asset]]:
    found = []
    for entry in folder.iterdir():
        ending = "." + entry.name.rpartition(".")[2]
        if entry.is_dir():
            found += _read(entry, f"{before}{entry.name}/")
        elif ending in KINDS:
            body = entry.read_bytes()
            packed = gzip.compress(body, 9, mtime=0) if ending in COMPRESSED else None
            version = hashlib.sha256(body).hexdigest()[:12]
            found.append(
                (f"{before}{entry.name}", Asset(kind=KINDS[ending], body=body, packed=packed, version=version))
            )
    return found
