"""The live view of `make run` in a terminal of the usual width."""

import io

from rich.console import Console

from pointsman.demo.live import empty


def test_a_models_name_was_cut_in_a_terminal_of_80_columns() -> None:
    table, why = empty("demo"), "One loop in a burst, Repeats over 10 minutes, Hard failures in a row"
    table.add_row("scripted-spare", "L3 open", "100%", "1234", "1234", "12 min", why)
    out = io.StringIO()
    Console(file=out, width=80).print(table)
    text = out.getvalue()
    assert "scripted-spare" in text and "L3 open" in text and "…" not in text
