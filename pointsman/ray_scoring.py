"""Stored replies judged on a Ray cluster: the same lines in, the same results out, in order, on many machines.

Ray Data does what it is good at: hands out pieces of the file, keeps the order, works again what a lost machine had.
The file must be readable under the same path on every machine, and Pointsman installed there. Raises RayMissing.
"""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from detector.batch import LineResult, score_line

PIECE_BYTES = 4 << 20
"""About a thousand replies of 4 KB: half a second of work, long against handing a piece over, short against the whole."""


class RayMissing(Exception):
    """Ray is not installed here; the text says how it comes."""


def pieces(file: Path, size: int = PIECE_BYTES) -> Iterator[dict[str, Any]]:
    """Where each piece of whole lines lies: `path`, `offset` and `length` in bytes, `number` of its first line."""
    with file.open("rb") as source:
        offset, number = 0, 1
        while part := source.read(size):
            part += source.readline()  # to the end of the line that the piece cut
            yield {"path": str(file.resolve()), "offset": offset, "length": len(part), "number": number}
            offset += len(part)
            number += part.count(b"\n")


def score_piece(piece: dict[str, Any]) -> dict[str, Any]:
    """Judge one piece, wherever this runs."""
    with Path(piece["path"]).open("rb") as source:
        source.seek(piece["offset"])
        lines = source.read(piece["length"]).split(b"\n")
    numbered = enumerate(lines, piece["number"])
    return {"results": [asdict(score_line(number, line)) for number, line in numbered if line.strip()]}


def score_file(file: Path, address: str | None = None) -> Iterator[LineResult]:
    """Judge the lines of `file` on the cluster at `address` (None: a Ray of this machine's own), in order."""
    try:
        import ray
        from ray.data import DataContext, from_items
    except ImportError as error:
        raise RayMissing("Ray is not installed: pip install 'pointsman[ray]'") from error
    started_here = not ray.is_initialized()
    if started_here:
        ray.init(address=address, log_to_driver=False, include_dashboard=False, logging_level="error")
    context = DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    try:
        whole = list(pieces(file))
        if not whole:
            return
        for row in from_items(whole, override_num_blocks=len(whole)).map(score_piece).iter_rows():
            yield from (LineResult(**result) for result in row["results"])
    finally:
        if started_here:
            ray.shutdown()
