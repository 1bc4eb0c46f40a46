"""`pointsman reset MODEL`: back to healthy with empty windows."""

import json
from urllib.parse import quote

import typer

from pointsman.cli.asking import TokenOption, UrlOption, asked


def reset(
    model: str = typer.Argument(help="The model, as `status` lists it."),
    reason: str = typer.Option(..., help="For the audit log; two characters or more, or one Chinese character."),
    actor: str = typer.Option("", "--as", "--actor", help="Who you are, where the token is shared."),
    url: str = UrlOption,
    token: str = TokenOption,
    as_json: bool = typer.Option(False, "--json", help="The model's state as JSON."),
) -> None:
    """Start a model afresh. Exit 1: refused, and nothing was changed."""
    body = {"reason": reason} | ({"actor": actor} if actor else {})
    told = asked("POST", url, f"/admin/models/{quote(model)}/reset", token, body)
    if as_json:
        typer.echo(json.dumps(told, ensure_ascii=False, indent=2))
    else:
        typer.echo(f"{told['model']} starts afresh: {told['effective']}")
