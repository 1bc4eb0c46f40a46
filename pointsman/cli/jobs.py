"""`pointsman jobs`: what runs by the clock, when it ran last and runs next; or run one now."""

from typing import Any

import typer
from rich.table import Table

from pointsman.cli.asking import JsonOption, TokenOption, UrlOption, asked, lists, tell
from pointsman.cli.tables import print_table
from pointsman.cli.words import moment

app = typer.Typer(invoke_without_command=True, help="Clock jobs: list them, or run one now.")


@app.command()
def run(
    name: str = typer.Argument(help="The job, as listed."),
    reason: str = typer.Option("by hand", help="For the audit log."),
    url: str = UrlOption,
    token: str = TokenOption,
    as_json: bool = JsonOption,
) -> None:
    """Ask the leading monitor to run a job now; it begins within ten seconds."""
    told = asked("POST", url, f"/admin/jobs/{name}/run", token, {"reason": reason, "actor": "cli"})
    said = f"{told['job']} {told['slot']} is asked for; `pointsman jobs history {name}` tells how it went"
    tell(as_json, told, lambda: typer.echo(said))


@app.command()
def history(
    name: str = typer.Argument(help="The job, as listed."),
    limit: int = typer.Option(20, min=1, max=1000),
    url: str = UrlOption,
    token: str = TokenOption,
    as_json: bool = JsonOption,
) -> None:
    """The last runs of one job."""
    out = Table("slot", "state", "tries", "began", "ended", "what happened")
    runs = asked("GET", url, f"/admin/jobs/{name}?limit={limit}", token)["runs"]
    for row in runs:
        ended = moment(row["ended_at"])
        out.add_row(row["slot"], row["state"], str(row["tries"]), moment(row["started_at"]), ended, row["detail"])
    tell(as_json, runs, lambda: print_table(out))


def table(rows: list[dict[str, Any]]) -> Table:
    """One line per job."""
    out = Table("job", "when", "last run", "went", "next run")
    for row in rows:
        zone, last = row["timezone"], row["last"]
        went = "never ran" if last is None else f"{last['state']}{_why(last)}"
        began = moment(last["started_at"], zone) if last else ""
        out.add_row(row["job"], f"{row['cron']} {zone}", began, went, moment(row["next_at"], zone))
    return out


def _why(run: dict[str, Any]) -> str:
    return f" ({run['detail']})" if run["detail"] else ""


lists(
    app,
    "List every job with its last and next run.",
    "/admin/jobs",
    "jobs",
    lambda told: print_table(table(told["jobs"])),
)
