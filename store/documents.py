"""Records as JSON documents and back.

Raises StoreUnavailable for a document that cannot be read: it is as good as gone, and the caller keeps what it knew.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from breaker.ports import StoreUnavailable

T = TypeVar("T")

_encoder = msgspec.json.Encoder()
_decoders: dict[type, msgspec.json.Decoder[Any]] = {}


def to_json(record: object) -> bytes:
    """One record as JSON, its fields by name."""
    return _encoder.encode(record)


def from_json(kind: type[T], document: bytes) -> T:
    """The record in `document`. Unknown fields are skipped, missing ones take defaults, so that releases may mix."""
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgspec.json.Decoder(kind)
    try:
        return decoder.decode(document)  # type: ignore[no-any-return]
    except msgspec.MsgspecError as error:
        raise StoreUnavailable(f"unreadable {kind.__name__}: {error}") from error


def understood(kind: type[T], document: bytes) -> T | None:
    """The record in `document`, None where it is none: for one of many, which must not be lost with it."""
    try:
        return from_json(kind, document)
    except StoreUnavailable:
        return None


def all_understood(kind: type[T], documents: Iterable[bytes | None]) -> list[T]:
    """The records among `documents`; what is none is passed over."""
    found = (understood(kind, document) for document in documents if document is not None)
    return [record for record in found if record is not None]


def plain(record: object) -> Any:
    """The record as lists, dicts, strings and numbers, for a JSON column."""
    return msgspec.to_builtins(record)


def from_row(kind: type[T], row: Mapping[Any, Any]) -> T:
    """The record in a row of a table; columns the record does not know are skipped."""
    # Column names are a subclass of str, which msgspec does not take for a key.
    values = {str(name): value for name, value in row.items()}
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise StoreUnavailable(f"unreadable {kind.__name__}: {error}") from error
