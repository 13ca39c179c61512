"""The code graph under test, as `coderag graph export --to json` writes it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from .truth import EvaluationError, Place, read_json

FORMAT = 1
RESOLVED = 0.5
"""Confidence from which the graph means an edge; below are candidates."""

CALLS = frozenset({"calls", "instantiates"})
BASES = frozenset({"inherits", "implements"})

_NO_DECLARATION = frozenset({"file", "external"})
_CONSTRUCTORS = frozenset({"__init__", "__new__", "constructor"})


class Key(NamedTuple):
    """What makes two declarations the same: overloads share it, and so do a class and its constructors."""

    path: str
    qualified_name: str


@dataclass(frozen=True, slots=True)
class Declaration:
    """One declaration of the graph; lines from 1, the last one included."""

    name: str
    path: str
    start_line: int
    end_line: int
    key: Key


@dataclass(frozen=True, slots=True)
class Edge:
    """One relation between two declarations.

    Args:
        path: File of the evidence.
        line: Line of the evidence, from 1.
        source: Where it starts; `None` when that is a file.
        target: What it reaches.
        resolver: What bound it.
    """

    relation: str
    path: str
    line: int
    source: Declaration | None
    target: Declaration
    resolver: str


class ExportedGraph:
    """Declarations of a graph and the edges between them that it holds to be resolved.

    Args:
        file: The export.

    Raises:
        EvaluationError: It cannot be read, or is not what it should be.
    """

    def __init__(self, file: Path) -> None:
        data = read_json(file)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise EvaluationError(
                f"{file}: no graph of format {FORMAT}; write one with `coderag graph export --to json`"
            )
        try:
            self._nodes: dict[int, dict[str, Any]] = {node["id"]: node for node in data["nodes"]}
            self._declarations = {
                each: self._declaration(node) for each, node in self._nodes.items() if _declares(node)
            }
            self.edges = list(self._edges(data["edges"]))
        except (KeyError, TypeError) as error:
            raise EvaluationError(f"{file}: a node or an edge lacks or misplaces {error}") from error
        self._named: dict[tuple[str, str], list[Declaration]] = defaultdict(list)
        for declaration in self._declarations.values():
            self._named[declaration.path, declaration.name].append(declaration)

    def find(self, place: Place) -> Key | None:
        """Return the declaration of that name whose lines hold the place, the innermost; `None` if the graph has none."""
        around = [
            each for each in self._named[place.path, place.name] if each.start_line <= place.line <= each.end_line
        ]
        return max(around, key=lambda each: each.start_line).key if around else None

    def keys(self, places: Iterable[Place]) -> set[Key]:
        """Return the declarations at some places, as far as the graph has them."""
        return {key for key in map(self.find, places) if key is not None}

    def _declaration(self, node: dict[str, Any]) -> Declaration:
        return Declaration(node["name"], node["path"], node["start_line"], node["end_line"], self._key(node))

    def _key(self, node: dict[str, Any]) -> Key:
        parent = self._nodes.get(node.get("parent", -1))
        inside = parent is not None and _declares(parent) and parent["kind"] not in ("function", "method")
        if inside and parent is not None and (node["name"] in _CONSTRUCTORS or node["name"] == parent["name"]):
            return self._key(parent)
        return Key(node["path"], node["qualified_name"])

    def _edges(self, rows: Iterable[dict[str, Any]]) -> Iterator[Edge]:
        for row in rows:
            target = self._declarations.get(row["target"])
            if row["confidence"] >= RESOLVED and row["relation"] in CALLS | BASES and target is not None:
                source = self._nodes[row["source"]]
                declared = self._declarations.get(row["source"])
                yield Edge(row["relation"], source["path"], row["line"], declared, target, row["resolver"])


def _declares(node: dict[str, Any]) -> bool:
    return node["kind"] not in _NO_DECLARATION
