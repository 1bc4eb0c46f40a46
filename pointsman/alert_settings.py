"""The `alerts` part of pointsman.yaml: channels, who hears what, when nobody is disturbed, and the messages' templates."""

from collections.abc import Iterator, Mapping
from pathlib import Path as File
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    AnyHttpUrl,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    field_validator,
    model_validator,
)

from base.names import word_in
from base.reasons import reason_in
from monitor.alerts.alert import AlertKind, Severity
from monitor.alerts.channel import Channel, ChannelKind, Language
from monitor.alerts.mute import Window
from monitor.alerts.policy import AlertPolicy
from monitor.alerts.routing import Routing, Rule
from monitor.cron import zone_of
from pointsman.yaml_lines import Lines, Mistake, Path, dotted

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
ChannelName = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[^/]+$"), AfterValidator(word_in)]
Clock = Annotated[str, Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$")]
Person = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[^<>]+$"), AfterValidator(word_in)]


class AlertPart(BaseModel):
    """A part of the file: frozen, and refuses keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ChannelSettings(AlertPart):
    """One group robot or webhook."""

    kind: ChannelKind
    url: SecretStr
    secret: SecretStr = SecretStr("")
    """Signs each message: DingTalk, Feishu, webhook. WeCom and Slack have theirs in the URL."""
    language: Language | None = None
    """None: that of `alerts`."""
    users: list[Person] = Field(default_factory=list)
    """Who is on call there, by the vendor's user ids: called when nobody takes a CRITICAL alert."""
    mobiles: list[Person] = Field(default_factory=list)
    """The same by telephone number: WeCom and DingTalk."""
    backup: ChannelName | None = None
    """Tells what this one cannot. None: the next channel of the list."""

    @model_validator(mode="after")
    def _plausible(self) -> Self:
        if not self.url.get_secret_value().startswith(("http://", "https://")):
            raise ValueError("url must start with http:// or https://")
        if self.secret.get_secret_value() and self.kind in ("wecom", "slack"):
            raise ValueError(f"a {self.kind} robot has no secret beside its url; remove `secret`")
        if self.mobiles and self.kind not in ("wecom", "dingtalk"):
            raise ValueError(f"a {self.kind} robot cannot call telephone numbers; name `users`")
        return self


class AlertRouteSettings(AlertPart):
    """The first rule that matches says where an alert goes; an empty field matches everything."""

    kinds: list[AlertKind] = Field(default_factory=list)
    models: list[str] = Field(default_factory=list)
    """Names or globs."""
    severities: list[Severity] = Field(default_factory=list)
    channels: list[ChannelName]
    """Empty: not told, only shown in the console."""


class MaintenanceSettings(AlertPart):
    """A window every week in which alerts wait. One that ends before it starts runs past midnight."""

    days: Annotated[list[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]], Field(min_length=1)]
    start: Clock
    end: Clock
    timezone: str = ""
    """Empty: `monitor.timezone`."""
    models: list[str] = Field(default_factory=list)
    """Names or globs; empty: all."""
    kinds: list[AlertKind] = Field(default_factory=list)
    reason: Annotated[str, Field(max_length=200), AfterValidator(reason_in)]

    @field_validator("timezone")
    @classmethod
    def _zone(cls, name: str) -> str:
        if name:
            zone_of(name)
        return name

    def window(self, zone: str) -> Window:
        return Window(
            days=frozenset(DAYS.index(day) for day in self.days),
            start=_minutes(self.start),
            end=_minutes(self.end),
            timezone=self.timezone or zone,
            models=tuple(self.models),
            kinds=tuple(self.kinds),
            reason=self.reason,
        )


class AlertSettings(AlertPart):
    channels: dict[ChannelName, ChannelSettings] = Field(default_factory=dict)
    language: Language = "zh"
    routes: list[AlertRouteSettings] = Field(default_factory=list)
    """Empty: everything goes to every channel."""
    maintenance: list[MaintenanceSettings] = Field(default_factory=list)
    link_base: AnyHttpUrl | None = None
    """Where people reach the console: messages link there. None: no links."""
    link_secret: SecretStr = SecretStr("")
    """Signs the links that acknowledge. Empty: a key of this process's `data_dir`; several monitors need one in common."""
    templates: File | None = None
    """Folder with `zh/` and `en/` whose files stand for the packaged templates of the same name."""
    policy: AlertPolicy = AlertPolicy()

    def all_channels(self) -> tuple[Channel, ...]:
        return tuple(
            Channel(
                name=name,
                kind=one.kind,
                url=one.url.get_secret_value(),
                secret=one.secret.get_secret_value(),
                language=one.language or self.language,
                users=tuple(one.users),
                mobiles=tuple(one.mobiles),
                backup=one.backup or "",
            )
            for name, one in self.channels.items()
        )

    def routing(self) -> Routing:
        rules = [
            Rule(
                kinds=tuple(one.kinds),
                models=tuple(one.models),
                severities=tuple(one.severities),
                channels=tuple(one.channels),
            )
            for one in self.routes
        ]
        backups = {name: one.backup for name, one in self.channels.items() if one.backup}
        return Routing(tuple(self.channels), rules, backups)

    def base(self) -> str:
        return str(self.link_base).rstrip("/") if self.link_base is not None else ""


def alert_contradictions(alerts: AlertSettings, lines: Lines) -> Iterator[Mistake]:
    """Channels that are named and do not exist, and two names for one robot."""
    known, urls = alerts.channels, dict[str, str]()
    for name, channel in known.items():
        path: Path = ("alerts", "channels", name)
        if channel.backup is not None and (channel.backup not in known or channel.backup == name):
            yield _wrong((*path, "backup"), lines, f"must name another channel{_known(known)}")
        other = urls.setdefault(channel.url.get_secret_value(), name)
        if other != name:
            # Both would count their own budget and back each other up in vain.
            yield _wrong((*path, "url"), lines, f"is the robot of channel {other!r} as well")
    for at, route in enumerate(alerts.routes):
        for name in route.channels:
            if name not in known:
                what = f"no channel named {name!r}{_known(known)}"
                yield _wrong(("alerts", "routes", at, "channels"), lines, what)
    if alerts.templates is not None and not alerts.templates.is_dir():
        yield _wrong(("alerts", "templates"), lines, "is no folder")


def _wrong(path: Path, lines: Lines, what: str) -> Mistake:
    return Mistake(line=lines.of(path), where=dotted(path), what=what)


def _known(channels: Mapping[str, ChannelSettings]) -> str:
    return f"; known: {', '.join(channels)}" if channels else ""


def _minutes(clock: str) -> int:
    hours, minutes = clock.split(":")
    return int(hours) * 60 + int(minutes)
