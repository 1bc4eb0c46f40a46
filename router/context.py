"""A conversation that has begun to restate itself is given a shorter past (SPEC 3.3, step 4).

Pure; read from the request's own messages, no conversation is stored.
Two restatements in a row means three replies, each the same as the one before: the model copies its own history.
"""

from collections.abc import Mapping
from typing import Any

from detector import context_sim
from router.wire import text_of

RESTATES = 0.85
"""The user's documents' threshold of context similarity."""
KEPT_TURNS = 2
"""Last user turns that stay; of the looped replies none is sent back to a model."""
MAX_COMPARED_CHARS = 8_000
_LENGTH_RATIO = 0.6  # texts of very different length cannot be that similar; spares the comparison


def restating(body: Mapping[str, Any]) -> bool:
    """Whether the last two replies each restated the one before."""
    replies = _last_replies(body, 3)
    return len(replies) == 3 and all(map(_restates, replies[1:], replies))


def restated_before(body: Mapping[str, Any]) -> bool:
    """Whether the last reply restated the one before, so that another restatement is the second in a row."""
    replies = _last_replies(body, 2)
    return len(replies) == 2 and _restates(replies[1], replies[0])


def _last_replies(body: Mapping[str, Any], count: int) -> list[str]:
    messages = body.get("messages", ())[-12:]
    return [text_of(m.get("content")) for m in messages if m["role"] == "assistant"][-count:]


def shortened(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body with its system prompts and its last user turns only, the restated replies left out."""
    messages = body["messages"]
    system = [m for m in messages if m["role"] in ("system", "developer")]
    users = [m for m in messages if m["role"] == "user"]
    return {**body, "messages": [*system, *users[-KEPT_TURNS:]]}


def _restates(new: str, old: str) -> bool:
    a, b = new[:MAX_COMPARED_CHARS], old[:MAX_COMPARED_CHARS]
    if not a or not b or min(len(a), len(b)) < _LENGTH_RATIO * max(len(a), len(b)):
        return False
    return context_sim(a, b) > RESTATES
