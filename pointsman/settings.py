"""File + environment → every room's policy, once.

In:  the text of pointsman.yaml and the environment.  Out: Settings, frozen and whole.
Raises SettingsError, which names every mistake with its line, and for an unknown key what was probably meant.
Nothing falls back quietly: a key that is not understood stops the start.
"""

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path as File
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    AnyHttpUrl,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from base.names import name_in, word_in
from breaker.policy import BreakerPolicy
from detector.policy import GatePolicy
from detector.profile import PROFILES, Profile, profile_of
from monitor.gray import GrayPolicy
from monitor.nightly.policy import NightlyPolicy
from monitor.policy import FeedbackPolicy, MonitorPolicy, RetentionPolicy
from pointsman.addresses import address_in, clash, parted
from pointsman.alert_settings import (
    AlertRouteSettings,
    AlertSettings,
    ChannelSettings,
    MaintenanceSettings,
    alert_contradictions,
)
from pointsman.mending import mended
from pointsman.mistakes import hint, mistakes_in
from pointsman.network import NetworkSettings
from pointsman.settings_console import ConsoleSettings
from pointsman.waits import Seconds, TimeoutSettings
from pointsman.yaml_lines import Lines, Mistake, Path, SettingsError, dotted, read
from router.policy import RouterPolicy
from router.price import Price
from router.topology import KNOWN_SCENES, Candidate, Logprobs, Model, Route, Topology, WhenDown
from upstream.call import Endpoint, Timeouts

__all__ = [
    "AlertRouteSettings",
    "AlertSettings",
    "ChannelSettings",
    "MaintenanceSettings",
    "Settings",
    "SettingsError",
    "load",
    "parse",
]

REDIS_SCHEMES = ("redis", "rediss", "unix", "valkey+unix", "redis+sentinel", "redis+cluster")
SQL_SCHEMES = ("sqlite", "postgresql", "postgres", "sqlite+aiosqlite", "postgresql+asyncpg")
Name = Annotated[str, Field(min_length=1, max_length=128), AfterValidator(word_in)]
Address = Annotated[str, AfterValidator(address_in)]
CALLED = ("/chat/completions", "/completions", "/embeddings")
"""What requests add to an endpoint's `base_url`."""
Capability = Literal["json_schema", "logprobs", "prefill", "repetition_penalty", "min_p", "stream_usage", "tools"]


class Part(BaseModel):
    """A part of the file: frozen, and refuses keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class EndpointSettings(Part):
    base_url: AnyHttpUrl
    """Ends before `/chat/completions`."""
    model: Annotated[str, Field(min_length=1, max_length=256), AfterValidator(name_in)]
    """The name the vendor knows."""
    api_key: SecretStr = SecretStr("")
    extra_body: dict[str, Any] = Field(default_factory=dict)
    """Defaults for fields that a request does not set."""

    @field_validator("base_url")
    @classmethod
    def _is_a_base(cls, url: AnyHttpUrl) -> AnyHttpUrl:
        if (tail := next((one for one in CALLED if (url.path or "").rstrip("/").endswith(one)), None)) is not None:
            raise ValueError(f"ends in {tail}, which is added to it: leave that off, as in https://host/v1")
        return url


class PriceSettings(Part):
    """Per million tokens, as vendors quote it."""

    input_per_million: Annotated[float, Field(ge=0, le=1e6)]
    output_per_million: Annotated[float, Field(ge=0, le=1e6)]
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = "CNY"
    """ISO 4217; costs are counted apart for each."""


class ModelSettings(Part):
    vendor: str = ""
    endpoints: Annotated[list[EndpointSettings], Field(min_length=1)]
    """The first is primary, the others the same vendor's spares."""
    capabilities: frozenset[Capability] = frozenset()
    price: PriceSettings | None = None
    """None: its cost is not counted."""
    retry_statuses: frozenset[Annotated[int, Field(ge=400, le=499)]] = frozenset()
    """Statuses of 400..499 by which this vendor tells of its own failures: another model is asked, and they count."""
    max_concurrent: Annotated[int | None, Field(ge=1, le=100_000)] = None
    """Attempts at once in the fleet, in equal parts; over it another candidate is asked. None: as many as come."""
    least_tokens: Annotated[int, Field(ge=0, le=64_000)] = 0
    """Tokens it needs before it says anything, for a model that reasons first: probes and suites ask for no fewer."""
    logprobs: Logprobs = Logprobs.NEVER
    """Which calls are asked for probabilities; needs the capability of that name."""

    @model_validator(mode="after")
    def _can_say(self) -> Self:
        if self.logprobs is not Logprobs.NEVER and "logprobs" not in self.capabilities:
            raise ValueError(f"logprobs: {self.logprobs.value} needs `logprobs` in capabilities")
        return self


class CandidateSettings(Part):
    model: Name
    weight: Annotated[float, Field(ge=0, le=1e6)] = 1.0
    """Relative within its priority; 0 takes it out."""
    priority: Annotated[int, Field(ge=0, le=1_000)] = 0
    """The lowest is tried first."""


class ProfileSettings(Part):
    """A profile of the detector with thresholds of one's own. Named like a scene, it holds for that scene's routes."""

    base: Literal["prose", "chat", "structured", "code", "verse", "list"] | None = None
    """What it starts from; none: the built-in one of its name, else the common thresholds."""
    trigram_repeat: Annotated[float | None, Field(ge=0.3, le=1)] = None
    char_repeat: Annotated[float | None, Field(ge=0.2, le=1)] = None
    context_sim: Annotated[float | None, Field(ge=0.5, le=1)] = None
    cycle_count: Annotated[int | None, Field(ge=3, le=100)] = None

    def profile(self, name: str) -> Profile:
        """The whole profile, under its own name."""
        base = profile_of(self.base or (name if name in PROFILES else None))
        return replace(base, name=name, **self.model_dump(exclude={"base"}, exclude_none=True))


class RouteSettings(Part):
    candidates: Annotated[list[CandidateSettings], Field(min_length=1)]
    scene: str = "chat"
    language: str | None = None
    profile: str | None = None
    phrases: bool = True
    when_down: WhenDown = WhenDown.PHRASE
    last_model: Literal["open", "keep_reduced"] = "open"
    """keep_reduced: the last model of the route is never opened, only reduced; each bad reply is still replaced."""
    splice: bool = True
    affinity: bool = False
    """Whether a session stays with its model as long as that may take traffic; a sick one is left at once."""
    anti_repetition: bool | None = None
    markdown: Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(max_length=50)] | None = None
    """Headings that a reply must hold, in Markdown whose code fences are closed; [] asks for the fences alone."""
    timeouts: TimeoutSettings = TimeoutSettings()
    deadline_s: Seconds = 120.0


class Settings(Part):
    """The whole file."""

    listen: Address = "127.0.0.1:8080"
    admin_listen: Address = "127.0.0.1:8081"
    data_dir: File = File("var")
    """Where SQLite and the first admin token's notice live."""
    redis_url: SecretStr | None = None
    """None: an embedded Valkey is started."""
    sql_url: SecretStr | None = None
    """None: SQLite in `data_dir`."""
    spool_max_bytes: Annotated[int, Field(ge=0, le=2**40)] = 256 * 2**20
    """Bytes of rows, and as many of transitions, that wait in `data_dir` while SQL is away; then the newest are dropped."""
    workers: Annotated[int, Field(ge=1, le=64)] = 1
    """Router processes on this machine behind one address; each is a replica like one on another machine."""
    time_scale: Annotated[float, Field(gt=0, le=10_000)] = 1.0
    """Divides every duration; only the demo uses anything but 1."""
    require_keys: bool = False
    """Whether callers need an app key even while none was made."""
    drain_s: Annotated[float, Field(ge=0, le=600)] = 30.0
    """After SIGTERM streams may go on for so long."""
    request_read_s: Annotated[float, Field(gt=0, le=600)] = 30.0
    """A request must have arrived whole within this time, or it is answered 408 and its connection closed."""
    traces: bool = False
    """Send OpenTelemetry spans of requests and attempts; needs the extra `otel`. Where to: the standard OTEL_* variables."""
    models: Annotated[dict[Name, ModelSettings], Field(min_length=1)]
    routes: Annotated[dict[Name, RouteSettings], Field(min_length=1)]
    profiles: dict[Name, ProfileSettings] = Field(default_factory=dict)
    """Thresholds of the detector for one kind of text; `pointsman calibrate` suggests them."""
    scenes: list[Name] = Field(default_factory=list)
    """Scenes beside the known ones."""
    router: RouterPolicy = RouterPolicy()
    breaker: BreakerPolicy = BreakerPolicy()
    gate: GatePolicy = GatePolicy()
    network: NetworkSettings = NetworkSettings()
    """The way to the vendors, to the identity provider and to the robots."""
    alerts: AlertSettings = AlertSettings()
    monitor: MonitorPolicy = MonitorPolicy()
    gray: GrayPolicy = GrayPolicy()
    feedback: FeedbackPolicy = FeedbackPolicy()
    retention: RetentionPolicy = RetentionPolicy()
    console: ConsoleSettings = ConsoleSettings()
    nightly: NightlyPolicy = NightlyPolicy()

    @field_validator("redis_url", "sql_url")
    @classmethod
    def _of_a_known_kind(cls, url: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        """The scheme alone is told in the error: the rest of the URL may hold a password."""
        known = REDIS_SCHEMES if info.field_name == "redis_url" else SQL_SCHEMES
        if url is not None and url.get_secret_value().partition("://")[0] not in known:
            raise ValueError(f"must begin with one of {', '.join(f'{scheme}://' for scheme in known)}")
        return url

    def sql(self) -> str:
        """The database URL; a secret."""
        if self.sql_url is not None:
            return self.sql_url.get_secret_value()
        return f"sqlite:///{self.data_dir.resolve() / 'pointsman.db'}"

    def keep_last(self) -> tuple[tuple[str, ...], ...]:
        """The models of each route whose last one stays in service."""
        return tuple(
            tuple(candidate.model for candidate in route.candidates if candidate.weight > 0)
            for route in self.routes.values()
            if route.last_model == "keep_reduced"
        )

    def address(self, *, admin: bool = False) -> tuple[str, int]:
        """Host and port: the operators' or the clients'."""
        return parted(self.admin_listen if admin else self.listen)

    def profile(self, named: str | None, scene: str) -> str | Profile | None:
        """What judges the texts of a route or scene: the profile named, else one of the scene's name, else none."""
        own = named or scene
        return self.profiles[own].profile(own) if own in self.profiles else named

    def topology(self) -> Topology:
        models = {name: _model(name, model) for name, model in self.models.items()}
        routes = {name: _route(name, r, self.profile(r.profile, r.scene)) for name, r in self.routes.items()}
        profiles = {name: own.profile(name) for name, own in self.profiles.items()}
        return Topology(models=models, routes=routes, scenes=KNOWN_SCENES | frozenset(self.scenes), profiles=profiles)


MENDED_TRIES = 4
"""A value whose removal uncovers another mistake is rare, and a chain of them rarer."""


def load(file: File, environment: Mapping[str, str]) -> Settings:
    """Read and check `file`. Raises SettingsError, OSError."""
    return parse(file.read_text(encoding="utf-8-sig"), environment, name=str(file))


def parse(text: str, environment: Mapping[str, str], *, name: str = "") -> Settings:
    """Check `text` whole. Raises SettingsError with all mistakes at once."""
    mistakes: list[Mistake] = []
    data, lines = read(text, environment, name, mistakes)
    if not isinstance(data, dict):
        raise SettingsError([Mistake(line=1, where="", what="must be a mapping: models, routes, …")], name)
    settings, wrong = _validated(data, lines)
    # What an unset variable left behind is one mistake, not two.
    known = {m.where for m in mistakes}
    mistakes += [m for m in wrong if m.where not in known]
    if settings is not None:
        mistakes += [m for m in _contradictions(settings, lines) if m.where not in known]
    if mistakes or settings is None:
        raise SettingsError(mistakes, name)
    return settings


def _validated(data: dict[str, Any], lines: Lines) -> tuple[Settings | None, list[Mistake]]:
    """The settings, without the values that were wrong, so that contradictions of the rest are found in the same go.

    None: what is missing or wrong cannot be done without.
    """
    mistakes: list[Mistake] = []
    for _ in range(MENDED_TRIES):
        try:
            return Settings.model_validate(data), mistakes
        except ValidationError as error:
            found = error.errors(include_url=False)
        named = {m.where for m in mistakes}
        fresh = mistakes_in(map(dict, found), lines, Settings)
        # What mending took out with a wrong value in it is not missing from the file.
        mistakes += [m for m in fresh if not any(_is_at(known, m.where) for known in named)]
        data = copy.deepcopy(data)
        if not sum([mended(data, e["loc"]) for e in found]):
            break
    return None, mistakes


def _is_at(known: str, where: str) -> bool:
    """Whether `known` is `where` or a part of it."""
    return known == where or known.startswith((f"{where}.", f"{where}["))


def _contradictions(settings: Settings, lines: Lines) -> Iterator[Mistake]:
    scenes = KNOWN_SCENES | set(settings.scenes)
    for name, route in settings.routes.items():
        path: Path = ("routes", name)
        seen: set[str] = set()
        for at, candidate in enumerate(route.candidates):
            here: Path = (*path, "candidates", at, "model")
            if candidate.model not in settings.models:
                what = f"no model named {candidate.model!r}{hint(candidate.model, settings.models)}"
                yield Mistake(line=lines.of(here), where=dotted(here), what=what)
            if candidate.model in seen:
                yield Mistake(line=lines.of(here), where=dotted(here), what=f"{candidate.model!r} is listed twice")
            seen.add(candidate.model)
        if all(candidate.weight == 0 for candidate in route.candidates):
            yield Mistake(line=lines.of(path), where=dotted(path), what="no candidate has a weight above 0")
        if route.scene not in scenes:
            here = (*path, "scene")
            what = f"unknown scene {route.scene!r}{hint(route.scene, scenes)}; new ones go under `scenes`"
            yield Mistake(line=lines.of(here), where=dotted(here), what=what)
        profiles = {*PROFILES, *settings.profiles}
        if route.profile is not None and route.profile not in profiles:
            here = (*path, "profile")
            what = f"unknown profile {route.profile!r}{hint(route.profile, profiles)}; new ones go under `profiles`"
            yield Mistake(line=lines.of(here), where=dotted(here), what=what)
        if route.when_down is WhenDown.PHRASE and not route.phrases and "when_down" in route.model_fields_set:
            here = (*path, "when_down")
            yield Mistake(line=lines.of(here), where=dotted(here), what="phrase contradicts `phrases: false`")
    yield from _nightly_contradictions(settings, lines)
    yield from alert_contradictions(settings.alerts, lines)
    if clash(settings.address(), settings.address(admin=True)):
        what = f"is the same address as `listen` ({settings.listen}): name another port"
        yield Mistake(line=lines.of(("admin_listen",)), where="admin_listen", what=what)


def _nightly_contradictions(settings: Settings, lines: Lines) -> Iterator[Mistake]:
    """Names under `nightly` that no model or vendor has: a limit or a price that is never applied."""
    nightly, vendors = settings.nightly, {m.vendor or name for name, m in settings.models.items()}
    named: list[tuple[Path, str, Iterable[str]]] = [
        *((("nightly", "models", at), name, settings.models) for at, name in enumerate(nightly.models)),
        *((("nightly", "prices", name), name, settings.models) for name in nightly.prices),
        *((("nightly", "vendors", name), name, vendors) for name in nightly.vendors),
    ]
    for path, name, known in named:
        if name not in known:
            kind = "vendor" if path[1] == "vendors" else "model"
            what = f"no {kind} named {name!r}{hint(name, known)}"
            yield Mistake(line=lines.of(path), where=dotted(path), what=what)


def _model(name: str, settings: ModelSettings) -> Model:
    endpoints = tuple(
        Endpoint(
            base_url=str(e.base_url).rstrip("/"),
            upstream_model=e.model,
            api_key=e.api_key.get_secret_value(),
            extra_body=e.extra_body or None,
        )
        for e in settings.endpoints
    )
    return Model(
        name=name,
        vendor=settings.vendor,
        endpoints=endpoints,
        capabilities=frozenset(settings.capabilities),
        logprobs=settings.logprobs,
        price=Price(**settings.price.model_dump()) if settings.price is not None else None,
        retry_statuses=settings.retry_statuses,
        max_concurrent=settings.max_concurrent,
        least_tokens=settings.least_tokens,
    )


def _route(name: str, settings: RouteSettings, profile: str | Profile | None) -> Route:
    return Route(
        name=name,
        candidates=tuple(Candidate(model=c.model, weight=c.weight, priority=c.priority) for c in settings.candidates),
        scene=settings.scene,
        language=settings.language,
        profile=profile,
        phrases=settings.phrases,
        when_down=settings.when_down,
        splice=settings.splice,
        affinity=settings.affinity,
        anti_repetition=settings.anti_repetition,
        markdown=tuple(settings.markdown) if settings.markdown is not None else None,
        timeouts=Timeouts(**settings.timeouts.model_dump()),
        deadline_s=settings.deadline_s,
    )
