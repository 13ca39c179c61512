"""Names of edge relations from either end, and the groups of relations that queries follow."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from coderag.codegraph.symbol_graph import Direction
from coderag.schema.vocabulary import EdgeRelation, GraphRelation

NEIGHBOUR_RELATIONS: Final[Mapping[tuple[str, Direction], GraphRelation]] = MappingProxyType(
    {
        ("calls", "out"): "callee",
        ("calls", "in"): "caller",
        ("instantiates", "out"): "callee",
        ("instantiates", "in"): "caller",
        ("imports", "out"): "imports",
        ("imports", "in"): "imported_by",
        ("inherits", "out"): "base",
        ("inherits", "in"): "derived",
        ("implements", "out"): "interface_of",
        ("implements", "in"): "implementation",
        ("overrides", "out"): "overridden",
        ("overrides", "in"): "override",
        ("references", "out"): "used",
        ("references", "in"): "user",
        ("tests", "out"): "tested",
        ("tests", "in"): "test_for",
        ("documents", "out"): "documented",
        ("documents", "in"): "documentation",
    }
)
"""Relation of the far end of an edge to its near end, by direction from the near end."""

CALL_RELATIONS: Final[tuple[EdgeRelation, ...]] = ("calls", "instantiates")
BASE_RELATIONS: Final[tuple[EdgeRelation, ...]] = ("inherits", "implements")
USE_RELATIONS: Final[tuple[EdgeRelation, ...]] = (*CALL_RELATIONS, "references", *BASE_RELATIONS)
"""All uses other than imports."""
