"""What we ask a model, free of any vendor; a probe makes one too.

`body` is the client's JSON object as it came, read-only and shared: whoever changes a field copies the top level.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from detector.profile import Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    body: Mapping[str, Any]
    stream: bool
    language: str = "en"
    profile: str | Profile | None = None
    """Detector profile; None: found from the text."""
    previous: str | None = None
    """The conversation's previous reply, for restatement."""
    repetition_allowed: bool = False
    guarded: bool = True
    model: str = ""
    vendor: str = ""
    """By which the gate's policy says whether it is guarded; empty: as everybody."""
    auxiliary: bool = False
    """A title or a summary of the history: guarded only if the gate's policy says so."""
    watch_logprobs: bool = False
    """Judge the probabilities too, where the reply carries them."""
    strip_logprobs: bool = False
    """Take them out of what is handed on: the router asked for them, not the client."""
    path: str = "/chat/completions"
    """Appended to the endpoint's `base_url`; what is no chat and no completion is carried, not judged."""


LIMITS = ("max_tokens", "max_completion_tokens")
SLOWEST_PER_S = 20.0
"""Tokens a second that a model is given time for, where it needs many of them before it answers."""


def with_room(body: Mapping[str, Any], least_tokens: int) -> Mapping[str, Any]:
    """`body` with its limits of tokens raised to `least_tokens`; itself where they allow for so many, or there is none."""
    short = {name: least_tokens for name in LIMITS if isinstance(body.get(name), int) and body[name] < least_tokens}
    return {**body, **short} if short else body


def with_time(timeouts: "Timeouts", least_tokens: int) -> "Timeouts":
    """`timeouts` in which a reply of so many tokens can come from a slow model: else its thinking would be a hard failure."""
    return replace(timeouts, total_s=max(timeouts.total_s, least_tokens / SLOWEST_PER_S))


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One HTTP peer that serves a model. `base_url` ends before `/chat/completions`; `api_key` is a secret."""

    base_url: str
    upstream_model: str
    api_key: str = ""
    extra_body: Mapping[str, Any] | None = None
    """Defaults for fields that the call does not set."""

    def __repr__(self) -> str:
        return f"Endpoint({self.base_url!r}, {self.upstream_model!r}, api_key=***)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Seconds. `first_text_s` and `idle_s` are reset by non-empty deltas only; `total_s` is what is left of the deadline."""

    connect_s: float = 5.0
    first_text_s: float = 30.0
    idle_s: float = 20.0
    total_s: float = 120.0
