"""Any table as CSV: UTF-8 with the mark that spreadsheets want, and no cell that a spreadsheet would run.

A page names the tables it shows as sheets; the same address with `csv=NAME` hands one of them out whole.
"""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from starlette.responses import Response

RUNS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What a spreadsheet takes for the beginning of a formula, full-width signs in East Asian ones among them."""
CSV_ROWS = 10_000
"""So many rows at most of a table that the page shows in pieces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """One table: plain values, moments in seconds since the epoch, ratios 0..1. `rows` is run through only when asked for."""

    columns: tuple[str, ...]
    rows: Iterable[Sequence[object]]


def records(found: Iterable[object], *names: str) -> Sheet:
    """A sheet of these fields of some records."""
    return Sheet(columns=names, rows=([getattr(one, name) for name in names] for one in found))


def mappings(found: Iterable[Mapping[str, object]], *names: str) -> Sheet:
    """A sheet of these keys; one that is missing is an empty cell."""
    return Sheet(columns=names, rows=([one.get(name) for name in names] for one in found))


def csv_answer(name: str, sheet: Sheet) -> Response:
    """A download called `pointsman-NAME.csv`."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(sheet.columns)
    writer.writerows([_cell(value) for value in row] for row in sheet.rows)
    headers = {"content-disposition": f'attachment; filename="pointsman-{name}.csv"'}
    return Response(out.getvalue().encode("utf-8-sig"), media_type="text/csv; charset=utf-8", headers=headers)


def _cell(value: object) -> object:
    match value:
        case None:
            return ""
        case Enum():
            return _cell(value.value)
        case Mapping():
            return _cell(json.dumps(dict(value), ensure_ascii=False, default=str))
        case tuple() | list():
            return _cell(" ".join(str(one) for one in value))
        case str() if value.startswith(RUNS):
            return "'" + value  # a cell that begins so is a formula to a spreadsheet (CSV injection)
    return value
