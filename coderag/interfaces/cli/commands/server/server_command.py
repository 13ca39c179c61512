"""``coderag server``: the group, which imports its commands when it is used."""

from collections.abc import MutableMapping
from typing import Any, Final

import typer

from coderag.interfaces.cli.typer_ext.light_group import LightGroup, show_help_without_command


class ServerGroup(LightGroup):
    """A group whose commands are imported when they are asked for: they would slow every other command down."""

    _commands: MutableMapping[str, Any]
    _is_loaded = False

    @property
    def commands(self) -> MutableMapping[str, Any]:
        """The commands by their names."""
        if not self._is_loaded:
            self._is_loaded = True
            from typer.main import get_command

            from coderag.interfaces.cli.commands.server.server_commands import commands

            self._commands.update(getattr(get_command(commands), "commands", {}))
        return self._commands

    @commands.setter
    def commands(self, value: MutableMapping[str, Any]) -> None:
        self._commands = value


server: Final = typer.Typer(name="server", cls=ServerGroup, invoke_without_command=True, rich_markup_mode=None)


@server.callback()
def group(ctx: typer.Context) -> None:
    """Run and administer a server for a team: accounts, repositories by git URL, grants, an audit record.

    These commands work on the database of this machine, and the audit record names them as those of the operator.
    Begin with `coderag server init`, then `coderag server start`.
    """
    show_help_without_command(ctx)
