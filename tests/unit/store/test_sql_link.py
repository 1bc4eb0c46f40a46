"""Which driver a URL gets, and what SQL's errors mean here."""

import pytest
from sqlalchemy import exc

from breaker.ports import StoreUnavailable
from store.sql_link import RowRefused, answered, open_engine


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
    with pytest.raises(StoreUnavailable) as caught, answered():
        raise error
    assert type(caught.value) is expected
