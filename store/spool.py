"""Records on disk while the database is away: in order, bounded in bytes, kept across a restart.

A folder of segment files, one JSON line a record. A segment is deleted once all its records were taken, so a process
that dies in between hands some in twice; whoever takes them must not mind (rows have keys). When the bytes are spent,
new records are refused and the oldest stay: how an outage began says more than how it went on.
Synchronous: call it from a thread. A disk that is full or gone raises OSError and leaves no half record behind.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

SEGMENT_BYTES = 1_000_000
FOLDERS = 64
"""Processes that may share one `data_dir`; each takes a folder of its own."""


class Spool:
    """One process's folder under `root`; leftovers of processes that are gone are adopted. Raises OSError."""

    def __init__(self, root: Path, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self.folder, self._lock = _own_folder(root)
        _adopt(root, self.folder)
        self._sizes = {file: size for file in _segments(self.folder) if (size := file.stat().st_size)}
        self._next = 1 + max((int(file.stem) for file in self._sizes), default=0)
        self._writing: Path | None = None
        self.size_bytes = sum(self._sizes.values())
        """What lies on disk."""

    def __bool__(self) -> bool:
        return self.size_bytes > 0

    def append(self, records: Sequence[bytes]) -> int:
        """Write records (JSON without line breaks) at the end; how many fitted. Raises OSError: then none was kept."""
        room, fitting = self._max_bytes - self.size_bytes, 0
        for record in records:
            room -= len(record) + 1
            if room < 0:
                break
            fitting += 1
        if fitting:
            self._write(b"".join(record + b"\n" for record in records[:fitting]))
        return fitting

    def _write(self, lines: bytes) -> None:
        file = self._writing
        if file is None or file not in self._sizes or self._sizes[file] >= SEGMENT_BYTES:
            # A segment left by an earlier start may end in half a line: never written to again.
            file = self._writing = self.folder / f"{self._next:012d}.jsonl"
            self._next += 1
        size = self._sizes.get(file, 0)
        try:
            with file.open("ab") as handle:
                handle.write(lines)
                handle.flush()
                os.fsync(handle.fileno())
        except OSError:
            with contextlib.suppress(OSError):
                os.truncate(file, size)
            if not size:
                with contextlib.suppress(OSError):
                    file.unlink()
                self._writing = None
            raise
        self._sizes[file] = size + len(lines)
        self.size_bytes += len(lines)

    def oldest(self) -> tuple[Path, list[bytes]] | None:
        """The oldest segment and its whole records; None when nothing waits. Raises OSError."""
        if not self._sizes:
            return None
        file = min(self._sizes)
        if file == self._writing:
            self._writing = None  # what comes meanwhile begins a new segment
        whole, _, _half = file.read_bytes().rpartition(b"\n")
        return file, whole.split(b"\n") if whole else []

    def taken(self, file: Path) -> None:
        """All records of the segment are kept elsewhere now. Raises OSError."""
        file.unlink(missing_ok=True)
        self.size_bytes -= self._sizes.pop(file, 0)

    def close(self) -> None:
        """Let another process have the folder; its records stay."""
        os.close(self._lock)


def _segments(folder: Path) -> list[Path]:
    return sorted(file for file in folder.glob("*.jsonl") if file.stem.isdigit())


def _own_folder(root: Path) -> tuple[Path, int]:
    """The first folder that no living process holds."""
    for number in range(FOLDERS):
        folder = root / str(number)
        folder.mkdir(parents=True, exist_ok=True)
        lock = _locked(folder)
        if lock is not None:
            return folder, lock
    raise OSError(f"{root}: all {FOLDERS} folders are held by other processes")


def _locked(folder: Path) -> int | None:
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def _adopt(root: Path, own: Path) -> None:
    """Take over the segments of folders that nobody holds any more."""
    for folder, files in _left_behind(root, own):
        lock = _locked(folder)
        if lock is None:
            continue
        try:
            at = 1 + max((int(file.stem) for file in _segments(own)), default=0)
            for offset, file in enumerate(files):
                file.rename(own / f"{at + offset:012d}.jsonl")
        finally:
            os.close(lock)


def _left_behind(root: Path, own: Path) -> Iterator[tuple[Path, list[Path]]]:
    for folder in sorted(root.iterdir()):
        if folder != own and folder.is_dir() and (files := _segments(folder)):
            yield folder, files
