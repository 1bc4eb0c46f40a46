"""Any table as CSV: UTF-8 with the mark that spreadsheets want, and no cell that a spreadsheet would run."""

import csv
import io
from collections.abc import Iterable, Sequence

from starlette.responses import Response

RUNS = ("=", "+", "-", "@", "\t", "\r")


def csv_answer(name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> Response:
    """A download called `pointsman-NAME.csv`."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(header)
    writer.writerows([_cell(value) for value in row] for row in rows)
    headers = {"content-disposition": f'attachment; filename="pointsman-{name}.csv"'}
    return Response(out.getvalue().encode("utf-8-sig"), media_type="text/csv; charset=utf-8", headers=headers)


def _cell(value: object) -> object:
    if isinstance(value, str) and value.startswith(RUNS):
        return "'" + value  # a cell that begins so is a formula to a spreadsheet (CSV injection)
    return "" if value is None else value
