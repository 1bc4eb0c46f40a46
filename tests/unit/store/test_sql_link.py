"""Which driver a URL gets, and what SQL's errors mean here."""

from pathlib import Path

import pytest
from sqlalchemy import exc

from breaker.ports import StoreUnavailable
from store.sql_link import RowRefused, answered, open_engine, place_of


@pytest.mark.parametrize(
    ("url", "driver"),
    [
        ("sqlite:////tmp/x.db", "aiosqlite"),
        ("sqlite+aiosqlite:////tmp/x.db", "aiosqlite"),
        ("postgres://u@h/d", "asyncpg"),
        ("postgresql://u@h/d", "asyncpg"),
        ("postgresql+asyncpg://u@h/d", "asyncpg"),
    ],
)
def test_a_url_gets_its_asynchronous_driver(url: str, driver: str) -> None:
    assert open_engine(url).driver == driver


def test_another_database_is_refused() -> None:
    with pytest.raises((ValueError, exc.NoSuchModuleError, ModuleNotFoundError)):
        open_engine("mysql+pymysql://u@h/d")


class Original(Exception):
    sqlstate = "22P02"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (exc.OperationalError("s", {}, Exception()), StoreUnavailable),
        (exc.InterfaceError("s", {}, Exception()), StoreUnavailable),
        (exc.TimeoutError(), StoreUnavailable),
        (ConnectionRefusedError(), StoreUnavailable),
        (TimeoutError(), StoreUnavailable),
        (exc.IntegrityError("s", {}, Exception()), RowRefused),
        (exc.DataError("s", {}, Exception()), RowRefused),
        (exc.DBAPIError("s", {}, Original()), RowRefused),
        (exc.StatementError("m", "s", {}, TypeError()), RowRefused),
        (OverflowError(), RowRefused),
    ],
)
async def test_foreign_errors_become_ours(error: Exception, expected: type[Exception]) -> None:
    with pytest.raises(StoreUnavailable) as caught, answered(open_engine("sqlite:////tmp/x.db")):
        raise error
    assert type(caught.value) is expected


def test_where_a_database_is_can_be_told_without_its_password() -> None:
    assert place_of("postgresql://ops:secret@db.example:5433/pointsman?ssl=require") == "pointsman at db.example:5433"
    assert place_of("sqlite:////var/lib/pointsman/pointsman.db") == "/var/lib/pointsman/pointsman.db"


async def test_an_error_names_the_database_and_never_the_values_that_it_refused() -> None:
    engine = open_engine("sqlite:////var/lib/pointsman/pointsman.db")
    with pytest.raises(StoreUnavailable) as mapped, answered(engine):
        raise exc.DatabaseError("SELECT secret", {"x": 1}, Exception("no such\n table: call"))
    assert str(mapped.value) == "database /var/lib/pointsman/pointsman.db: no such table: call"
    with pytest.raises(RowRefused) as refused, answered(engine):
        raise exc.IntegrityError("s", {}, Exception("Key (user)=(somebody) already exists"))
    assert str(refused.value) == "database /var/lib/pointsman/pointsman.db: IntegrityError"


def test_a_file_is_named_whole_wherever_it_is_read_about() -> None:
    assert place_of("sqlite:///data/pm.db") == str(Path("data/pm.db").absolute())
    assert place_of("sqlite://") == ":memory:"
