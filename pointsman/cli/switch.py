"""`pointsman switch`: for one route or all, judge without acting, do not judge, or ask no model; with an end."""

from typing import Any

import typer
from rich.table import Table

from base.switch import SwitchMode
from pointsman.cli.asking import JsonOption, TokenOption, UrlOption, asked, lists, tell
from pointsman.cli.tables import print_table

app = typer.Typer(invoke_without_command=True, help="Switches over routes and the fleet: list them, set one.")
NONE = "no switch is set"


@app.command("set")
def set_one(
    mode: SwitchMode = typer.Argument(help="observe judges and does not act; bypass does not judge; normal ends it."),
    reason: str = typer.Option(..., "--reason", "-r", help="Why; stands in the audit log."),
    route: str = typer.Option("", help="The route; without it the whole fleet."),
    minutes: float = typer.Option(60.0, min=0.1, help="Then everything is as before by itself."),
    url: str = UrlOption,
    token: str = TokenOption,
    as_json: bool = JsonOption,
) -> None:
    """Set a switch; every router obeys within about a second."""
    body: dict[str, Any] = {"mode": mode.value, "route": route, "minutes": minutes, "reason": reason}
    told = asked("POST", url, "/admin/switches", token, body)
    where = f"route {told['route']}" if told["route"] else "the whole fleet"
    until = "" if mode is SwitchMode.NORMAL else f" for {minutes:g} minutes"
    tell(as_json, told, lambda: typer.echo(f"{where}: {told['mode']}{until}"))


def _table(told: dict[str, Any]) -> Table:
    out = Table("where", "mode", "minutes left", "who", "why")
    for row in told["switches"]:
        left = f"{max(0.0, row['until'] - told['now']) / 60:.0f}"
        out.add_row(row["route"] or "the whole fleet", row["mode"], left, row["actor"], row["reason"])
    return out


lists(
    app,
    "List the switches in force.",
    "/admin/switches",
    "switches",
    lambda told: print_table(_table(told)) if told["switches"] else typer.echo(NONE),
)
