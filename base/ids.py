"""Names for requests, processes and sessions."""

import hashlib
import os


def new_request_id() -> str:
    """`pm-` and 24 hex digits; unique without coordination."""
    return "pm-" + os.urandom(12).hex()


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
