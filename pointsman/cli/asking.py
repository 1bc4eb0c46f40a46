"""How a command asks a running monitor: the address, the token, and what its refusals mean for the exit code."""

import json
import os
import re
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
ADDRESS = "give the operators' address (`admin_listen`, http://127.0.0.1:8081 unless set)"
TIMEOUT_S = 30
_SENT = re.compile("[!-~]+")
"""Signs that a header's value may hold, blanks apart."""


class Told(dict[str, Any]):
    """What was answered; a field that the service always sends and this answer has not tells and exits with 1."""

    def __init__(self, fields: dict[str, Any], url: str) -> None:
        super().__init__(fields)
        self._url = url

    def __missing__(self, field: str) -> Any:
        typer.echo(
            f"pointsman: {self._url} is another kind of server (its answer has no {field!r}): {ADDRESS}", err=True
        )
        raise typer.Exit(1)


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


def lists(app: typer.Typer, about: str, path: str, field: str, shown: Callable[[Told], object]) -> None:
    """The group of commands by its name alone, and its `list`, tell what GET `path` answers: of it `field` as JSON, else as
    `shown` prints it."""

    def list_(url: str = UrlOption, token: str = TokenOption, as_json: bool = JsonOption) -> None:
        told = asked("GET", url, path, token)
        tell(as_json, told[field], lambda: shown(told))

    def listed(
        context: typer.Context, url: str = UrlOption, token: str = TokenOption, as_json: bool = JsonOption
    ) -> None:
        if not passed_on(context, url, token, as_json):
            list_(url, token, as_json)

    list_.__doc__ = listed.__doc__ = f"{about} Exit 1: the service did not tell."
    app.command("list")(list_)
    app.callback(invoke_without_command=True)(listed)


def asked(
    method: str, url: str, path: str, token: str, body: dict[str, Any] | None = None, *, language: str = ""
) -> Told:
    """What the service answered, its sentences in `language`. Tells why not and exits: 2 without a token, 1 for a refusal or no answer."""
    given = "--token" if token else f"the environment's {VARIABLE}"
    if not (token := token or os.environ.get(VARIABLE, "")):
        typer.echo(f"pointsman: an admin token is needed: --token or {VARIABLE}", err=True)
        raise typer.Exit(2)
    if not _SENT.fullmatch(token):
        # The client would refuse it as well, with the token in its words.
        typer.echo(
            f"pointsman: {given} holds a blank, a line break or another sign that no token has: give the token alone",
            err=True,
        )
        raise typer.Exit(2)
    _check_address(url)
    headers = {"authorization": f"Bearer {token}"} | ({"accept-language": language} if language else {})
    try:
        answer = httpx.request(method, f"{url.rstrip('/')}{path}", headers=headers, json=body, timeout=TIMEOUT_S)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        typer.echo(f"pointsman: {url} does not answer: {error}", err=True)
        raise typer.Exit(1) from error
    told = _object(answer)
    if told is not None and 200 <= answer.status_code < 300:
        return Told(told, url)
    refusal = None if told is None else told.get("error")
    typer.echo(f"pointsman: {_refused(answer, url, refusal, given)}", err=True)
    raise typer.Exit(1)


def _check_address(url: str) -> None:
    if not url.lower().startswith(("http://", "https://")):
        whole = "" if "://" in url else f": --url http://{url}"
        typer.echo(f"pointsman: --url {url}: must begin with http:// or https://{whole}", err=True)
        raise typer.Exit(2)


def _object(answer: httpx.Response) -> dict[str, Any] | None:
    """The JSON object that was answered; None for anything else."""
    try:
        told: Any = answer.json()
    except ValueError:
        return None
    return told if isinstance(told, dict) else None


def _refused(answer: httpx.Response, url: str, refusal: Any, given: str) -> str:
    if not isinstance(refusal, dict) or "message" not in refusal:
        kind = answer.headers.get("content-type", "no content type").partition(";")[0]
        return f"{url} is another kind of server (HTTP {answer.status_code}, {kind}): {ADDRESS}"
    if answer.status_code == 401:
        return f"the admin token from {given} is not valid at {url}: it is mistyped, revoked, or another service's"
    if refusal.get("code") == "not_found":
        return f"{refusal['message']}; {ADDRESS}"
    return str(refusal["message"])
