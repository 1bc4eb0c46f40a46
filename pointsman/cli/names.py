"""A name as a person gives it to a command: whose key, whose token."""

import typer

from base.names import name_in

MOST_CHARS = 128


def name_or_exit(argument: str, given: str) -> str:
    """The name without blanks round it. Tells what is wrong with `argument` and exits (2)."""
    try:
        name = name_in(given)
        if not 1 <= len(name) <= MOST_CHARS:
            raise ValueError(f"needs 1 to {MOST_CHARS} characters")
    except ValueError as error:
        typer.echo(f"pointsman: {argument}: {error}", err=True)
        raise typer.Exit(2) from None
    return name
