"""What every path beside the model endpoints does alike: the request's id in each answer, and HEAD wherever there is GET.

Acts: wraps ASGI's `send`. Probes of load balancers ask by HEAD, and an answer without an id cannot be quoted.
"""

from collections.abc import Awaitable, Callable

from starlette.types import Message, Scope, Send

from base.ids import new_request_id
from router.request_ids import safe

ID_HEADER = b"x-request-id"
_STATE = "pointsman_request_id"


def with_face(scope: Scope, send: Send) -> tuple[Scope, Send]:
    """The scope as the paths see it, and a `send` that adds what every answer has."""
    head = scope["method"] == "HEAD"
    asked = next((value.decode("latin-1") for name, value in scope["headers"] if name == ID_HEADER), None)
    request_id = safe(asked) or new_request_id()
    seen = {**scope, _STATE: request_id, "method": "GET" if head else scope["method"]}
    return seen, _told(send, request_id.encode(), head=head)


def id_of(scope: Scope) -> str:
    """The id that the answer will carry."""
    return str(scope[_STATE])


def _told(send: Send, request_id: bytes, *, head: bool) -> Callable[[Message], Awaitable[None]]:
    async def told(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], (ID_HEADER, request_id)]}
        elif head and message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await send(message)

    return told
