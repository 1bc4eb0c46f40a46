"""`pointsman run`: the real service when there is a pointsman.yaml, else the service in front of demo models."""

import signal
import sys

import typer

from pointsman.cli.serve import INTERRUPTED, run_to_end, serve
from pointsman.demo.children import ChildFailed
from pointsman.demo.run import config_here, run_demo
from pointsman.logs import set_up
from pointsman.monitoring import Role


def run() -> None:
    """Run what there is; Ctrl-C leaves no process behind."""
    if (config := config_here()) is not None:
        serve(config, Role.ALL)
        return
    set_up("WARNING")
    # Until the server drains on SIGTERM by itself, it ends us as Ctrl-C does: children are stopped.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        run_to_end(run_demo(live=sys.stdout.isatty()))
    except ChildFailed as error:
        typer.echo(f"pointsman: {error}", err=True)
        raise typer.Exit(1) from error
    except typer.Exit as ended:
        # Ctrl-C while the demo still starts is as clean an end as later, when the service drains: no error for make to tell.
        if ended.exit_code != INTERRUPTED:
            raise
