"""Reads a request's body from an ASGI server, and no more of it than is allowed."""

from collections.abc import Mapping

from starlette.types import Receive

from router.errors import TooLarge


class ClientGone(Exception):
    """The client hung up before its request was whole."""


async def read_body(receive: Receive, headers: Mapping[str, str], limit: int) -> bytes:
    """Read the whole body. Raises TooLarge as soon as that is known, ClientGone when the client leaves."""
    length = headers.get("content-length", "")
    if length.isdigit() and int(length) > limit:
        raise TooLarge(f"the body may have at most {limit} bytes")
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise TooLarge(f"the body may have at most {limit} bytes")
        parts.append(part)
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)
