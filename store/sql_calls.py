"""The call log in SQL, written in batches off the request path (store/sql_queue.py). Who reads it: store/sql_console.py."""

import os

from sqlalchemy.ext.asyncio import AsyncEngine

from router.ports import CallLog, CallRow, FailedReply
from store.documents import plain
from store.spool import Spool
from store.sql_queue import QUEUE_ROWS, RowQueue
from store.tables import call, failed_reply


class SqlCallLog(RowQueue):
    """One per process. `add_call` and `add_failed` only put a row into the queue."""

    def __init__(self, engine: AsyncEngine, *, queue_rows: int = QUEUE_ROWS, spool: Spool | None = None) -> None:
        super().__init__(engine, (call, failed_reply), queue_rows=queue_rows, spool=spool)

    def add_call(self, row: CallRow) -> None:
        self.put(call, plain(row))

    def add_failed(self, row: FailedReply) -> None:
        self.put(failed_reply, {"id": os.urandom(16).hex(), **plain(row)})


_log: type[CallLog] = SqlCallLog
