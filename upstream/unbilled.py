"""What a stream cost whose model never said so: it was cut for a loop, its reader left, it broke, or it tells no usage.

Pure. In: what was asked and what was said.  Out: tokens by rule of thumb, marked as such: nothing would be a lie, for the
vendor bills them all the same.
"""

from collections.abc import Mapping
from typing import Any

from upstream.attempt import Usage
from upstream.shapes import text_of

BYTES_A_TOKEN = 4
"""OpenAI's rule of thumb for English; three bytes of Chinese are about as many."""


def usage_of(told: Usage, body: Mapping[str, Any], said: str) -> Usage:
    """`told` where the model told; else an estimate, and none where nothing was said (a refusal is not billed)."""
    if not said or told.prompt_tokens or told.completion_tokens:
        return told
    return Usage(prompt_tokens=_tokens(_asked(body)), completion_tokens=_tokens(said), estimated=True)


def _asked(body: Mapping[str, Any]) -> str:
    prompt = body.get("prompt")
    if isinstance(prompt, str):
        return prompt
    return "".join(text_of(message.get("content")) for message in body.get("messages") or ())


def _tokens(text: str) -> int:
    size = len(text) if text.isascii() else len(text.encode(errors="replace"))
    return -(-size // BYTES_A_TOKEN)
