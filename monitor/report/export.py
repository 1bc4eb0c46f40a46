"""The report's figures as CSV, one row for each model and figure, and as JSON.

Pure. Words stay in the product's own names, so that a spreadsheet of one day fits that of the next in any language.
"""

import csv
import io
import json
from collections.abc import Iterator

from monitor.report.document import ModelPart, Report, to_document

COLUMNS = ("day", "run", "model", "group", "name", "n", "k", "ratio")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def as_json(report: Report) -> str:
    return json.dumps(to_document(report), ensure_ascii=False, indent=2)


def as_csv(report: Report) -> str:
    """Rows of COLUMNS; with a byte order mark, or a spreadsheet takes UTF-8 for its own code page."""
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\r\n")
    write.writerow(COLUMNS)
    for model in report.models:
        for group, name, n, k, ratio in _rows(model):
            write.writerow(tuple(map(_safe, (report.day, report.run_id, model.model, group, name, n, k, ratio))))
    return "\ufeff" + out.getvalue()


def _rows(model: ModelPart) -> Iterator[tuple[str, str, int, int, float]]:
    total = model.total
    yield "total", model.standing, total.n, total.k, round(total.ratio, 6)
    if model.baseline is not None:
        yield "baseline", model.baseline_run, model.baseline.n, model.baseline.k, round(model.baseline_rate, 6)
    for name, count in sorted(model.classes.items()):
        yield "class", name, total.n, count, round(count / total.n, 6) if total.n else 0.0
    for group, parts in (("lure", model.lures), ("language", model.languages)):
        for name, part in sorted(parts.items()):
            yield group, name, part.n, part.k, round(part.ratio, 6)
    found = model.json
    for name, count in (("parsed", found.parsed), ("schema", found.valid), ("content", found.right)):
        if found.asked:
            yield "json", name, found.asked, count, round(count / found.asked, 6)
    for name, count in sorted(model.faults.items()):
        yield "fault", name, model.asked, count, round(count / model.asked, 6) if model.asked else 0.0


def _safe(value: object) -> object:
    """A spreadsheet runs a cell that begins like a formula; a model's name is not ours."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
