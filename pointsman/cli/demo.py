"""`pointsman demo`: the story in compressed time, told as a timeline."""

import sys

import typer

from base.clock import SystemClock
from pointsman.cli.serve import run_to_end
from pointsman.demo.story import Interrupted, WentOtherwise, play
from pointsman.logs import set_up

INTERRUPTED = 130
"""What a shell makes of Ctrl-C."""


def demo(
    scale: float = typer.Option(32.0, min=1, max=120, help="How many times faster than life."),
    stay: bool = typer.Option(False, "--stay", help="Keep the pages open when the story is over, until Ctrl-C."),
) -> None:
    """Play a model's illness and recovery in about three minutes. Exit 1: it went otherwise."""
    set_up("CRITICAL")
    clock = SystemClock()
    began_s = clock.monotonic_s()
    try:
        run_to_end(play(scale=scale, tell=_line, stay=stay))
    except WentOtherwise as error:
        _line(f"✗ the story went otherwise: {error}")
        raise typer.Exit(1) from error
    except Interrupted:
        raise typer.Exit(INTERRUPTED) from None
    if not stay:
        _line(f"the story went as told, in {clock.monotonic_s() - began_s:.0f} seconds")


def _line(words: str) -> None:
    sys.stdout.write(words + "\n")
    sys.stdout.flush()
