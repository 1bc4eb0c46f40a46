"""POST /v1/feedback: who may speak of which reply, once each, and which model really gave it.

Acts: looks the reply up, for at most a second, and hands the word over; no model is called and no request waits here.
Posture when SQL is gone or slow: what names its request id is accepted (202) and bound later; a person and a moment
cannot be looked up without it (503).
"""

import asyncio
import os
from collections import OrderedDict
from collections.abc import Awaitable
from typing import Any, TypeVar

from base.clock import Clock
from base.feedback import FeedbackSource
from base.ids import short_hash
from breaker.ports import StoreUnavailable
from router.auth import Caller
from router.errors import (
    FeedbackExists,
    RouterError,
    StoreGone,
    SupportForbidden,
    UnknownRequest,
)
from router.feedback_wire import Said, parse_feedback
from router.metrics import RouterMetrics
from router.ports import Answered, Feedback, FeedbackLog
from router.redact import redact

_T = TypeVar("_T")
LOOK_UP_S = 1.0
LOOK_AGAIN_S = 1.2
"""Call rows are written every half second; whoever complains faster than that is asked to wait for the second look."""
REMEMBERED = 10_000


class FeedbackDesk:
    """One per worker."""

    def __init__(self, log: FeedbackLog, clock: Clock, metrics: RouterMetrics) -> None:
        self._log, self._clock, self._metrics = log, clock, metrics
        # What this worker filed and SQL may not show yet, oldest first.
        self._filed: OrderedDict[tuple[str, str, str], None] = OrderedDict()

    async def file(self, raw: bytes, caller: Caller) -> tuple[int, dict[str, Any]]:
        """Status and body of the answer; in a batch each item has its own. Raises RouterError for a single item."""
        items, batch = parse_feedback(raw)
        if batch and not caller.support:
            raise SupportForbidden("batches are for support: this key was not made with --support")
        if not batch:
            only = items[0]
            if isinstance(only, RouterError):
                raise only
            return await self._counted(only, caller, patient=True)
        results = []
        for at, item in enumerate(items):
            try:
                if isinstance(item, RouterError):
                    raise item
                status, told = await self._counted(item, caller, patient=False)
            except RouterError as error:
                status, told = error.status, error.shape()
            results.append({"index": at, "status": status, **told})
        return 200, {"results": results}

    async def _counted(self, said: Said, caller: Caller, *, patient: bool) -> tuple[int, dict[str, Any]]:
        result = "internal_error"
        try:
            status, told = await self._one(said, caller, patient)
            result = told["result"]
        except RouterError as error:
            result = error.code
            raise
        finally:
            self._metrics.feedback.labels(said.kind.value, said.source.value, result).inc()
        return status, told

    async def _one(self, said: Said, caller: Caller, patient: bool) -> tuple[int, dict[str, Any]]:
        support = said.source is FeedbackSource.SUPPORT
        if support and not caller.support:
            raise SupportForbidden("this key may not speak as support; keys create --support makes one that may")
        app = said.app or ("" if support else caller.app)
        if said.at is not None:
            found: Answered | None = await self._near(said, app or caller.app, said.at)
        else:
            try:
                found = await self._answered(said.request_id, app, patient)
            except StoreUnavailable:
                return self._accept(said, app or caller.app, None)
        assert found is not None
        user_hash = short_hash(found.app, said.user)
        key = (found.app, user_hash, found.request_id)
        if key in self._filed or await self._filed_before(key):
            raise FeedbackExists(f"this user has spoken of {found.request_id} before", param="request_id")
        return self._accept(said, found.app, found)

    async def _answered(self, request_id: str, app: str, patient: bool) -> Answered:
        """The request; `app` empty: anybody's; `patient`: look twice. Raises UnknownRequest, StoreUnavailable."""
        found = await _within(self._log.answered(request_id))
        if found is None and patient:
            await self._clock.sleep(LOOK_AGAIN_S / self._clock.real_s(1.0))
            found = await _within(self._log.answered(request_id))
        if found is None or app not in ("", found.app):
            raise UnknownRequest(
                f"no request {request_id!r} of this app; send the reply's x-request-id", param="request_id"
            )
        return found

    async def _near(self, said: Said, app: str, at: float) -> Answered:
        try:
            found = await _within(self._log.near(app, short_hash(app, said.session or said.user), at, said.within_s))
        except StoreUnavailable:
            raise StoreGone("the call log does not answer now; ask again, or send the request id") from None
        if found is None:
            what = f"no request of that user of app {app!r} within {said.within_s:g} s of that moment"
            raise UnknownRequest(what, param="at")
        return found

    async def _filed_before(self, key: tuple[str, str, str]) -> bool:
        try:
            return await _within(self._log.filed(*key))
        except StoreUnavailable:
            return False  # the table itself keeps each word once

    def _accept(self, said: Said, app: str, found: Answered | None) -> tuple[int, dict[str, Any]]:
        request_id = found.request_id if found else said.request_id
        user_hash = short_hash(app, said.user)
        key = (app, user_hash, request_id)
        if key in self._filed:
            raise FeedbackExists(f"this user has spoken of {request_id} before", param="request_id")
        word = Feedback(
            id=os.urandom(16).hex(),
            request_id=request_id,
            app=app,
            user_hash=user_hash,
            at=self._clock.now_s(),
            kind=said.kind,
            source=said.source,
            note=redact(said.note),
            answered=found,
        )
        self._log.add(word)
        self._filed[key] = None
        if len(self._filed) > REMEMBERED:
            self._filed.popitem(last=False)
        told = {"id": word.id, "request_id": request_id, "result": "filed" if found else "accepted"}
        return (201, {**told, "model": found.model}) if found else (202, told)


async def _within(question: Awaitable[_T]) -> _T:
    """The answer, if it comes in time. Raises StoreUnavailable; the question itself is left to end by itself."""
    asked = asyncio.ensure_future(question)
    done, _ = await asyncio.wait({asked}, timeout=LOOK_UP_S)
    if not done:
        # A database connection must not be cancelled in the middle of an answer: it would be thrown away.
        asked.add_done_callback(lambda late: None if late.cancelled() else late.exception())
        raise StoreUnavailable("no answer in time")
    return asked.result()
