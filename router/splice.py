"""One reply from two models: how the second is asked to go on, and how the seam is closed.

Pure. In: what the client has already seen. Out: the body of the next call, and chunks that belong to the first stream.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from router.sse import Thread, decode, encode, thread_of
from upstream.shapes import NOT_JSON

_GO_ON = {
    "zh": "上面的回答中断了。请从断开的地方直接往下写，不要重复已经写过的内容，不要加开场白。",
    "en": "The reply above broke off. Continue directly from where it stops; do not repeat any of it, add no preamble.",
}
MIN_OVERLAP = 4
"""Shorter agreements between two texts are chance: one word, one comma."""
SEAM_CHARS = 160
"""How much of a continuation is compared with the tail of what was sent."""


def continuation(body: Mapping[str, Any], sent: str, language: str, *, prefill: bool) -> dict[str, Any]:
    """Return the body that asks another model to go on after `sent`; empty `sent`: the call as it was."""
    if not sent:
        return dict(body)
    if "messages" not in body:
        prompt = body["prompt"]
        return {**body, "prompt": (prompt if isinstance(prompt, str) else prompt[0]) + sent}
    messages = [*body["messages"], {"role": "assistant", "content": sent}]
    if not prefill:
        messages.append({"role": "user", "content": _GO_ON.get(language, _GO_ON["en"])})
    return {**body, "messages": messages}


def overlap(sent: str, new: str) -> int:
    """Return how many leading characters of `new` repeat the end of `sent`."""
    longest = min(len(sent), len(new), SEAM_CHARS)
    for size in range(longest, MIN_OVERLAP - 1, -1):
        if sent.endswith(new[:size]):
            return size
    return 0


class Seam:
    """Rewrites the chunks of a continuation so that they belong to the stream already running.

    Text is gathered until it no longer agrees with the end of `sent`, then what agrees is dropped.
    """

    def __init__(self, thread: Thread, sent: str) -> None:
        self.thread = thread
        """What the stream's chunks share; the model is the one that goes on, once it has said anything."""
        self._sent = sent
        self._fresh = True
        self._open = not sent
        self._gathered = ""

    def feed(self, data: bytes, text: str) -> tuple[bytes, str] | None:
        """Return the chunk to send and its text; None: nothing yet."""
        if self._fresh:
            self._fresh, self.thread = False, replace(self.thread, model=thread_of(data, self.thread).model)
        if not self._open and text:
            self._gathered += text
            if len(self._gathered) < SEAM_CHARS and self._may_agree():
                return None
            text = self._close()
            return (self._rewritten(data, text), text) if text else None
        return self._rewritten(data, None), text

    def finish(self) -> tuple[bytes, str] | None:
        """Return what is still gathered at the end."""
        text = "" if self._open else self._close()
        return (self.thread.chunk({"content": text}), text) if text else None

    def _may_agree(self) -> bool:
        # While the whole of what came is found in the tail, or too short to tell, the overlap may still grow.
        tail = self._sent[-SEAM_CHARS:]
        return len(self._gathered) < MIN_OVERLAP or self._gathered in tail

    def _close(self) -> str:
        self._open = True
        return self._gathered[overlap(self._sent, self._gathered) :]

    def _rewritten(self, data: bytes, text: str | None) -> bytes:
        try:
            chunk = decode(data)
        except NOT_JSON:
            return data
        chunk["id"], chunk["created"] = self.thread.id, self.thread.created
        for choice in chunk.get("choices") or ():
            delta = choice.get("delta")
            if isinstance(delta, dict):
                delta.pop("role", None)
                if text is not None:
                    delta["content"] = text
            elif text is not None and "text" in choice:
                choice["text"] = text
        return encode(chunk)
