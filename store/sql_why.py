"""Why SQL, or a disk that stands in for it, did not do what was asked: in words that say what to do.

In:  the error as it was raised.  Out: one line.  Told by codes, never by a message's text: SQLite's result codes,
PostgreSQL's SQLSTATE, the system's errno. What has no code here is told in the driver's own words, but for errors about
the values themselves, which may quote them: of those only the kind is told.
"""

import errno
import re
import socket

from sqlalchemy.exc import TimeoutError as PoolTimeout

FULL = "the disk is full: free some space there"
FORBIDDEN = "this user may not do that there: grant it the right to read and write"
READ_ONLY = "it can only be read: name one that can be written"
LOCKED = "it is locked by another process: end that one's transaction"
SILENT = "no answer in time: is it overloaded, or the network in between cut?"
NO_FILE = "the file cannot be opened: is there such a folder, and may this user write in it?"
DAMAGED = "the file is no database, or is damaged: put a backup in its place"
REFUSED = "the connection was refused: is it running there?"
NO_HOST = "no such host: mend the name in the address"
WHO = "user or password is wrong: mend them in the address"

SQLITE = {
    "SQLITE_FULL": FULL,
    "SQLITE_BUSY": LOCKED,
    "SQLITE_LOCKED": LOCKED,
    "SQLITE_READONLY": READ_ONLY,
    "SQLITE_PERM": FORBIDDEN,
    "SQLITE_AUTH": FORBIDDEN,
    "SQLITE_CANTOPEN": NO_FILE,
    "SQLITE_NOTADB": DAMAGED,
    "SQLITE_CORRUPT": DAMAGED,
    "SQLITE_IOERR": "the disk failed to read or write: look at it, and at the system's log",
}
"""By the first two words of the extended code. Source: sqlite.org/rescode.html."""
SQLSTATE = {
    "53100": FULL,
    "53200": "the server is out of memory",
    "53300": "too many connections: raise max_connections, or run fewer processes",
    "55P03": LOCKED,
    "57014": SILENT,
    "57P01": "the server is shutting down",
    "57P02": "the server has crashed and starts again",
    "57P03": "the server is starting up or shutting down",
    "25006": READ_ONLY,
    "28000": WHO,
    "28P01": WHO,
    "3D000": "there is no database of that name: create it",
    "42501": FORBIDDEN,
}
"""Source: PostgreSQL's documentation, appendix A."""
ERRNO = {
    errno.ENOSPC: FULL,
    errno.EDQUOT: "the quota on the disk is spent: free some space there",
    errno.EACCES: FORBIDDEN,
    errno.EPERM: FORBIDDEN,
    errno.EROFS: READ_ONLY,
    errno.EIO: "the disk failed to read or write: look at it, and at the system's log",
    errno.ECONNREFUSED: REFUSED,
    errno.EHOSTUNREACH: "the host cannot be reached: look at the network",
    errno.ENETUNREACH: "the host cannot be reached: look at the network",
}
SAID_CHARS = 300
_NUMBER = re.compile(r"\[Errno (\d+)\]")
"""As Python writes an OSError's code, in every language."""


def why(error: BaseException) -> str:
    """One line, without the statement that met the error."""
    said = getattr(error, "orig", None) or error
    return _known(said) or " ".join(str(said).split())[:SAID_CHARS] or type(said).__name__


def _known(said: BaseException) -> str | None:
    if name := getattr(said, "sqlite_errorname", None):
        return SQLITE.get("_".join(str(name).split("_")[:2]))
    if state := getattr(said, "sqlstate", None):
        return SQLSTATE.get(str(state))
    if isinstance(said, TimeoutError | PoolTimeout):
        return SILENT
    if isinstance(said, socket.gaierror):
        return NO_HOST
    if not isinstance(said, OSError):
        return None
    return ERRNO.get(said.errno or 0) or (_at_several_addresses(said) if said.errno is None else None)


def _at_several_addresses(said: OSError) -> str | None:
    """Of a name with several addresses the event loop tells all failures in one error, which has their codes in its text only."""
    known = [ERRNO[number] for found in _NUMBER.findall(str(said)) if (number := int(found)) in ERRNO]
    # One that refuses is there; the others may be of a kind of address that this machine has not.
    return REFUSED if REFUSED in known else next(iter(known), None)
