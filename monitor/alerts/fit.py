"""Cuts a text until the whole body that carries it keeps within a robot's bytes: JSON adds to quotes and line ends."""

from collections.abc import Callable

LEAST_ROOM = 200


def fitted(build: Callable[[int], bytes], room: int, limit_bytes: int) -> bytes:
    """`build(room)` makes a body whose text has at most `room` bytes; the first that keeps within `limit_bytes`."""
    while len(content := build(room)) > limit_bytes and room > LEAST_ROOM:
        room = max(LEAST_ROOM, room - (len(content) - limit_bytes))
    return content
