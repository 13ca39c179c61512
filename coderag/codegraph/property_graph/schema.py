"""Labels, properties and relationship types of the property graph, documented in `docs/graph-export.md`."""

from collections.abc import Mapping
from typing import Final, Literal

from coderag.stores.graph_tables import EXTERNAL_KIND, FILE_KIND

Label = Literal["Project", "File", "Class", "Function", "Method", "Symbol", "Import"]

LABELS: Final[tuple[Label, ...]] = ("Project", "File", "Class", "Function", "Method", "Symbol", "Import")

LABEL_BY_KIND: Final[Mapping[str, Label]] = {
    FILE_KIND: "File",
    EXTERNAL_KIND: "Import",
    "function": "Function",
    "macro": "Function",
    "method": "Method",
    **dict.fromkeys(
        ("class", "interface", "struct", "trait", "enum", "union", "type_alias", "impl"),
        "Class",
    ),
}
"""Label of each kind of node; any other declaration (constant, namespace, table) is a ``SymbolResult``."""

NODE_PROPERTIES: Final[Mapping[str, str]] = {
    "id": "STRING",
    "project": "STRING",
    "kind": "STRING",
    "name": "STRING",
    "qualified_name": "STRING",
    "path": "STRING",
    "language": "STRING",
    "role": "STRING",
    "start_line": "INT32",
    "end_line": "INT32",
    "centrality": "FLOAT",
}
"""Properties of every node with their types. ``id`` is unique in the graph and stable while the name is."""

EDGE_PROPERTIES: Final[Mapping[str, str]] = {"resolver": "STRING", "confidence": "FLOAT", "line": "INT32"}
"""Properties of every relationship with their types."""

TYPE_BY_RELATION: Final[Mapping[str, str]] = {
    "imports": "IMPORTS",
    "calls": "CALLS",
    "instantiates": "INSTANTIATES",
    "references": "REFERENCES",
    "inherits": "EXTENDS",
    "implements": "IMPLEMENTS",
    "overrides": "OVERRIDES",
    "tests": "TESTS",
    "documents": "DOCUMENTS",
}
"""Type of relationship of each `coderag.schema.vocabulary.EdgeRelation`."""

CONTAINS, DEFINES, DEFINES_METHOD = "CONTAINS", "DEFINES", "DEFINES_METHOD"
"""Relationships of containment: a project contains files, a file defines declarations, a class defines
methods; any other declaration contains the declarations inside it."""

RELATIONSHIP_TYPES: Final = (CONTAINS, DEFINES, DEFINES_METHOD, *TYPE_BY_RELATION.values())

STRUCTURE_RESOLVER: Final = "syntax"
"""Resolver of containment relationships."""
