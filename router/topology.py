"""Which models there are and which routes lead to them: records built once from the settings, then only read."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from breaker.share import RouteCandidate as Candidate
from detector.profile import Profile
from fallback_phrases.catalog import SILENT_SCENES
from router.price import Price
from upstream.call import Endpoint, Timeouts

__all__ = ["Candidate", "Logprobs", "Model", "Route", "Topology", "WhenDown"]

DEFAULT_TIMEOUTS = Timeouts()
KNOWN_SCENES = frozenset({"chat", "qa", "copywriting", "cockpit", "structured", "auxiliary"})


class WhenDown(StrEnum):
    """What a client gets when every model failed hard or is out of service."""

    PHRASE = "phrase"
    ERROR = "error"  # an honest 503 with Retry-After


class Logprobs(StrEnum):
    """Which calls of a model are asked for their probabilities, so that the signals of SPEC 2.6 can judge them."""

    NEVER = "never"
    SAMPLE = "sample"  # the router policy's `logprobs_sample_ratio` of them
    ALWAYS = "always"


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A logical target the breaker counts. The first endpoint is primary, the others the same vendor's spares."""

    name: str
    vendor: str
    endpoints: tuple[Endpoint, ...]
    capabilities: frozenset[str] = frozenset()
    """Of: json_schema, logprobs, prefill, repetition_penalty, min_p, stream_usage, tools."""
    price: Price | None = None
    """None: its cost is not counted."""
    retry_statuses: frozenset[int] = frozenset()
    """Of 400..499: statuses by which this vendor tells of its own failures, not of the caller's mistakes."""
    logprobs: Logprobs = Logprobs.NEVER
    """They multiply what a stream costs."""
    max_concurrent: int | None = None
    """Attempts at once in the fleet, in equal parts; over it another candidate is asked. None: as many as come."""
    least_tokens: int = 0
    """A reply of fewer tokens says nothing about it: it reasons first. Probes and suites ask for no fewer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The name apps put in `model`."""

    name: str
    candidates: tuple[Candidate, ...]
    scene: str = "chat"
    language: str | None = None
    """Of phrases and closing lines; None: guessed from the last user message."""
    profile: str | Profile | None = None
    """Detector profile; None: found from the text."""
    phrases: bool = True
    """Whether a phrase may answer at all; without, the client gets 502 or 503."""
    when_down: WhenDown = WhenDown.PHRASE
    splice: bool = True
    """Whether a stream that looped may go on with another model."""
    affinity: bool = False
    """Whether a session stays with its model as long as that may take traffic; a sick one is left at once."""
    anti_repetition: bool | None = None
    """Append the anti-repetition rules; None: for prose scenes yes, for structured calls no."""
    markdown: tuple[str, ...] | None = None
    """Headings that a reply must hold, its code fences closed; None: its form is not looked at."""
    timeouts: Timeouts = DEFAULT_TIMEOUTS
    deadline_s: float = 120.0

    @property
    def speaks(self) -> bool:
        """Whether a phrase answers where no model may; else the client gets a 503."""
        return self.phrases and self.when_down is WhenDown.PHRASE and self.scene not in SILENT_SCENES


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """All models and routes by name."""

    models: Mapping[str, Model]
    routes: Mapping[str, Route]
    scenes: frozenset[str] = field(default=KNOWN_SCENES)
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    """Detector profiles of one's own; one named like a scene holds for the requests of that scene."""

    def __post_init__(self) -> None:
        for route in self.routes.values():
            unknown = [c.model for c in route.candidates if c.model not in self.models]
            if unknown:
                raise ValueError(f"route {route.name!r} lists unknown models: {', '.join(unknown)}")
        bare = [m.name for m in self.models.values() if not m.endpoints]
        if bare:
            raise ValueError(f"models without an endpoint: {', '.join(bare)}")

    def with_tools(self, route: Route) -> Route:
        """The route as a call with tools may take it: by models that declare `tools`, where any of its models does.

        A model without would refuse the call, which would count as the caller's own mistake and end it there.
        """
        able = tuple(c for c in route.candidates if "tools" in self.models[c.model].capabilities)
        whole = len(able) == len(route.candidates) or not any(c.weight > 0 for c in able)
        return route if whole else replace(route, candidates=able)

    def route(self, name: str) -> Route | None:
        return self.routes.get(name)

    def knows_scene(self, scene: str) -> bool:
        return scene in self.scenes or any(route.scene == scene for route in self.routes.values())
