"""What somebody says of a reply, as it comes in: one item or a support desk's batch, checked field by field.

In:  the bytes of a POST /v1/feedback.  Out: Said records.  Pure.
Raises BadRequest for what is no JSON object, BadFeedback (422) for a field, naming it and the fix.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

import msgspec

from base.feedback import FeedbackKind, FeedbackSource
from router.errors import BadFeedback, BadRequest, RouterError

_E = TypeVar("_E", bound=StrEnum)
MAX_ITEMS = 200
MAX_NOTE_CHARS = 1_000
MAX_NAME_CHARS = 256
WITHIN_S = 600.0
"""How far from the moment a person names the request may lie: people remember to the nearest ten minutes."""
MAX_WITHIN_S = 86_400.0
FIELDS = ("request_id", "user", "kind", "source", "note", "app", "at", "within_s", "session")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One item. Either `request_id`, or `at` (seconds since the epoch) and `session` say which reply is meant."""

    user: str
    kind: FeedbackKind
    source: FeedbackSource
    request_id: str = ""
    note: str = ""
    app: str = ""
    at: float | None = None
    within_s: float = WITHIN_S
    session: str = ""


def parse_feedback(raw: bytes) -> tuple[list[Said | RouterError], bool]:
    """The items, and whether they came as a batch; in a batch a wrong item is an error in its place."""
    if not raw.strip():
        raise BadRequest("the body is empty: send one UTF-8 JSON object")
    try:
        body = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest(f"the body is not valid JSON: {error}; send one UTF-8 JSON object") from error
    if not isinstance(body, dict):
        raise BadRequest("the body must be a JSON object")
    if "items" not in body:
        return [_said(body, "")], False
    items = body["items"]
    if len(body) > 1:
        other = next(name for name in body if name != "items")
        raise BadFeedback(f"`{other}` belongs into each item of `items`", param=other)
    if not isinstance(items, list) or not 1 <= len(items) <= MAX_ITEMS:
        raise BadFeedback(f"`items` must be a list of 1 to {MAX_ITEMS} objects", param="items")
    return [_or_error(item, f"items[{at}]") for at, item in enumerate(items)], True


def _or_error(item: Any, path: str) -> Said | RouterError:
    try:
        return _said(item, path)
    except BadFeedback as error:
        return error


def _said(item: Any, path: str) -> Said:
    prefix = f"{path}." if path else ""
    if not isinstance(item, dict):
        raise BadFeedback(f"`{path}` must be an object", param=path)
    if unknown := [name for name in item if name not in FIELDS]:
        raise BadFeedback(f"unknown field `{prefix}{unknown[0]}`; known: {', '.join(FIELDS)}", param=unknown[0])
    read = _Reader(item, prefix)
    said = Said(
        user=read.name("user", needed=True),
        kind=read.word("kind", FeedbackKind),
        source=read.word("source", FeedbackSource, FeedbackSource.USER),
        request_id=read.name("request_id"),
        note=read.name("note", most=MAX_NOTE_CHARS),
        app=read.name("app", most=128),
        at=read.moment("at"),
        within_s=read.seconds("within_s"),
        session=read.name("session"),
    )
    if bool(said.request_id) == (said.at is not None):
        what = f"`{prefix}request_id` (the reply's `x-request-id`), or as support `{prefix}user` and `{prefix}at`"
        raise BadFeedback(f"say which reply is meant: {what}", param=f"{prefix}request_id")
    if said.source is FeedbackSource.USER and (said.at is not None or said.app):
        name = "at" if said.at is not None else "app"
        raise BadFeedback(f'`{prefix}{name}` is for support: set `{prefix}source` to "support"', param=prefix + name)
    return said


class _Reader:
    """The fields of one item by kind. Raises BadFeedback."""

    def __init__(self, item: Mapping[str, Any], prefix: str) -> None:
        self._item, self._prefix = item, prefix

    def name(self, name: str, *, needed: bool = False, most: int = MAX_NAME_CHARS) -> str:
        value = self._item.get(name)
        if value is None and not needed:
            return ""
        if not isinstance(value, str) or len(value) > most or (needed and not value.strip()):
            raise self._wrong(name, f"must be a text of {'1 to' if needed else 'at most'} {most} characters")
        return value

    def word(self, name: str, kind: type[_E], default: _E | None = None) -> _E:
        value = self._item.get(name)
        if value is None and default is not None:
            return default
        try:
            return kind(str(value))
        except ValueError:
            known = ", ".join(kind)
            raise self._wrong(name, f"must be one of: {known}") from None

    def seconds(self, name: str) -> float:
        value = self._item.get(name, WITHIN_S)
        if not _is_number(value) or not 0 < value <= MAX_WITHIN_S:
            raise self._wrong(name, f"must be seconds above 0, at most {MAX_WITHIN_S:g}")
        return float(value)

    def moment(self, name: str) -> float | None:
        value = self._item.get(name)
        if value is None:
            return None
        if _is_number(value) and 0 < value < 1e11:
            return float(value)
        try:
            moment = datetime.fromisoformat(value)
        except (TypeError, ValueError):
            moment = None
        # Without its zone a moment may be off by half a day, and somebody else's reply be blamed.
        if moment is None or moment.tzinfo is None:
            raise self._wrong(name, "must be ISO 8601 with its zone (2025-03-01T09:30:00+08:00) or seconds since 1970")
        return moment.timestamp()

    def _wrong(self, name: str, what: str) -> BadFeedback:
        return BadFeedback(f"`{self._prefix}{name}` {what}", param=self._prefix + name)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
