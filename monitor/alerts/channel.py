"""A place where alerts go, and what became of one message there."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """One group robot. `url` and `secret` are secrets: never in a log, an error or a page."""

    name: str
    kind: Literal["wecom", "dingtalk"]
    url: str
    secret: str = ""

    def __repr__(self) -> str:
        return f"Channel({self.name!r}, {self.kind!r}, url=***)"


class Result(StrEnum):
    """Classes of a robot's answer (ALERTS.md)."""

    OK = "ok"
    RETRY = "retry"  # network, 5xx, busy
    RATE = "rate"  # rest that robot
    SHRINK = "shrink"  # too long: cut and send once more
    CONFIG = "config"  # key, signature, keyword: no retry


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What became of one try. `rest_s`: how long this robot must not be asked."""

    result: Result
    detail: str = ""
    rest_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A rendered alert: Markdown, and a title of one line."""

    title: str
    markdown: str
