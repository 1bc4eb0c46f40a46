"""The console below a path of the clients' address: nothing of it answers there unless asked for."""

from typing import Any

import pytest

from pointsman.one_port import OnePort
from pointsman.settings_console import ConsoleSettings


def named(name: str, seen: list[str]) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(name)

    return app


@pytest.mark.parametrize(
    ("path", "who"),
    [
        ("/ops", "operators"),
        ("/ops/", "operators"),
        ("/ops/admin/models", "operators"),
        ("/opsy", "clients"),
        ("/v1/models", "clients"),
        ("/admin/models", "clients"),
        ("/", "clients"),
        ("/login", "clients"),
    ],
)
async def test_only_what_is_below_the_prefix_is_the_operators(path: str, who: str) -> None:
    seen: list[str] = []
    settings = ConsoleSettings(prefix="/ops", on_data_port=True)
    app = OnePort(named("clients", seen), named("operators", seen), lambda: settings)
    await app({"type": "http", "path": path}, None, None)  # type: ignore[arg-type]
    assert seen == [who]


async def test_switched_off_by_a_reload_it_is_gone() -> None:
    seen: list[str] = []
    app = OnePort(named("clients", seen), named("operators", seen), lambda: ConsoleSettings(prefix="/ops"))
    await app({"type": "http", "path": "/ops"}, None, None)  # type: ignore[arg-type]
    assert seen == ["clients"]
