"""What people are told when SQL or a disk fails: the cause and what to do, by codes."""

import asyncio
import errno
import socket
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import exc

from store.sql_why import why


class FromPostgres(Exception):
    def __init__(self, sqlstate: str) -> None:
        super().__init__("in the server's own language")
        self.sqlstate = sqlstate


def of_sqlite(file: str, *statements: str) -> Exception:
    """What SQLite itself raises, as SQLAlchemy hands it on."""
    connection = sqlite3.connect(file, isolation_level=None)
    try:
        for statement in statements:
            connection.execute(statement)
    except sqlite3.Error as error:
        return exc.DatabaseError("INSERT …", {}, error)
    finally:
        connection.close()
    raise AssertionError("nothing was raised")


def test_a_full_disk_is_called_a_full_disk() -> None:
    full = "the disk is full: free some space there"
    assert why(of_sqlite("/dev/full", "CREATE TABLE t (a)")) == full
    assert why(OSError(errno.ENOSPC, "No space left on device")) == full
    assert why(exc.DBAPIError("s", {}, FromPostgres("53100"))) == full


def test_a_locked_a_read_only_and_a_broken_file_are_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    with sqlite3.connect(file, isolation_level=None) as other:
        other.execute("CREATE TABLE t (a)")
        other.execute("BEGIN EXCLUSIVE")
        assert "locked" in why(of_sqlite(f"{file}", "PRAGMA busy_timeout=0", "INSERT INTO t VALUES (1)"))
    other.close()
    assert "only be read" in why(of_sqlite(f"{file}", "PRAGMA query_only=1", "INSERT INTO t VALUES (1)"))
    (tmp_path / "b.db").write_bytes(b"no database" * 100)
    assert "no database" in why(of_sqlite(f"{tmp_path / 'b.db'}", "SELECT * FROM t"))
    with pytest.raises(sqlite3.OperationalError) as missing:
        sqlite3.connect(tmp_path / "nowhere" / "c.db")
    assert "cannot be opened" in why(exc.OperationalError("s", {}, missing.value))


@pytest.mark.parametrize(
    ("error", "told"),
    [
        pytest.param(ConnectionRefusedError(errno.ECONNREFUSED, "x"), "refused", id="refused connection"),
        pytest.param(socket.gaierror(-2, "x"), "no such host", id="unknown host"),
        pytest.param(TimeoutError(), "no answer in time", id="silence"),
        pytest.param(exc.TimeoutError(), "no answer in time", id="no connection free in time"),
        pytest.param(PermissionError(errno.EACCES, "x"), "may not", id="no permission"),
        pytest.param(OSError(errno.EROFS, "x"), "only be read", id="mounted read-only"),
        pytest.param(exc.DBAPIError("s", {}, FromPostgres("28P01")), "password", id="wrong password"),
        pytest.param(exc.DBAPIError("s", {}, FromPostgres("3D000")), "create it", id="no such database"),
        pytest.param(exc.DBAPIError("s", {}, FromPostgres("53300")), "too many connections", id="no connection left"),
        pytest.param(exc.DBAPIError("s", {}, FromPostgres("42P01")), "in the server's own language", id="another code"),
        pytest.param(ValueError("a newer release\nhas been here"), "a newer release has been here", id="one of ours"),
        pytest.param(OSError(), "OSError", id="without a word"),
    ],
)
def test_plain_causes_are_told_plainly(error: Exception, told: str) -> None:
    assert told in why(error)


async def test_a_name_whose_two_addresses_refuse_is_told_as_one_that_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    with socket.socket() as one, socket.socket() as two:
        for silent in (one, two):
            silent.bind(("127.0.0.1", 0))  # taken, and nobody listens

        async def addresses(*_: object, **__: object) -> list[object]:
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", bound.getsockname()) for bound in (one, two)]

        monkeypatch.setattr(loop, "getaddrinfo", addresses)
        with pytest.raises(OSError, match="Multiple exceptions") as refused:
            await loop.create_connection(asyncio.Protocol, "db", 5432)
    assert refused.value.errno is None
    assert why(refused.value) == "the connection was refused: is it running there?"


def test_of_two_addresses_one_that_refuses_says_more_than_one_that_cannot_be_reached() -> None:
    said = f"Multiple exceptions: [Errno {errno.ENETUNREACH}] away, [Errno {errno.ECONNREFUSED}] refused"
    assert "refused" in why(OSError(said))
    assert why(OSError("Multiple exceptions: of no code")) == "Multiple exceptions: of no code"
