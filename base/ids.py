"""Names for requests, processes and sessions."""

import hashlib
import os

_ID_BYTES = 12
_drawn: list[str] = []


def new_request_id() -> str:
    """`pm-` and 24 hex digits; unique without coordination, and not to be guessed from others."""
    if not _drawn:
        # Many at once: a system call each, with other threads waiting for the interpreter, costs more than the rest.
        chance = os.urandom(_ID_BYTES * 256).hex()
        _drawn.extend(chance[at : at + 2 * _ID_BYTES] for at in range(0, len(chance), 2 * _ID_BYTES))
    return "pm-" + _drawn.pop()


def new_boot_id() -> str:
    """One per process start, so that a replica restarted under the same host name is another writer."""
    return os.urandom(6).hex()


def short_hash(*parts: str) -> str:
    """16 hex digits that stand for the parts without telling them."""
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(part.encode("utf-8", "surrogatepass"))
        digest.update(b"\x00")
    return digest.hexdigest()


# A forked process must not give out the ids that its parent drew.
os.register_at_fork(after_in_child=_drawn.clear)
