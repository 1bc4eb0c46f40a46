"""Probabilities in replies: read for the detector, and taken out again where the client did not ask for them.

Pure. The client's bytes are written anew only where there was something to take out.
"""

from typing import Any

import msgspec

from detector import Finding, Position, ProbabilityWatch, read_logprobs, with_finding
from detector.verdict import CLEAN, LoopClass, Verdict
from upstream.shapes import NOT_JSON

_ABSENT = (b"", b"null")


def positions_of(raw: msgspec.Raw) -> list[Position]:
    """The positions of a choice's `logprobs`: those of chats, or the older ones of completions."""
    if bytes(raw) in _ABSENT:
        return []
    try:
        data = msgspec.json.decode(raw)
    except NOT_JSON:
        return []
    if isinstance(data, dict) and isinstance(tops := data.get("top_logprobs"), list) and "tokens" in data:
        data = {**data, "top": [list(top.items()) if isinstance(top, dict) else [] for top in tops]}
    return read_logprobs(data)


def without_logprobs(data: bytes) -> bytes:
    """The reply or event with no probabilities in its choices."""
    if b'"logprobs"' not in data:
        return data
    body: Any = msgspec.json.decode(data)
    there = [c for c in body.get("choices") or () if isinstance(c, dict) and c.get("logprobs") is not None]
    for choice in there:
        choice["logprobs"] = None
    return msgspec.json.encode(body) if there else data


class StreamedOdds:
    """The probabilities of one running reply. Memory: one string a token."""

    def __init__(self, *, repetition_allowed: bool = False) -> None:
        self._watch = ProbabilityWatch()
        self._tokens: list[str] = []
        self._allowed = repetition_allowed

    def feed(self, raw: msgspec.Raw) -> Finding | None:
        """What is certain by now."""
        for position in positions_of(raw):
            self._tokens.append(position.token if isinstance(position.token, str) else "")
            self._watch.feed(position)
        return self._counts(self._watch.finding)

    def finish(self) -> Finding | None:
        return self._counts(self._watch.finish())

    def told(self, verdict: Verdict | None, finding: Finding) -> Verdict:
        """The verdict with what the probabilities show."""
        positions = [Position(token=token) for token in self._tokens[: finding.end]]
        return with_finding(verdict or CLEAN, finding, positions)

    def _counts(self, finding: Finding | None) -> Finding | None:
        wanted = self._allowed and finding is not None and finding.loop_class is not LoopClass.GARBLE
        return None if wanted else finding
