"""Tables on a terminal and in a pipe: names and ids come whole, since a person copies them into the next command."""

import sys

from rich.console import Console
from rich.table import Table

PIPE_COLUMNS = 240
"""A pipe has no edge: wide enough that no row is broken."""


def print_table(table: Table) -> None:
    """Print `table`; what does not fit a terminal's width goes on in the next line, nothing is cut."""
    for column in table.columns:
        column.overflow = "fold"
    console = Console()
    if not sys.stdout.isatty():
        console.width = max(console.width, PIPE_COLUMNS)
    console.print(table)
