"""`pointsman admin`: who may operate, and how far. Works on the database itself; a running service notices in a second.

The very first token is made at the first start (pointsman/admin_token.py); these are for people and programs by name.
"""

from pathlib import Path

import typer
from rich.table import Table

from base.clock import SystemClock
from console.access import Role
from pointsman.cli.check import DEFAULT_FILE
from pointsman.cli.local_sql import with_sql
from pointsman.cli.names import name_or_exit
from pointsman.cli.tables import print_table
from store.sql_admin_tokens import SqlAdminTokens

app = typer.Typer(no_args_is_help=True, help="Admin tokens with roles: create, list, revoke.")
ConfigOption = typer.Option(DEFAULT_FILE, "--config", "-c", help="The configuration file.")


@app.command()
def create(
    name: str = typer.Argument(help="Whose token it is; the audit log names it."),
    role: Role = typer.Option(Role.VIEWER, help="viewer looks; operator acts on models and routes; admin: all."),
    config: Path = ConfigOption,
) -> None:
    """Make a token. It is shown now and never again; only its hash is kept."""
    name = name_or_exit("NAME", name)
    now_s = SystemClock().now_s()
    made = with_sql(config, lambda engine: SqlAdminTokens(engine).create(name, role, by="cli", now_s=now_s))
    typer.echo(made[1])


@app.command("list")
def list_tokens(revoked: bool = typer.Option(False, help="Revoked ones too."), config: Path = ConfigOption) -> None:
    """Show the tokens by their last characters."""
    table = Table("id", "name", "role", "token ends in", "revoked")
    for row in with_sql(config, lambda engine: SqlAdminTokens(engine).tokens(revoked=revoked)):
        table.add_row(row.id, row.name, row.role.value, row.hint, "yes" if row.revoked_at else "")
    print_table(table)


@app.command()
def revoke(id: str = typer.Argument(help="As `list` shows it."), config: Path = ConfigOption) -> None:
    """Refuse a token from now on, and end the sessions opened with it."""
    now_s = SystemClock().now_s()
    if not with_sql(config, lambda engine: SqlAdminTokens(engine).revoke(id, now_s)):
        typer.echo(f"no token {id} that is not revoked already", err=True)
        raise typer.Exit(1)
    typer.echo(f"{id} is revoked")
