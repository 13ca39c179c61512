"""What this index knows of a file that a SCIP index covers: its declarations by name, and how its lines use names."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple, TypeVar

import numpy as np

from coderag.codegraph.scip.messages import DEFINITION, Document, Occurrence, descriptor_of
from coderag.codegraph.symbol_graph import SymbolGraph
from coderag.schema.facts import MODULE_SCOPE, Base, FileFacts, Reference
from coderag.stores.facts_codec import unpack_body, unpack_interface
from coderag.stores.graph_tables import GraphTables

Placed = TypeVar("Placed", Reference, Base)

CALLS: Final = frozenset({"call", "new", "decorator"})
"""Kinds of reference that call what they name."""

CALLABLE: Final = frozenset({"function", "method", "macro"})
TYPES: Final = frozenset({"class", "interface", "struct", "trait", "enum", "union", "type_alias"})
INTERFACES: Final = frozenset({"interface", "trait"})
_NAMED: Final = frozenset({"#", "()", "!"})


class Defined(NamedTuple):
    """The symbols that a document defines, by node.

    Attributes:
        nodes: Node of each symbol; those of locals hold within the document only.
        misplaced: Number of functions and types whose name this index has in the file, but not there.
    """

    nodes: Mapping[str, int]
    misplaced: int


class CoveredFile:
    """A file that this index and a SCIP index have.

    Args:
        graph: Of this index.
        node: Of the file.
        facts: What the file says of names; empty if that is not kept.
    """

    def __init__(self, graph: SymbolGraph, node: int, facts: FileFacts) -> None:
        self._graph = graph
        self.path = graph.paths[node]
        self.node = node
        self.nodes = graph.nodes_of_file(node)
        self._scopes = len(facts.definitions) == len(self.nodes) - 1
        self._by_name: dict[str, list[int]] = defaultdict(list)
        for one in self.nodes[1:]:
            self._by_name[graph.names[one].as_py()].append(one)
        self._uses = _by_line(facts.references)
        self._bases = _by_line(facts.bases)
        self._aliases = {one.alias: one.name for one in facts.imports if one.alias and one.name}
        imported = graph.edges_at(graph.positions(list(self.nodes), "out", {"imports"}, 0.0))
        self.import_lines = {edge.line for edge in imported} | {one.line for one in facts.imports}
        self._owner_bases: dict[int, set[str]] = defaultdict(set)
        for base in facts.bases:
            if (owner := self._node_of(base.owner)) is not None:
                self._owner_bases[owner].add(last_name(base.chain))

    def define(self, document: Document) -> Defined:
        """Return which nodes the symbols are that a document defines."""
        found: dict[str, int] = {}
        misplaced = 0
        definitions = [one for one in document.occurrences if one.roles & DEFINITION]
        for one in definitions:
            if one.symbol.startswith("local "):
                continue
            name, suffix = descriptor_of(one.symbol)
            node = self._definition(one, name, suffix)
            if node is not None:
                found[one.symbol] = node  # of overloads the last one has the body
            elif suffix in _NAMED and name in self._by_name:
                misplaced += 1
        taken = set(found.values())
        for one in definitions:
            if one.symbol.startswith("local ") and (node := self._local(one, taken)) is not None:
                found[one.symbol] = node
                taken.add(node)
        return Defined(found, misplaced)

    def source(self, line: int) -> int:
        """Return the innermost declaration around a line, else the file."""
        found = self._graph.at(self.path, line)
        return self.node if found is None else found

    def uses(self, line: int, names: Collection[str]) -> list[tuple[str, int]]:
        """Return how a line uses any of some names: kind of reference, and the node that it stands in."""
        found = []
        for one in self._uses.get(line, ()):
            name = last_name(one.chain)
            if name in names or self._aliases.get(name) in names:
                scope = self._node_of(one.scope)
                found.append((one.kind, self.source(line) if scope is None else scope))
        return found

    def may_call(self, line: int) -> bool:
        """Whether a line may call what it does not call by name: nothing is kept of its file, or it calls an expression."""
        return not self._uses or any(one.kind in CALLS and not last_name(one.chain) for one in self._uses.get(line, ()))

    def base(self, line: int, names: Collection[str]) -> tuple[int, str] | None:
        """Return the type that a line says extends one of some names, and the relation if the text tells."""
        for one in self._bases.get(line, ()):
            name = last_name(one.chain)
            owner = self._node_of(one.owner)
            if owner is not None and (name in names or self._aliases.get(name) in names):
                return owner, one.relation
        return None

    def may_extend(self, node: int, name: str) -> bool:
        """Whether the text of a type does not speak against it being a direct subtype of another.

        Indexers list all ancestors; the text names the direct ones, if it names any.
        """
        bases = {self._aliases.get(base, base) for base in self._owner_bases.get(node, ())}
        return not bases or name in bases

    def _definition(self, occurrence: Occurrence, name: str, suffix: str) -> int | None:
        if suffix in {"/", ":"} and occurrence.length <= 0:
            return self.node
        if suffix == "()" and name.startswith("<"):  # a constructor, which languages name in their own ways
            node = self.source(occurrence.line)
            return node if self._graph.kinds[node] in CALLABLE | TYPES else None
        around = [one for one in self._by_name.get(name, ()) if self._holds(one, occurrence.line)]
        return max(around, default=None, key=lambda one: (self._graph.start_lines[one], one))

    def _local(self, occurrence: Occurrence, taken: Collection[int]) -> int | None:
        """Return the declaration on a line whose name is as long as a local's: the index does not tell the name."""
        for one in self.nodes[1:]:
            starts = int(self._graph.start_lines[one]) == occurrence.line
            if starts and one not in taken and len(self._graph.names[one].as_py()) == occurrence.length:
                return one
        return None

    def _holds(self, node: int, line: int) -> bool:
        return bool(self._graph.start_lines[node] <= line <= self._graph.end_lines[node])

    def _node_of(self, scope: int) -> int | None:
        if scope == MODULE_SCOPE:
            return self.node
        return self.node + 1 + scope if self._scopes else None


def read_facts(tables: GraphTables, paths: Collection[str]) -> dict[str, FileFacts]:
    """Return the facts of some files."""
    rows = np.flatnonzero([path in paths for path in tables.facts["path"].to_pylist()])
    found = {}
    for row in tables.facts.select(["path", "interface", "body"]).take(rows).to_pylist():
        interface = unpack_interface(row["interface"])
        found[row["path"]] = FileFacts(
            interface.language,
            definitions=interface.definitions,
            imports=interface.imports,
            bases=interface.bases,
            references=unpack_body(row["body"]).build_references(),
        )
    return found


def last_name(chain: str) -> str:
    """Return the last name of a chain, see `coderag.schema.facts`; empty if it is none."""
    return chain.rpartition(".")[2].partition("/")[0].rstrip("()[]{}")


def _by_line(facts: Iterable[Placed]) -> dict[int, list[Placed]]:
    found: dict[int, list[Placed]] = defaultdict(list)
    for one in facts:
        found[one.line].append(one)
    return found
