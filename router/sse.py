"""How a stream is written: events, keep-alives, and the chunks that the router makes itself.

Pure; an upstream's own payload passes on byte by byte.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from upstream.attempt import Usage
from upstream.shapes import NOT_JSON

encode = msgspec.json.encode
decode = msgspec.json.decode

DONE = b"data: [DONE]\n\n"
KEEP_ALIVE = b": keep-alive\n\n"
"""A comment line: the official SDKs' decoders skip lines that begin with a colon."""


def framed(data: bytes) -> bytes:
    """One event. Some vendors write their JSON over several lines; each needs its own `data:`."""
    return b"data: %b\n\n" % (data.replace(b"\n", b"\ndata: ") if b"\n" in data else data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """What all chunks of one stream share."""

    id: str
    created: int
    model: str
    chat: bool = True
    """False: the chunks of `/v1/completions`, whose choices hold `text` instead of a delta."""

    def chunk(self, delta: Mapping[str, Any] | None, *, finish: str | None = None, **extra: Any) -> bytes:
        """One chunk; `delta` None: no choice at all (the usage chunk)."""
        choices = [] if delta is None else [self._choice(delta, finish)]
        return encode(
            {
                "id": self.id,
                "object": "chat.completion.chunk" if self.chat else "text_completion",
                "created": self.created,
                "model": self.model,
                "choices": choices,
                **extra,
            }
        )

    def _choice(self, delta: Mapping[str, Any], finish: str | None) -> dict[str, Any]:
        if self.chat:
            return {"index": 0, "delta": delta, "finish_reason": finish}
        return {"index": 0, "text": delta.get("content", ""), "logprobs": None, "finish_reason": finish}


def event(data: bytes) -> bytes:
    return b"data: " + data + b"\n\n"


def thread_of(data: bytes, fallback: Thread) -> Thread:
    """Read the id, created and model of a chunk; what it does not say comes from `fallback`."""
    try:
        chunk = decode(data)
    except NOT_JSON:
        return fallback
    if not isinstance(chunk, dict):
        return fallback
    made = chunk.get("created")
    return Thread(
        id=str(chunk.get("id") or fallback.id),
        created=made if isinstance(made, int) else fallback.created,
        model=str(chunk.get("model") or fallback.model),
        chat=fallback.chat,
    )


def usage_only(data: bytes) -> bool:
    """Whether the chunk is the usage report: no choices."""
    return b'"choices":[]' in data or b'"choices": []' in data


def with_field(data: bytes, name: str, value: Any) -> bytes:
    """Add one field to a JSON object without decoding it."""
    body = data.rstrip()
    separator = b"" if body[:-1].rstrip().endswith(b"{") else b","
    return body[:-1] + separator + encode(name) + b":" + encode(value) + b"}"


def usage_shape(usage: Usage) -> dict[str, int]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }


def usage_whole(usage: Usage, told: bytes | None, attempts: int) -> dict[str, Any]:
    """What the usage chunk says: of one attempt the model's own word, with its details; of several their sum."""
    theirs = decode(told).get("usage") if told is not None else None
    if not isinstance(theirs, dict):
        return usage_shape(usage)
    return theirs if attempts == 1 else theirs | usage_shape(usage)
