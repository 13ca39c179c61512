"""A file of the code graph that a SCIP index covers: its declarations by name, and the uses of names on its lines."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple, TypeVar

import numpy as np

from coderag.codegraph.scip.messages import DEFINITION, Occurrence, ScipDocument, parse_descriptor
from coderag.codegraph.symbol_graph import SymbolGraph
from coderag.schema.facts import MODULE_SCOPE, Base, FileFacts, Reference
from coderag.stores.facts_codec import unpack_body, unpack_interface
from coderag.stores.graph_tables import GraphTables

LineFactT = TypeVar("LineFactT", Reference, Base)

CALL_KINDS: Final = frozenset({"call", "new", "decorator"})
"""Kinds of reference that are calls."""

CALLABLE_KINDS: Final = frozenset({"function", "method", "macro"})
TYPE_KINDS: Final = frozenset({"class", "interface", "struct", "trait", "enum", "union", "type_alias"})
INTERFACE_KINDS: Final = frozenset({"interface", "trait"})
_NAMED_SUFFIXES: Final = frozenset({"#", "()", "!"})


class DefinedSymbols(NamedTuple):
    """The symbols that a document defines.

    Attributes:
        nodes: Node of each symbol; those of locals are valid in this document only.
        misplaced: Number of functions and types that the file declares, but not at the document's line.
    """

    nodes: Mapping[str, int]
    misplaced: int


class CoveredFile:
    """A file that is in the code graph and in a SCIP index.

    Args:
        graph: The code graph.
        node: Node of the file.
        facts: Facts of the file; empty if none are stored.
    """

    def __init__(self, graph: SymbolGraph, node: int, facts: FileFacts) -> None:
        self._graph = graph
        self.path = graph.paths[node]
        self.node = node
        self.nodes = graph.get_file_nodes(node)
        self._has_scopes = len(facts.definitions) == len(self.nodes) - 1
        self._nodes_by_name: dict[str, list[int]] = defaultdict(list)
        for entry in self.nodes[1:]:
            self._nodes_by_name[graph.names[entry].as_py()].append(entry)
        self._references_by_line = _group_by_line(facts.references)
        self._bases_by_line = _group_by_line(facts.bases)
        self._aliases = {entry.alias: entry.name for entry in facts.imports if entry.alias and entry.name}
        existing_imports = graph.read_edges(graph.find_edge_positions(list(self.nodes), "out", {"imports"}, 0.0))
        self.import_lines = {edge.line for edge in existing_imports} | {entry.line for entry in facts.imports}
        self._owner_bases: dict[int, set[str]] = defaultdict(set)
        for base in facts.bases:
            if (owner := self._find_scope_node(base.owner)) is not None:
                self._owner_bases[owner].add(get_last_name(base.chain))

    def match_definitions(self, document: ScipDocument) -> DefinedSymbols:
        """Return the nodes of the symbols that a document defines."""
        nodes_by_symbol: dict[str, int] = {}
        misplaced = 0
        definitions = [occurrence for occurrence in document.occurrences if occurrence.roles & DEFINITION]
        for occurrence in definitions:
            if occurrence.symbol.startswith("local "):
                continue
            name, suffix = parse_descriptor(occurrence.symbol)
            node = self._find_definition(occurrence, name, suffix)
            if node is not None:
                nodes_by_symbol[occurrence.symbol] = node  # the last overload has the body
            elif suffix in _NAMED_SUFFIXES and name in self._nodes_by_name:
                misplaced += 1
        used_nodes = set(nodes_by_symbol.values())
        for occurrence in definitions:
            if (
                occurrence.symbol.startswith("local ")
                and (node := self._find_local(occurrence, used_nodes)) is not None
            ):
                nodes_by_symbol[occurrence.symbol] = node
                used_nodes.add(node)
        return DefinedSymbols(nodes_by_symbol, misplaced)

    def find_scope(self, line: int) -> int:
        """Return the innermost declaration around a line, else the file."""
        node = self._graph.find_innermost(self.path, line)
        return self.node if node is None else node

    def find_uses(self, line: int, names: Collection[str]) -> list[tuple[str, int]]:
        """Return the uses of any of some names on a line: kind of reference, and enclosing node."""
        uses = []
        for reference in self._references_by_line.get(line, ()):
            name = get_last_name(reference.chain)
            if name in names or self._aliases.get(name) in names:
                scope = self._find_scope_node(reference.scope)
                uses.append((reference.kind, self.find_scope(line) if scope is None else scope))
        return uses

    def may_call(self, line: int) -> bool:
        """Return whether a line may contain a call without a name.

        This holds if the file has no facts, or if the line calls an expression.
        """
        return not self._references_by_line or any(
            reference.kind in CALL_KINDS and not get_last_name(reference.chain)
            for reference in self._references_by_line.get(line, ())
        )

    def find_base(self, line: int, names: Collection[str]) -> tuple[int, str] | None:
        """Return the type that extends one of some names on a line, and the relation if the syntax states it."""
        for base in self._bases_by_line.get(line, ()):
            name = get_last_name(base.chain)
            owner = self._find_scope_node(base.owner)
            if owner is not None and (name in names or self._aliases.get(name) in names):
                return owner, base.relation
        return None

    def may_extend(self, node: int, name: str) -> bool:
        """Return whether a type's text allows it to be a direct subtype of another.

        Indexers list all ancestors; the text names the direct ones, if it names any.
        """
        bases = {self._aliases.get(base, base) for base in self._owner_bases.get(node, ())}
        return not bases or name in bases

    def _find_definition(self, occurrence: Occurrence, name: str, suffix: str) -> int | None:
        if suffix in {"/", ":"} and occurrence.length <= 0:
            return self.node
        if suffix == "()" and name.startswith("<"):  # a constructor; its name depends on the language
            node = self.find_scope(occurrence.line)
            return node if self._graph.kinds[node] in CALLABLE_KINDS | TYPE_KINDS else None
        enclosing = [
            candidate for candidate in self._nodes_by_name.get(name, ()) if self._has_line(candidate, occurrence.line)
        ]
        return max(enclosing, default=None, key=lambda candidate: (self._graph.start_lines[candidate], candidate))

    def _find_local(self, occurrence: Occurrence, taken: Collection[int]) -> int | None:
        """Return the unused declaration on a line whose name has a local's length; SCIP does not name locals."""
        for candidate in self.nodes[1:]:
            starts_on_line = int(self._graph.start_lines[candidate]) == occurrence.line
            if (
                starts_on_line
                and candidate not in taken
                and len(self._graph.names[candidate].as_py()) == occurrence.length
            ):
                return candidate
        return None

    def _has_line(self, node: int, line: int) -> bool:
        return bool(self._graph.start_lines[node] <= line <= self._graph.end_lines[node])

    def _find_scope_node(self, scope: int) -> int | None:
        if scope == MODULE_SCOPE:
            return self.node
        return self.node + 1 + scope if self._has_scopes else None


def read_facts(tables: GraphTables, paths: Collection[str]) -> dict[str, FileFacts]:
    """Return the facts of some files."""
    rows = np.flatnonzero([path in paths for path in tables.facts["path"].to_pylist()])
    facts_by_path = {}
    for row in tables.facts.select(["path", "interface", "body"]).take(rows).to_pylist():
        interface = unpack_interface(row["interface"])
        facts_by_path[row["path"]] = FileFacts(
            interface.language,
            definitions=interface.definitions,
            imports=interface.imports,
            bases=interface.bases,
            references=unpack_body(row["body"]).build_references(),
        )
    return facts_by_path


def get_last_name(chain: str) -> str:
    """Return the last name of a chain (see `Reference.chain`); empty if it is an expression."""
    return chain.rpartition(".")[2].partition("/")[0].rstrip("()[]{}")


def _group_by_line(facts: Iterable[LineFactT]) -> dict[int, list[LineFactT]]:
    facts_by_line: dict[int, list[LineFactT]] = defaultdict(list)
    for fact in facts:
        facts_by_line[fact.line].append(fact)
    return facts_by_line
