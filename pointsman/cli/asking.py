"""How a command asks a running monitor: the address, the token, and what its refusals mean for the exit code."""

import json
import os
from collections.abc import Callable
from typing import Any

import httpx
import typer

from pointsman.admin_token import VARIABLE

UrlOption: str = typer.Option("http://127.0.0.1:8081", help="The operators' address.")
TokenOption: str = typer.Option("", help=f"Admin token; else the environment's {VARIABLE}.")
JsonOption: bool = typer.Option(
    False, "--json", help="As JSON: the service's own words, seconds since the epoch, ratios 0..1."
)
TIMEOUT_S = 30


def tell(as_json: bool, told: Any, shown: Callable[[], object]) -> None:
    """Print what was told: as JSON for a program, else as `shown` prints it for a person."""
    if as_json:
        typer.echo(json.dumps(told, ensure_ascii=False, indent=2))
    else:
        shown()


def passed_on(context: typer.Context, url: str, token: str, as_json: bool) -> bool:
    """Whether a command of the group follows; what was said before its name then holds for it too: `jobs --url U run NAME`."""
    if context.invoked_subcommand is None:
        return False
    context.default_map = {context.invoked_subcommand: {"url": url, "token": token, "as_json": as_json}}
    return True


def asked(
    method: str, url: str, path: str, token: str, body: dict[str, Any] | None = None, *, language: str = ""
) -> dict[str, Any]:
    """What the service answered, its sentences in `language`. Tells why not and exits: 2 without a token, 1 for a refusal or no answer."""
    if not (token := token or os.environ.get(VARIABLE, "")):
        typer.echo(f"pointsman: an admin token is needed: --token or {VARIABLE}", err=True)
        raise typer.Exit(2)
    headers = {"authorization": f"Bearer {token}"} | ({"accept-language": language} if language else {})
    try:
        answer = httpx.request(method, f"{url.rstrip('/')}{path}", headers=headers, json=body, timeout=TIMEOUT_S)
        told: Any = answer.json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        typer.echo(f"pointsman: {url} does not answer as the service would: {error}", err=True)
        raise typer.Exit(1) from error
    if not 200 <= answer.status_code < 300:
        refusal = told.get("error") if isinstance(told, dict) else None
        why = refusal.get("message") if isinstance(refusal, dict) else answer.status_code
        typer.echo(f"pointsman: {why}", err=True)
        raise typer.Exit(1)
    return dict(told)
