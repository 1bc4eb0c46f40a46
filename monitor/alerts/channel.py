"""A place where alerts go, what is sent there, and what became of one message."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

import msgspec

from monitor.alerts.alert import Severity

CALLED_BYTES = 1_000
MOST_CODE = 10**9
MARKS_BYTES = 12
"""Around a name that is called: `<at id=…></at>` is the longest."""
Language = Literal["zh", "en"]
ChannelKind = Literal["wecom", "dingtalk", "feishu", "slack", "webhook"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """One group robot or webhook. `url` and `secret` are secrets: never in a log, an error or a page.

    `users` and `mobiles` name who is on call there, as the robot's vendor knows them. `backup`: who tells it when this
    one cannot; "": the next channel of the list.
    """

    name: str
    kind: ChannelKind
    url: str
    secret: str = ""
    language: Language = "zh"
    users: tuple[str, ...] = ()
    mobiles: tuple[str, ...] = ()
    backup: str = ""

    def __repr__(self) -> str:
        return f"Channel({self.name!r}, {self.kind!r}, url=***)"


class Mention(StrEnum):
    """Who is called by name beside the message itself."""

    NOBODY = "nobody"
    ON_CALL = "on_call"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A rendered alert: Markdown, a title of one line, and the detail page. `data`: the notice, for machines."""

    title: str
    markdown: str
    link: str = ""
    more: str = "…"
    """What the link is called where the text had to be cut."""
    severity: Severity = Severity.INFO
    mention: Mention = Mention.NOBODY
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """One request to a robot, ready to go."""

    url: str
    content: bytes
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "application/json"})

    def __repr__(self) -> str:
        return f"Post({len(self.content)} bytes, url=***)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a robot said. `body`: the JSON object in it, if there is one."""

    status: int
    text: str
    body: Mapping[str, Any] = field(default_factory=dict)


class Result(StrEnum):
    """Classes of a robot's answer (ALERTS.md)."""

    OK = "ok"
    RETRY = "retry"  # network, 5xx, busy
    RATE = "rate"  # rest that robot
    SHRINK = "shrink"  # too long: cut and send once more
    CONFIG = "config"  # key, signature, keyword: no retry


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What became of one try. `rest_s`: how long this robot must not be asked; `posts`: how often it was asked."""

    result: Result
    detail: str = ""
    rest_s: float = 0.0
    posts: int = 1


ADDRESS = re.compile(r"https?://\S*", re.IGNORECASE)
"""A robot's own address is its secret, and an answer may repeat it."""
SAID_CHARS = 160
MOST_READ_CHARS = 2_000


def code_in(answer: Answer, *names: str) -> int | None:
    """The first of these fields that is there, if it is a whole number that a vendor would count its errors by."""
    code = next((answer.body[name] for name in names if name in answer.body), None)
    whole = isinstance(code, int) and not isinstance(code, bool) and abs(code) <= MOST_CODE
    return code if whole else None


def words_in(answer: Answer) -> str:
    """What the robot says beside its code, on one line and without addresses; nothing where it says nothing."""
    said = next((answer.body[name] for name in ("errmsg", "msg") if isinstance(answer.body.get(name), str)), "")
    plain = " ".join(ADDRESS.sub("…", said[:MOST_READ_CHARS]).split())
    shown = "".join(sign for sign in plain if sign.isprintable())
    return shown if len(shown) <= SAID_CHARS else shown[:SAID_CHARS] + "…"


def with_words(code: str, answer: Answer) -> str:
    """The code, then the robot's own words."""
    said = words_in(answer)
    return f"{code}: {said}" if said else code


def _why(said: str, answer: Answer, code: int | None, result: Result) -> str:
    if result is Result.OK:
        return ""
    return said if code is None else with_words(said, answer)  # without a code it is none of the robot's answers


def read_code(answer: Answer, code: int | None, results: Mapping[int, Result], word: str) -> Delivery:
    """The class of a code; one that is unknown is ours to mend. Success is HTTP 200 and the code for it, both."""
    said = "?" if code is None else str(code)
    result = Result.CONFIG if code is None else results.get(code, Result.CONFIG)
    if result is Result.OK and answer.status != 200:
        return Delivery(result=Result.CONFIG, detail=f"HTTP {answer.status}, {word} {said}")
    return Delivery(result=result, detail=_why(f"{word} {said}", answer, code, result))


def called_by(names: Iterable[str]) -> list[str]:
    """The first of the names, as many as leave room for a message: the robots count bytes, and nobody reads a roll."""
    room, found = CALLED_BYTES, list[str]()
    for name in names:
        room -= len(name.encode("utf-8", "replace")) + MARKS_BYTES
        if room < 0:
            break
        found.append(name)
    return found


def to_json(body: Mapping[str, Any]) -> bytes:
    """Compact, characters as themselves: the robots count bytes. Half a character, which is none, becomes a `?`."""
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
