"""A task that was asked to end ends, whatever a library made of the request meanwhile.

Python 3.11's `asyncio.wait_for` returns its result and forgets a cancellation that comes in the turn of the loop in
which the awaited thing is done (mended in 3.12 by gh-86296), and clients sit on it: redis-py wraps each command it sends.
Whoever loops around such a client would go on for ever.
"""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def cancel_kept() -> Iterator[None]:
    """Raise CancelledError at the end of the block if the running task was cancelled in it and nobody said so.

    Counts requests, as `Task.cancelling` does: time-outs and task groups inside the block take theirs back and do not show.
    """
    task = asyncio.current_task()
    before = task.cancelling() if task is not None else 0
    try:
        yield
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        if task is not None and task.cancelling() > before:
            raise asyncio.CancelledError from error
        raise
    if task is not None and task.cancelling() > before:
        raise asyncio.CancelledError


async def end(tasks: Iterable["asyncio.Task[Any]"], *, within_s: float | None = None) -> None:
    """Cancel `tasks` and wait until they have ended, `within_s` real seconds at most; what they ended with is nobody's matter.

    Unlike awaiting a cancelled task under `suppress(CancelledError)`, this keeps the caller's own cancellation.
    """
    ending = set(tasks)
    for task in ending:
        task.cancel()
    if not ending:
        return
    done, _ = await asyncio.wait(ending, timeout=within_s)
    for task in done:
        if not task.cancelled():
            task.exception()  # looked at: nothing is logged for it
