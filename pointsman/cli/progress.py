"""A bar on a terminal's standard error, gone when it is full; nothing at all in a pipe or a log, not even an empty line."""

from rich.console import Console
from rich.progress import Progress, ProgressColumn


def bar(*columns: ProgressColumn) -> Progress:
    """To be used as a context. Standard output stays the command's own."""
    console = Console(stderr=True)
    return Progress(
        *columns, console=console, transient=True, redirect_stdout=False, disable=not console.is_interactive
    )
