"""How an answer leaves in one piece, and what a client is told when the failure is ours.

Acts: writes to the client over ASGI. What we failed is told in OpenAI's shape, a stream's end without [DONE].
"""

import asyncio
import contextlib

from starlette.types import Send

from router.deps import Answer
from router.endings import JSON
from router.errors import Internal, RouterError, ShuttingDown
from router.journey import Journey
from router.sse import encode
from router.stream_out import SseOut

LAST_WORDS_S = 1.0
"""How long a client that reads slowly may hold up the end of a request that we failed, seconds."""


async def send_answer(send: Send, answer: Answer) -> None:
    headers = [*answer.headers, (b"content-length", str(len(answer.body)).encode())]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


async def send_error(send: Send, error: RouterError, request_id: str) -> None:
    headers = ((b"x-request-id", request_id.encode()), JSON, *error.told_headers())
    await send_answer(send, Answer(status=error.status, body=encode(error.shape()), headers=headers))


async def end_failed(send: Send, out: SseOut, journey: Journey, error: RouterError) -> None:
    """End a request that we failed: an answer, or the last event of its stream."""
    if not out.started:
        await send_last(send, journey.id, error)
        return
    with contextlib.suppress(Exception):
        async with asyncio.timeout(LAST_WORDS_S):
            # No [DONE] and no finish reason: a reply that we broke off must not look like a whole one.
            await out.event(encode(error.shape() | {"pointsman": journey.truth()}))
            await out.end()


async def send_last(send: Send, request_id: str, error: RouterError) -> None:
    """Tell the client of our own failure; it may have gone meanwhile, or read slowly."""
    with contextlib.suppress(Exception):
        async with asyncio.timeout(LAST_WORDS_S):
            await send_error(send, error, request_id)


def stopping() -> RouterError:
    return ShuttingDown("this server is stopping; ask again")


def internal(request_id: str) -> RouterError:
    return Internal(f"internal error; the request id is {request_id}")
