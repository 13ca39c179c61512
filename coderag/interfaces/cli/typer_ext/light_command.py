"""A Typer command that converts common values without pydantic, whose import takes 0.2 s."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_args, get_origin

from typer.core import TyperCommand

if TYPE_CHECKING:
    from collections.abc import Callable

_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,15}")


class LightCommand(TyperCommand):
    """A command that converts strings, numbers, paths and lists of strings itself, and leaves the rest to Typer."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401  # as Typer's
        """Return the options and arguments.

        Typer's converters are private, so unexpected ones are left unchanged.
        """
        parameters: list[Any] = list(super().get_params(ctx))
        for parameter in parameters:
            if getattr(parameter, "_runtime_param", ...) is None and hasattr(parameter, "type_descriptor"):
                parameter._runtime_param = _LightParam(parameter)
        return parameters


class _LightParam:
    """Converter of the values of a parameter, in place of Typer's ``RuntimeParam``.

    Args:
        parameter: The parameter of the command.
    """

    def __init__(self, parameter: Any) -> None:  # noqa: ANN401  # as Typer's
        self._parameter = parameter
        descriptor = parameter.type_descriptor
        self._annotation = descriptor.annotation
        self._info = descriptor.parameter_info

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:  # noqa: ANN401  # as Typer's
        """Convert a value; Typer converts uncommon values and reports errors."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        converted = self._convert_usual(value)
        return self._build_typer_param().coerce(value, param=param, ctx=ctx) if converted is None else converted

    def _convert_usual(self, value: object) -> object:
        """Convert a common value of its type; None if it is uncommon."""
        kind = self._annotation
        if self._info.parser is not None:
            return None
        if kind in (int, float):
            return kind(value) if self._is_number(value) else None
        if kind == list[str]:
            return list(value) if isinstance(value, (list, tuple)) and all(map(_is_text, value)) else None
        if kind is Path:
            return Path(str(value)) if _is_text(value) and self._is_usual_path(str(value)) else None
        is_usual = _is_text(value) if kind is str else get_origin(kind) is Literal and value in get_args(kind)
        return value if is_usual else None

    def _is_number(self, value: object) -> bool:
        if isinstance(value, str):
            if not _NUMBER.fullmatch(value):
                return False
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, self._annotation):
            return self._annotation is float and isinstance(value, int) and self._is_within(value)
        return self._is_within(cast("float", value))

    def _is_within(self, number: float) -> bool:
        minimum, maximum = self._info.min, self._info.max
        return (minimum is None or number >= minimum) and (maximum is None or number <= maximum)

    def _is_usual_path(self, value: str) -> bool:
        info = self._info
        is_free = not (info.exists or info.writable or info.resolve_path or info.allow_dash or info.path_type)
        return (
            is_free and info.file_okay and info.dir_okay and (os.access(value, os.R_OK) or not os.path.lexists(value))
        )

    def _build_typer_param(self) -> Any:  # noqa: ANN401  # as Typer's
        from typer._coercion import build_runtime_param  # Typer has no public API for a single parameter

        build = cast("Callable[[Any], Any]", build_runtime_param)
        self._parameter._runtime_param = param = build(self._parameter.type_descriptor)
        return param


def _is_text(value: object) -> bool:
    """Return whether a value is a string without lone surrogates, which Typer rejects."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
