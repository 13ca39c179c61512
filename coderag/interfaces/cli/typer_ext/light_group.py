"""Base of command groups."""

from typing import Any

import typer
from typer.core import TyperGroup

from coderag.interfaces.error_table import USAGE_ERROR


def show_help_without_command(context: typer.Context) -> None:
    """Print the help on standard error and exit if no command was given. Typer's own error is one line."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(USAGE_ERROR)


class LightGroup(TyperGroup):
    """A command group that imports nothing slow."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401  # as Typer's
        """Return the options. Typer's own flags get a default: for None, Typer imports pydantic."""
        parameters = list(super().get_params(ctx))
        for parameter in parameters:
            if parameter.default is None and getattr(parameter, "is_bool_flag", False):
                parameter.default = False
        return parameters
