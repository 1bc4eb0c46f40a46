"""Records as documents and back."""

import pytest

from breaker.levels import Level
from breaker.ports import StoreUnavailable
from breaker.snapshot import Snapshot
from store.documents import from_json, from_row, to_json


def test_a_newer_releases_field_is_skipped_and_a_missing_one_takes_its_default() -> None:
    document = b'{"model":"a","epoch":3,"level":"open","of_the_future":[1]}'
    assert from_json(Snapshot, document) == Snapshot(model="a", epoch=3, level=Level.OPEN)


@pytest.mark.parametrize("document", [b"", b"[]", b'{"model":1}', b'{"model":"a","level":"upside down"}', b"\xff"])
def test_an_unreadable_document_is_as_good_as_gone(document: bytes) -> None:
    with pytest.raises(StoreUnavailable):
        from_json(Snapshot, document)


def test_an_unreadable_row_is_as_good_as_gone() -> None:
    with pytest.raises(StoreUnavailable):
        from_row(Snapshot, {"model": None})


def test_a_document_names_its_fields() -> None:
    assert b'"level":"open"' in to_json(Snapshot(model="a", level=Level.OPEN))
