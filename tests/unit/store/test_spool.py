"""The spool on disk: order, bound, restarts, a full disk."""

import errno
from pathlib import Path

import pytest

from store import spool as module
from store.spool import Spool


def drained(spool: Spool) -> list[bytes]:
    out = []
    while (segment := spool.oldest()) is not None:
        out += segment[1]
        spool.taken(segment[0])
    return out


def test_records_come_back_in_their_order_and_once(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 10_000)
    assert not spool
    assert spool.append([b"1", b"2"]) == 2
    assert spool.append([b"3"]) == 1
    assert spool
    assert drained(spool) == [b"1", b"2", b"3"]
    assert not spool
    assert spool.size_bytes == 0
    assert spool.oldest() is None


def test_what_comes_while_the_oldest_is_handed_in_is_kept_apart(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 10_000)
    spool.append([b"1"])
    segment = spool.oldest()
    assert segment is not None
    spool.append([b"2"])
    spool.taken(segment[0])
    assert drained(spool) == [b"2"]


def test_over_its_bytes_the_newest_are_refused_and_the_oldest_stay(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 10)
    assert spool.append([b"aaa", b"bbb", b"ccc"]) == 2
    assert spool.append([b"d"]) == 1
    assert spool.append([b"e"]) == 0
    assert drained(spool) == [b"aaa", b"bbb", b"d"]
    assert spool.append([b"fff"]) == 1


def test_segments_are_cut_and_deleted_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SEGMENT_BYTES", 4)
    spool = Spool(tmp_path, 10_000)
    for number in range(5):
        spool.append([b"%d%d" % (number, number)])
    assert len(list((tmp_path / "0").glob("*.jsonl"))) == 3
    assert drained(spool) == [b"00", b"11", b"22", b"33", b"44"]


def test_a_process_that_starts_after_finds_what_was_left_but_no_half_record(tmp_path: Path) -> None:
    first = Spool(tmp_path, 10_000)
    first.append([b"1", b"2"])
    first.close()
    with (tmp_path / "0" / "000000000001.jsonl").open("ab") as torn:
        torn.write(b'{"half')
    second = Spool(tmp_path, 10_000)
    second.append([b"3"])
    assert drained(second) == [b"1", b"2", b"3"]


def test_two_processes_keep_apart_and_the_survivor_adopts(tmp_path: Path) -> None:
    first, second = Spool(tmp_path, 10_000), Spool(tmp_path, 10_000)
    first.append([b"1"])
    second.append([b"2"])
    assert drained(first) == [b"1"]
    second.close()
    first.close()
    third = Spool(tmp_path, 10_000)
    assert drained(third) == [b"2"]


def test_a_full_disk_is_an_error_and_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "0").mkdir()
    (tmp_path / "0" / "000000000001.jsonl").symlink_to("/dev/full")
    spool = Spool(tmp_path, 10_000)
    with pytest.raises(OSError) as raised:
        spool.append([b"1"])
    assert raised.value.errno == errno.ENOSPC
    assert not spool
    assert spool.append([b"2"]) == 1
    assert drained(spool) == [b"2"]
