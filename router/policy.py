"""What the router obeys: limits of a request, of the ladder and of what is kept."""

from pydantic import BaseModel, ConfigDict, Field


class RouterPolicy(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    max_body_bytes: int = Field(default=10_000_000, ge=1_000, le=200_000_000)
    """Larger bodies get 413 before they are read whole."""
    max_in_flight: int = Field(default=1_000, ge=1, le=100_000)
    """Requests at once in one worker; the next gets 429."""
    max_attempts: int = Field(default=4, ge=1, le=8)
    """Calls to upstreams per request: primary endpoint, its spare, two other models."""
    max_switches: int = Field(default=2, ge=0, le=6)
    """Changes of model per request; a splice counts as one (set by the user's documents)."""
    min_attempt_s: float = Field(default=0.2, ge=0.0, le=60.0)
    """With less than this left of the deadline no further rung is tried: no model answers that fast."""
    backoff_cap_s: float = Field(default=2.0, ge=0.0, le=60.0)
    """Longest growth of the pause before a vendor that was too busy (429, 503, 529) is asked again; 0: only the jitter."""
    backoff_jitter_s: float = Field(default=0.5, ge=0.0, le=10.0)
    """The pause gets a random part from 0.1 s to this, so that many requests do not come back at the same moment."""
    clean_head_chars: int = Field(default=200, ge=0, le=100_000)
    """Every rung looped: a clean head at least this long is sent with a closing line instead of the phrase."""
    keepalive_s: float = Field(default=15.0, gt=0.0, le=300.0)
    """Silence in a stream after which a comment line is sent; common proxies cut idle connections at 30-60 s."""
    excerpt_chars: int = Field(default=500, ge=0, le=500)
    """Characters kept of a failed reply round its onset; 0 keeps no text at all."""
    live_permit_ratio: float = Field(default=0.01, ge=0.0, le=0.01)
    """Chance that a request tries a recovering model, if a permit is free (BREAKER.md, Coming back)."""
    shadow_probes: bool = True
    """Whether copies of answered requests may probe a recovering model, under the fleet's permits; nothing is stored."""
    shadow_at_once: int = Field(default=2, ge=1, le=100)
    """Such copies under way in one process."""
    forbidden_rest_s: float = Field(default=300.0, ge=0.0, le=86_400.0)
    """How long an endpoint rests after 401, 402, 403, 404: our key or model name must be mended first."""
    guard_auxiliary: bool = False
    """Whether calls marked auxiliary (titles, summaries) are guarded too."""
    structured_temperature: float | None = Field(default=0.2, ge=0.0, le=2.0)
    """Of a structured call that names none; `null`: the model's own, for models that take no other (reasoning models of OpenAI's)."""
    top_p_floor: float = Field(default=0.5, gt=0.0, le=1.0)
    """A retry after a loop lowers `top_p` by a tenth, not below this."""
    repetition_penalty_cap: float = Field(default=1.3, ge=1.0, le=2.0)
    """A retry after a loop raises `repetition_penalty` by 0.1, not above this: more makes words wrong."""
    logprobs_sample_ratio: float = Field(default=0.05, ge=0.0, le=1.0)
    """Part of the calls of a model with `logprobs: sample` that are asked for probabilities: enough for a trend, cheap."""
