"""A group of commands of which each is imported when it is called, not to be listed.

In:  a table, command name → Lazy (where the command is, and its line in the list).  Out: a class for `typer.Typer(cls=…)`.
A list, a mistyped name and completion are answered from the table alone.
"""

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command


@dataclass(frozen=True, slots=True, kw_only=True)
class Lazy:
    """`where`: "module:attribute", a function or a typer.Typer. `help`: word for word what that says of itself."""

    where: str
    help: str


class LazyGroup(TyperGroup):
    """Lists the commands of `table`, and loads the one that is called."""

    table: ClassVar[Mapping[str, Lazy]] = {}

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = Loaded(self.table)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Enough of a command to be listed; None: there is none of that name."""
        lazy = self.table.get(cmd_name)
        return lazy and TyperCommand(cmd_name, help=lazy.help)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called, whole."""
        name, listed, rest = super().resolve_command(ctx, args)
        return name, None if listed is None else self.commands[str(listed.name)], rest


class Loaded(MutableMapping[str, Any]):
    """The commands themselves: looking at the names imports nothing, taking one imports its module."""

    def __init__(self, table: Mapping[str, Lazy]) -> None:
        self._table = table
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = load(name, self._table[name].where)
        return self._loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:
        raise TypeError("commands are added to the table")

    def __delitem__(self, name: str) -> None:
        raise TypeError("commands are taken out of the table")

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


def load(name: str, where: str) -> Any:
    """The command at `where` ("module:attribute") as it is when it hangs in the group under `name`."""
    module, _, attribute = where.partition(":")
    found = getattr(import_module(module), attribute)
    around = typer.Typer(add_completion=False)
    around.callback()(_nothing)  # with it this is a group, however few commands it has
    if isinstance(found, typer.Typer):
        around.add_typer(found, name=name)
    else:
        around.command(name)(found)
    group: Any = get_command(around)
    return group.commands[name]


def _nothing() -> None: ...
