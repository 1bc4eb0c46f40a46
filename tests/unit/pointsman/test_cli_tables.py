"""Tables of the command line: what a person copies into the next command stands there whole."""

import pytest
from rich.table import Table

from pointsman.cli.tables import print_table

ID = "pm-" + "0123456789abcdef" * 2


def test_an_id_is_not_cut_in_a_pipe_of_eighty_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    table = Table("at", "request", "app", "route", "answered by", "user got", "attempts", "took", "status")
    table.add_row("11-30 10:00:00", ID, "my-application", "assistant", "vendor-a", "none", "1", "12 ms", "200")
    print_table(table)
    out = capsys.readouterr().out
    assert ID in out and "vendor-a" in out and "…" not in out
