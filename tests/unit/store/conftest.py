"""What the store's unit tests share."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest


@pytest.fixture
async def cancelled() -> AsyncIterator[Callable[[Coroutine[Any, Any, None]], None]]:
    """Run a coroutine in a task that ends with the test."""
    tasks: list[asyncio.Task[None]] = []
    yield lambda work: tasks.append(asyncio.get_running_loop().create_task(work))
    for task in tasks:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
