"""Code graph under test, as written by `coderag graph export --to json`."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from .ground_truth import DeclarationSite, EvaluationError, read_json

EXPORT_FORMAT = 1
MIN_RESOLVED_CONFIDENCE = 0.5
"""Minimum confidence of a resolved edge; edges below it are candidates."""

CALL_RELATIONS = frozenset({"calls", "instantiates"})
BASE_RELATIONS = frozenset({"inherits", "implements"})

_NON_DECLARATION_KINDS = frozenset({"file", "external"})
_CONSTRUCTOR_NAMES = frozenset({"__init__", "__new__", "constructor"})


class DeclarationKey(NamedTuple):
    """Identity of a declaration: overloads share it, and so do a class and its constructors."""

    path: str
    qualified_name: str


@dataclass(frozen=True, slots=True)
class ExportedDeclaration:
    """A declaration of the graph; lines from 1, the last one included."""

    name: str
    path: str
    start_line: int
    end_line: int
    key: DeclarationKey


@dataclass(frozen=True, slots=True)
class ExportedEdge:
    """A relation between two declarations.

    Args:
        path: File of the evidence.
        line: Line of the evidence, from 1.
        source: Source declaration; None if the source is a file.
        target: Target declaration.
        resolver: Resolver of the edge.
    """

    relation: str
    path: str
    line: int
    source: ExportedDeclaration | None
    target: ExportedDeclaration
    resolver: str


class ExportedGraph:
    """Declarations of a graph and the resolved edges between them.

    Args:
        file: The export.

    Raises:
        EvaluationError: It cannot be read, or has another format.
    """

    def __init__(self, file: Path) -> None:
        data = read_json(file)
        if not isinstance(data, dict) or data.get("format") != EXPORT_FORMAT:
            raise EvaluationError(
                f"{file}: not a graph of format {EXPORT_FORMAT}; write one with `coderag graph export --to json`"
            )
        try:
            self._nodes: dict[int, dict[str, Any]] = {node["id"]: node for node in data["nodes"]}
            self._declarations = {
                node_id: self._parse_declaration(node) for node_id, node in self._nodes.items() if _is_declaration(node)
            }
            self.edges = list(self._parse_edges(data["edges"]))
        except (KeyError, TypeError) as error:
            raise EvaluationError(f"{file}: invalid node or edge: {error}") from error
        self._declarations_by_name: dict[tuple[str, str], list[ExportedDeclaration]] = defaultdict(list)
        for declaration in self._declarations.values():
            self._declarations_by_name[declaration.path, declaration.name].append(declaration)

    def find_key(self, place: DeclarationSite) -> DeclarationKey | None:
        """Return the innermost declaration of that name around the place; None if the graph has none."""
        enclosing = [
            declaration
            for declaration in self._declarations_by_name[place.path, place.name]
            if declaration.start_line <= place.line <= declaration.end_line
        ]
        return max(enclosing, key=lambda declaration: declaration.start_line).key if enclosing else None

    def find_keys(self, places: Iterable[DeclarationSite]) -> set[DeclarationKey]:
        """Return the declarations at some places, without those missing in the graph."""
        return {key for key in map(self.find_key, places) if key is not None}

    def _parse_declaration(self, node: dict[str, Any]) -> ExportedDeclaration:
        return ExportedDeclaration(
            node["name"], node["path"], node["start_line"], node["end_line"], self._build_key(node)
        )

    def _build_key(self, node: dict[str, Any]) -> DeclarationKey:
        parent = self._nodes.get(node.get("parent", -1))
        is_member = parent is not None and _is_declaration(parent) and parent["kind"] not in ("function", "method")
        if is_member and parent is not None and (node["name"] in _CONSTRUCTOR_NAMES or node["name"] == parent["name"]):
            return self._build_key(parent)
        return DeclarationKey(node["path"], node["qualified_name"])

    def _parse_edges(self, rows: Iterable[dict[str, Any]]) -> Iterator[ExportedEdge]:
        for row in rows:
            target = self._declarations.get(row["target"])
            if (
                row["confidence"] >= MIN_RESOLVED_CONFIDENCE
                and row["relation"] in CALL_RELATIONS | BASE_RELATIONS
                and target is not None
            ):
                source = self._nodes[row["source"]]
                source_declaration = self._declarations.get(row["source"])
                yield ExportedEdge(
                    row["relation"], source["path"], row["line"], source_declaration, target, row["resolver"]
                )


def _is_declaration(node: dict[str, Any]) -> bool:
    return node["kind"] not in _NON_DECLARATION_KINDS
