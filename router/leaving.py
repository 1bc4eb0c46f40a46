"""Notices that a client hangs up, without a task of its own for each request.

Acts: drives ASGI's `receive` by hand. A task that does nothing but wait costs two turns of the loop a request, one to begin
and one to be cancelled; here the future that `receive` waits for calls back, which nearly always it never does.
"""

import asyncio
from collections.abc import Callable, Generator
from typing import Any

from starlette.types import Receive


class Leaving:
    """From its making until `stop`: calls `gone` once, if the client hangs up."""

    def __init__(self, receive: Receive, gone: Callable[[], None]) -> None:
        self._receive, self._gone = receive, gone
        self._begun: Generator[Any, Any, Any] | None = receive().__await__()
        self._step()

    def stop(self) -> None:
        begun, self._begun = self._begun, None
        if begun is not None:
            begun.close()

    def _step(self, _: object = None) -> None:
        while self._begun is not None:
            try:
                waits_for = self._begun.send(None)
            except StopIteration as said:
                if said.value["type"] == "http.disconnect":
                    self._begun = None
                    self._gone()
                    return
                self._begun = self._receive().__await__()
            else:
                self._when_done(waits_for)
                return

    def _when_done(self, waits_for: Any) -> None:
        if waits_for is None:  # it only gave others a turn
            asyncio.get_running_loop().call_soon(self._step)
            return
        # As a task says to a future that it was understood.
        waits_for._asyncio_future_blocking = False
        waits_for.add_done_callback(self._step)
