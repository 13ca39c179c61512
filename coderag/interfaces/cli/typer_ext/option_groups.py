"""Groups of options that several commands share."""

from collections.abc import Callable
from functools import wraps
from inspect import Signature, signature
from typing import Any

Command = Callable[..., None]


def expand_options(parameter: str, build: Callable[..., object], *omitted: str) -> Callable[[Command], Command]:
    """Replace a parameter of a command by the options that its value is built from.

    Args:
        parameter: Parameter of the command that takes the built value.
        build: Builds the value; its parameters are the options, with their Typer annotations and defaults.
        omitted: Options that the command does not have.
    """
    shared = [option for name, option in signature(build).parameters.items() if name not in omitted]

    def decorate(command: Command) -> Command:
        options = []
        for name, option in signature(command).parameters.items():
            options += shared if name == parameter else [option]

        @wraps(command)
        def run_command(**values: Any) -> None:  # noqa: ANN401  # as Typer parsed them
            value = build(**{option.name: values.pop(option.name) for option in shared})
            command(**values, **{parameter: value})

        run_command.__signature__ = Signature(options)  # type: ignore[attr-defined]  # Typer reads both
        run_command.__annotations__ = {option.name: option.annotation for option in options}
        return run_command

    return decorate
