"""From occurrences of symbols to edges between nodes."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from coderag.codegraph.constructors import is_constructor
from coderag.codegraph.scip.files import CALLABLE, CALLS, INTERFACES, TYPES, CoveredFile
from coderag.codegraph.scip.messages import (
    DEFINITION,
    FORWARD_DEFINITION,
    IMPORT,
    Document,
    Occurrence,
    Relationship,
    descriptor_of,
)
from coderag.codegraph.symbol_graph import SymbolGraph
from coderag.schema.vocabulary import EdgeRelation
from coderag.stores.graph_tables import FILE_KIND

HIERARCHY: Final = frozenset({"inherits", "implements"})


class FoundEdge(NamedTuple):
    """An edge between nodes of the graph that was given."""

    relation: EdgeRelation
    source: int
    target: int
    line: int


def edges_of(
    graph: SymbolGraph, file: CoveredFile, document: Document, nodes: Mapping[str, int]
) -> Iterator[FoundEdge]:
    """Yield what a document says of its file; the same edge may come more than once.

    Args:
        graph: The nodes.
        file: What is known of the file.
        document: What the index says of it.
        nodes: Node of each symbol that is defined in the repository, or in this document.
    """
    extended = set()
    for one in document.occurrences:
        target = nodes.get(one.symbol)
        if target is None or one.roles & (DEFINITION | FORWARD_DEFINITION):
            continue
        edge = _edge(graph, file, one, target)
        if edge is None:
            continue
        if edge.relation in HIERARCHY:
            extended.add((edge.source, edge.target))
        yield edge
    for symbol in document.symbols:
        source = nodes.get(symbol.symbol)
        if source is None:
            continue
        for relationship in symbol.relationships:
            edge = _relationship(graph, file, source, relationship, nodes)
            if edge is not None and (edge.relation not in HIERARCHY or (edge.source, edge.target) not in extended):
                yield edge


def _edge(graph: SymbolGraph, file: CoveredFile, one: Occurrence, target: int) -> FoundEdge | None:
    name, suffix = descriptor_of(one.symbol)
    names = {name, graph.names[target].as_py()}
    if one.roles & IMPORT or one.line in file.import_lines:
        return None if target == file.node else FoundEdge("imports", file.node, target, one.line)
    kind = graph.kinds[target]
    if kind == FILE_KIND:
        return None  # a module named to get at what is in it
    if kind in TYPES and (base := file.base(one.line, names)):
        owner, relation = base
        return _extends(graph, owner, target, one.line, relation)
    made = _type_made(graph, target, name)
    uses = file.uses(one.line, names if made is None else names | {graph.names[made].as_py()})
    callers = [scope for kind, scope in uses if kind in CALLS]
    source = uses[0][1] if uses else file.source(one.line)
    if callers or (not uses and suffix in {"()", "!"} and file.may_call(one.line)):
        source = callers[0] if callers else source
        if made is not None and not file.uses(one.line, {graph.names[target].as_py()} - {graph.names[made].as_py()}):
            return FoundEdge("instantiates", source, made, one.line)
        if kind in CALLABLE:
            return FoundEdge("calls", source, target, one.line)
    return None if source == target else FoundEdge("references", source, target, one.line)


def _type_made(graph: SymbolGraph, target: int, name: str) -> int | None:
    """Return the type that a call of the target makes an instance of: itself, or the one that it is a constructor of."""
    if graph.kinds[target] in TYPES:
        return target
    parent = int(graph.parents[target])
    if parent < 0 or graph.kinds[parent] not in TYPES or graph.kinds[target] not in CALLABLE:
        return None
    names = (graph.names[node].as_py() for node in (target, parent))
    return parent if name.startswith("<") or is_constructor(graph.languages[target], *names) else None


def _relationship(
    graph: SymbolGraph, file: CoveredFile, source: int, relationship: Relationship, nodes: Mapping[str, int]
) -> FoundEdge | None:
    target = nodes.get(relationship.symbol)
    if target is None or target == source:
        return None
    line = int(graph.start_lines[source])
    kinds = graph.kinds[source], graph.kinds[target]
    if relationship.is_implementation:
        if kinds[0] in CALLABLE and kinds[1] in CALLABLE:
            return FoundEdge("overrides", source, target, line)
        if kinds[0] in TYPES and kinds[1] in TYPES and file.may_extend(source, graph.names[target].as_py()):
            return _extends(graph, source, target, line)
    if relationship.is_type_definition and kinds[1] in TYPES:
        return FoundEdge("references", source, target, line)
    return None


def _extends(graph: SymbolGraph, source: int, target: int, line: int, relation: str = "") -> FoundEdge | None:
    if source == target:
        return None
    said: EdgeRelation = "inherits"
    if graph.kinds[target] in INTERFACES and graph.kinds[source] not in INTERFACES:
        said = "implements"
    if relation:
        said = "implements" if relation == "implements" else "inherits"
    return FoundEdge(said, source, target, line)
