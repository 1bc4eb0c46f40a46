"""The command line: what each word does is in the module of that name, which is imported when the word is used."""

import typer

from pointsman.cli.lazy import Lazy, LazyGroup

COMMANDS = {
    "run": Lazy(where="pointsman.cli.run:run", help="Run what there is; Ctrl-C leaves no process behind."),
    "demo": Lazy(
        where="pointsman.cli.demo:demo",
        help="Play a model's illness and recovery in about three minutes. Exit 1: it went otherwise.",
    ),
    "serve": Lazy(
        where="pointsman.cli.serve:serve",
        help="Run the service until SIGTERM or Ctrl-C; then streams may finish. SIGHUP: read the configuration again.",
    ),
    "status": Lazy(
        where="pointsman.cli.status:status",
        help="Show level, mode, shares and the 10-minute rate. Exit 1: the service did not tell.",
    ),
    "models": Lazy(
        where="pointsman.cli.models:models", help="Show models. Exit 1: no such model, or the service did not tell."
    ),
    "force": Lazy(
        where="pointsman.cli.force:force",
        help="Set the mode of a model. Exit 1: refused, and nothing was changed. From forced_open, auto goes by probes; `reset` goes straight back.",
    ),
    "reset": Lazy(
        where="pointsman.cli.reset:reset", help="Start a model afresh. Exit 1: refused, and nothing was changed."
    ),
    "requests": Lazy(
        where="pointsman.cli.requests:requests",
        help="Find requests. Exit 1: nothing of that id, or the service did not tell.",
    ),
    "check": Lazy(
        where="pointsman.cli.check:check",
        help="Check FILE whole; every mistake is named with its line. Exit 0: it would start. 2: it would not.",
    ),
    "migrate": Lazy(
        where="pointsman.cli.serve:migrate", help="Bring the database to the newest version; safe while others start."
    ),
    "score": Lazy(
        where="pointsman.cli.score:score_command",
        help="Tell whether a reply loops or babbles, and show where. Exit code 1 when it does.",
    ),
    "export": Lazy(
        where="pointsman.cli.export:export",
        help="Write rows of a span, oldest first. Exit 1: the database does not answer. 2: not a moment, or no such folder.",
    ),
    "simulate": Lazy(
        where="pointsman.cli.simulate:simulate",
        help="Play a scenario and print its timeline: the ratios against the three lines, the level and the share.",
    ),
    "eval": Lazy(
        where="pointsman.cli.eval:evaluate",
        help="Ask models the prompts that lure them into repeating themselves, and say how they did.",
    ),
    "replay": Lazy(
        where="pointsman.cli.replay:replay",
        help="Judge stored replies by other rules: verdicts that change, false alarms by scene, what the breaker would have done.",
    ),
    "mark": Lazy(
        where="pointsman.cli.replay:mark",
        help="Say whether a verdict was right: what is marked is the labelled set of `calibrate --since`.",
    ),
    "calibrate": Lazy(
        where="pointsman.cli.calibrate:calibrate",
        help="Suggest thresholds per scene, and show what each would cost in false alarms and bring in loops found.",
    ),
    "ack": Lazy(
        where="pointsman.cli.alerts:ack",
        help="Take an alert: it is repeated and escalated no more; its end is told all the same.",
    ),
    "silence": Lazy(
        where="pointsman.cli.alerts:silence",
        help="Mute what matches for a while. The end of what was announced is told all the same.",
    ),
    "baseline": Lazy(where="pointsman.cli.baseline:app", help="Baselines of the nightly evaluation: pin, show, runs."),
    "report": Lazy(where="pointsman.cli.report:app", help="Daily reports: list, show, render."),
    "anomalies": Lazy(
        where="pointsman.cli.anomalies:app", help="The anomaly list: models people complain of; take one off by hand."
    ),
    "findings": Lazy(
        where="pointsman.cli.findings:findings",
        help="What the hourly watch found, with the figures each was decided on. Exit 1: the service did not tell. 2: not a moment.",
    ),
    "alerts": Lazy(where="pointsman.cli.alerts:app", help="Alerts: list, take, silence; test the channels."),
    "keys": Lazy(where="pointsman.cli.keys:app", help="App keys: create, list, revoke."),
    "admin": Lazy(where="pointsman.cli.admin:app", help="Admin tokens with roles: create, list, revoke."),
    "switch": Lazy(where="pointsman.cli.switch:app", help="Switches over routes and the fleet: list them, set one."),
    "jobs": Lazy(where="pointsman.cli.jobs:app", help="Clock jobs: list them, or run one now."),
    "gray": Lazy(where="pointsman.cli.gray:app", help="Gray releases: list them, start and move one, read its report."),
}


class Commands(LazyGroup):
    table = COMMANDS


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=True,
    help="Routes LLM calls and takes looping models off.",
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"pointsman {version('pointsman')}")
        raise typer.Exit


@app.callback()
def about(
    _told: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Routes LLM calls across models and takes a model off the line when it is alive but talks rubbish."""
