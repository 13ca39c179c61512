"""JSON schemas as short as they can be: a client sends those of all tools to its model with every conversation."""

from collections.abc import Mapping
from typing import Any, Final

_DEFINITIONS: Final = "#/$defs/"
_LEFT_OUT: Final = frozenset({"title", "$defs"})


def compact_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema of pydantic's without titles and values that are empty; only what is used often stays apart.

    Args:
        schema: Without recursion.
    """
    definitions: Mapping[str, Any] = schema.get("$defs", {})
    uses = str(schema).count
    often = {name for name in definitions if uses(f"'{_DEFINITIONS}{name}'") > 1}
    shortened = _Shortener({name: one for name, one in definitions.items() if name not in often})
    short = shortened.of(schema)
    if often:
        short["$defs"] = {name: shortened.of(definitions[name]) for name in sorted(often)}
    return short


class _Shortener:
    """Shortens schemas.

    Args:
        inline: Definitions that are put where they are used.
    """

    def __init__(self, inline: Mapping[str, Any]) -> None:
        self._inline = inline

    def of(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        name = schema.get("$ref", "").removeprefix(_DEFINITIONS)
        if name in self._inline:
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**self._inline[name], **beside}
        short: dict[str, Any] = {}
        for key, value in schema.items():
            if key in _LEFT_OUT or (key == "default" and value in ("", [], None)):
                continue
            if key == "description" and "properties" in schema:  # the docstring of a class, for who reads the source
                continue
            if key == "properties":
                short[key] = {name: self.of(one) for name, one in value.items()}
            elif isinstance(value, Mapping):
                short[key] = self.of(value)
            elif isinstance(value, list):
                short[key] = [self.of(one) if isinstance(one, Mapping) else one for one in value]
            else:
                short[key] = value
        return short
