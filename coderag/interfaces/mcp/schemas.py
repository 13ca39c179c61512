"""Compact JSON schemas: a client sends those of all tools to its model with every conversation."""

from collections.abc import Mapping
from typing import Any, Final

_DEFINITION_PREFIX: Final = "#/$defs/"
_DROPPED_KEYS: Final = frozenset({"title", "$defs"})


def compact_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Compact a pydantic schema: drop titles and empty values, inline definitions that are used once.

    Args:
        schema: Schema without recursion.
    """
    definitions: Mapping[str, Any] = schema.get("$defs", {})
    count_uses = str(schema).count
    shared = {name for name in definitions if count_uses(f"'{_DEFINITION_PREFIX}{name}'") > 1}
    compactor = _SchemaCompactor({name: definition for name, definition in definitions.items() if name not in shared})
    compacted = compactor.compact(schema)
    if shared:
        compacted["$defs"] = {name: compactor.compact(definitions[name]) for name in sorted(shared)}
    return compacted


class _SchemaCompactor:
    """Compactor of schemas.

    Args:
        inline: Definitions to inline.
    """

    def __init__(self, inline: Mapping[str, Any]) -> None:
        self._inline = inline

    def compact(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        name = schema.get("$ref", "").removeprefix(_DEFINITION_PREFIX)
        if name in self._inline:
            siblings = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**self._inline[name], **siblings}
        compacted: dict[str, Any] = {}
        for key, value in schema.items():
            if key in _DROPPED_KEYS or (key == "default" and value in ("", [], None)):
                continue
            if key == "description" and "properties" in schema:  # the docstring of a class is for readers of the source
                continue
            if key == "properties":
                compacted[key] = {name: self.compact(item) for name, item in value.items()}
            elif isinstance(value, Mapping):
                compacted[key] = self.compact(value)
            elif isinstance(value, list):
                compacted[key] = [self.compact(item) if isinstance(item, Mapping) else item for item in value]
            else:
                compacted[key] = value
        return compacted
