"""Logs as JSON lines on stderr: one object an event, no text of a conversation and no secret."""

import asyncio
import json
import logging
import sys
from datetime import UTC, datetime

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


class JsonLines(logging.Formatter):
    """`{"at": …, "level": …, "logger": …, "message": …}`; `error` holds a traceback, `request_id` whose fault it came to."""

    def format(self, record: logging.LogRecord) -> str:
        out = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if (request_id := getattr(record, "request_id", None)) is not None:
            out["request_id"] = str(request_id)
        if record.exc_info:
            out["error"] = self.formatException(record.exc_info)
        return json.dumps(out, ensure_ascii=False)


def _no_cancellation(record: logging.LogRecord) -> bool:
    """The server cancels what is still running when the drain is over, and reports each as a crash. It is none."""
    kind = record.exc_info[0] if record.exc_info else None
    return kind is None or not issubclass(kind, asyncio.CancelledError)


def _drained(record: logging.LogRecord) -> bool:
    """uvicorn calls the end of the time to drain an error; it is what `drain_s` says, and worth a warning."""
    if record.name == "uvicorn.error" and str(record.msg).startswith("Cancel %s running task(s)"):
        record.name, record.levelno, record.levelname = "pointsman", logging.WARNING, "WARNING"
        record.msg = "drain_s is over: %s requests that were still under way are cut off"
    return True


def level_of(asked: str | None) -> str:
    """The level that POINTSMAN_LOG asks for, in any case; INFO without it. Raises ValueError."""
    level = (asked or "INFO").strip().upper()
    if level not in LEVELS:
        raise ValueError(f"POINTSMAN_LOG must be one of {', '.join(LEVELS).lower()}, not {asked!r}")
    return level


def set_up(level: str = "INFO") -> None:
    """Send every logger's records to stderr from `level` on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    handler.addFilter(_no_cancellation)
    handler.addFilter(_drained)
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for noisy in ("httpx", "httpx2", "httpcore", "apscheduler", "alembic", "uvicorn.error"):
        logging.getLogger(noisy).setLevel(max(logging.WARNING, logging.getLevelName(level)))
