"""Conversion of SCIP occurrences and relationships to edges between nodes."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from coderag.codegraph.constructors import is_constructor
from coderag.codegraph.scip.covered_file import CALL_KINDS, CALLABLE_KINDS, INTERFACE_KINDS, TYPE_KINDS, CoveredFile
from coderag.codegraph.scip.messages import (
    DEFINITION,
    FORWARD_DEFINITION,
    IMPORT,
    Occurrence,
    Relationship,
    ScipDocument,
    parse_descriptor,
)
from coderag.codegraph.symbol_graph import SymbolGraph
from coderag.schema.vocabulary import EdgeRelation
from coderag.stores.graph_tables import FILE_KIND

HIERARCHY_RELATIONS: Final = frozenset({"inherits", "implements"})


class ScipEdge(NamedTuple):
    """An edge of a SCIP index between nodes of the code graph."""

    relation: EdgeRelation
    source: int
    target: int
    line: int


def extract_edges(
    graph: SymbolGraph, file: CoveredFile, document: ScipDocument, nodes: Mapping[str, int]
) -> Iterator[ScipEdge]:
    """Yield the edges of a document; the same edge may be repeated.

    Args:
        graph: The nodes.
        file: The document's file in the code graph.
        document: The document.
        nodes: Node of each symbol that is defined in the repository or in this document.
    """
    extended_pairs = set()
    for occurrence in document.occurrences:
        target = nodes.get(occurrence.symbol)
        if target is None or occurrence.roles & (DEFINITION | FORWARD_DEFINITION):
            continue
        edge = _resolve_occurrence(graph, file, occurrence, target)
        if edge is None:
            continue
        if edge.relation in HIERARCHY_RELATIONS:
            extended_pairs.add((edge.source, edge.target))
        yield edge
    for symbol in document.symbols:
        source = nodes.get(symbol.symbol)
        if source is None:
            continue
        for relationship in symbol.relationships:
            edge = _resolve_relationship(graph, file, source, relationship, nodes)
            if edge is not None and (
                edge.relation not in HIERARCHY_RELATIONS or (edge.source, edge.target) not in extended_pairs
            ):
                yield edge


def _resolve_occurrence(graph: SymbolGraph, file: CoveredFile, occurrence: Occurrence, target: int) -> ScipEdge | None:
    name, suffix = parse_descriptor(occurrence.symbol)
    names = {name, graph.names[target].as_py()}
    if occurrence.roles & IMPORT or occurrence.line in file.import_lines:
        return None if target == file.node else ScipEdge("imports", file.node, target, occurrence.line)
    kind = graph.kinds[target]
    if kind == FILE_KIND:
        return None  # a module as the qualifier of its member
    if kind in TYPE_KINDS and (base := file.find_base(occurrence.line, names)):
        owner, relation = base
        return _build_hierarchy_edge(graph, owner, target, occurrence.line, relation)
    constructed_type = _find_constructed_type(graph, target, name)
    uses = file.find_uses(
        occurrence.line, names if constructed_type is None else names | {graph.names[constructed_type].as_py()}
    )
    calling_scopes = [scope for kind, scope in uses if kind in CALL_KINDS]
    source = uses[0][1] if uses else file.find_scope(occurrence.line)
    if calling_scopes or (not uses and suffix in {"()", "!"} and file.may_call(occurrence.line)):
        source = calling_scopes[0] if calling_scopes else source
        if constructed_type is not None and not file.find_uses(
            occurrence.line, {graph.names[target].as_py()} - {graph.names[constructed_type].as_py()}
        ):
            return ScipEdge("instantiates", source, constructed_type, occurrence.line)
        if kind in CALLABLE_KINDS:
            return ScipEdge("calls", source, target, occurrence.line)
    return None if source == target else ScipEdge("references", source, target, occurrence.line)


def _find_constructed_type(graph: SymbolGraph, target: int, name: str) -> int | None:
    """Return the type that a call of the target constructs: the target itself, or the type of a constructor."""
    if graph.kinds[target] in TYPE_KINDS:
        return target
    parent = int(graph.parents[target])
    if parent < 0 or graph.kinds[parent] not in TYPE_KINDS or graph.kinds[target] not in CALLABLE_KINDS:
        return None
    names = (graph.names[node].as_py() for node in (target, parent))
    return parent if name.startswith("<") or is_constructor(graph.languages[target], *names) else None


def _resolve_relationship(
    graph: SymbolGraph, file: CoveredFile, source: int, relationship: Relationship, nodes: Mapping[str, int]
) -> ScipEdge | None:
    target = nodes.get(relationship.symbol)
    if target is None or target == source:
        return None
    line = int(graph.start_lines[source])
    kinds = graph.kinds[source], graph.kinds[target]
    if relationship.is_implementation:
        if kinds[0] in CALLABLE_KINDS and kinds[1] in CALLABLE_KINDS:
            return ScipEdge("overrides", source, target, line)
        if kinds[0] in TYPE_KINDS and kinds[1] in TYPE_KINDS and file.may_extend(source, graph.names[target].as_py()):
            return _build_hierarchy_edge(graph, source, target, line)
    if relationship.is_type_definition and kinds[1] in TYPE_KINDS:
        return ScipEdge("references", source, target, line)
    return None


def _build_hierarchy_edge(
    graph: SymbolGraph, source: int, target: int, line: int, relation: str = ""
) -> ScipEdge | None:
    if source == target:
        return None
    hierarchy_relation: EdgeRelation = "inherits"
    if graph.kinds[target] in INTERFACE_KINDS and graph.kinds[source] not in INTERFACE_KINDS:
        hierarchy_relation = "implements"
    if relation:
        hierarchy_relation = "implements" if relation == "implements" else "inherits"
    return ScipEdge(hierarchy_relation, source, target, line)
