"""Filters of mirrored items as a condition in SQL."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ItemQuery:
    """Filters of items; empty ones match everything, and all ignore case. `ItemMirror.list_items` explains them."""

    source: str | None = None
    kinds: Sequence[str] = ()
    types: Sequence[str] = ()
    states: Sequence[str] = ()
    tags: Sequence[str] = ()
    text_prefix: str = ""

    def build_condition(self) -> tuple[str, list[object]]:
        """Return a WHERE clause and its parameters. The connection has the function ``casefold``."""
        conditions: list[str] = []
        parameters: list[object] = []
        if self.source is not None:
            conditions.append("source = ?")
            parameters.append(self.source)
        for column, values in (("kind", self.kinds), ("type", self.types), ("status", self.states)):
            if values:
                conditions.append(f"casefold({column}) IN ({_make_marks(values)})")
                parameters += _fold(values)
        if self.tags:
            conditions.append(
                f"EXISTS (SELECT 1 FROM json_each(labels) WHERE casefold(json_each.value) IN ({_make_marks(self.tags)}))"  # noqa: S608
            )
            parameters += _fold(self.tags)
        if prefix := self.text_prefix.strip().casefold():
            conditions.append("(substr(casefold(id), 1, ?) = ? OR substr(casefold(title), 1, ?) = ?)")
            parameters += [len(prefix), prefix] * 2
        return (f"WHERE {' AND '.join(conditions)}" if conditions else ""), parameters


def _make_marks(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))


def _fold(values: Sequence[str]) -> list[str]:
    return [value.strip().casefold() for value in values]
