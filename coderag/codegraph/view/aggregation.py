"""Aggregation of edges: those between the declarations of two units become one."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coderag.codegraph.symbol_graph import SymbolGraph
from coderag.codegraph.view.units import FOLDER_KIND, Unit, Units
from coderag.schema.graph_view import ViewEdge, ViewFilter
from coderag.stores.graph_tables import EXTERNAL_KIND, FILE_KIND

Owners = NDArray[np.int32]
"""Array (n_nodes,): position of the unit that each node belongs to; -1 for none."""

_CONTAINS = "contains"
TEST_ROLE: Final = "test"
_UNDECIDED = -2
_BLOCK_EDGES = 1 << 19  # at a time, so that memory is bounded


class AggregatedEdges(NamedTuple):
    """Aggregated edges, most first, and the number that the limit left out."""

    edges: list[ViewEdge]
    n_omitted: int


def find_hidden(graph: SymbolGraph, view_filter: ViewFilter) -> NDArray[np.bool_]:
    """Return for each node whether the filter hides it."""
    is_hidden = np.zeros(graph.n_nodes, bool)
    if not view_filter.has_tests and TEST_ROLE in graph.roles.values:
        is_hidden |= graph.roles.codes == graph.roles.values.index(TEST_ROLE)
    if not view_filter.has_external and EXTERNAL_KIND in graph.kinds.values:
        is_hidden |= graph.kinds.codes == graph.kinds.values.index(EXTERNAL_KIND)
    return is_hidden


def assign_owners(units: Units, drawn: Sequence[Unit], view_filter: ViewFilter) -> Owners:
    """Assign each node to the innermost drawn unit around it; hidden nodes to none."""
    graph = units.graph
    owners = np.full(graph.n_nodes, -1, np.int32)
    declarations: dict[int, list[int]] = {}
    # Larger ranges first, so that inner units replace outer ones.
    for position in sorted(range(len(drawn)), key=lambda position: drawn[position].start - drawn[position].stop):
        unit = drawn[position]
        if unit.kind in {FOLDER_KIND, FILE_KIND, EXTERNAL_KIND}:
            owners[unit.start : unit.stop] = position
        else:
            file = graph.find_containing_file(unit.node)
            declarations.setdefault(file if file is not None else unit.node, []).append(position)
    for file, positions in declarations.items():
        _assign_declarations(graph, owners, file, {drawn[position].node: position for position in positions})
    owners[find_hidden(graph, view_filter)] = -1
    return owners


def _assign_declarations(graph: SymbolGraph, owners: Owners, file: int, positions: dict[int, int]) -> None:
    """Assign the nodes of a file to drawn declarations around them, else to what owns the file."""
    nodes = graph.get_file_nodes(file)
    local = np.full(len(nodes), _UNDECIDED, np.int32)
    local[0] = owners[file]
    for node, position in positions.items():
        local[node - file] = position
    parents = np.maximum(graph.parents[nodes.start : nodes.stop] - file, 0)
    while (is_open := local == _UNDECIDED).any():
        local[is_open] = local[parents[is_open]]
    owners[nodes.start : nodes.stop] = local


def aggregate_edges(
    graph: SymbolGraph,
    owners: Owners,
    n_units: int,
    view_filter: ViewFilter,
    limit: int,
    sources: tuple[int, int] | None = None,
) -> AggregatedEdges:
    """Aggregate the edges between units.

    Args:
        graph: The graph.
        owners: Units of the nodes.
        n_units: Number of units.
        view_filter: Filter of edges.
        limit: Maximum number of aggregated edges; those of most edges are returned.
        sources: Range of nodes, if all edges of interest start in it.
    """
    first, last = (0, graph.n_edges) if sources is None else np.searchsorted(graph.sources, sources).tolist()
    blocks = [
        _select_block(graph, owners, n_units, slice(start, min(start + _BLOCK_EDGES, last)), view_filter)
        for start in range(first, last, _BLOCK_EDGES)
    ]
    if _CONTAINS in view_filter.relations:
        blocks.append(_select_containment(graph, owners, n_units))
    keys, relations, confidences = (
        np.concatenate([block[column] for block in blocks] or [np.zeros(0, np.int64)]) for column in range(3)
    )
    counts = np.bincount(keys, minlength=1)
    present = np.flatnonzero(counts)
    best = present[np.lexsort((present, -counts[present]))][:limit]
    numbers = np.full(len(counts), -1, np.int32)
    numbers[best] = np.arange(len(best))
    drawn = numbers[keys]
    is_drawn = drawn >= 0
    drawn, relations = drawn[is_drawn], relations[is_drawn]
    words = [*graph.relations.values, _CONTAINS]
    by_relation = np.bincount(drawn * np.int64(len(words)) + relations, minlength=len(best) * len(words))
    highest = np.zeros(len(best), np.float32)
    np.maximum.at(highest, drawn, confidences[is_drawn])
    columns = (best.tolist(), counts[best].tolist(), highest.tolist(), by_relation.reshape(-1, len(words)).tolist())
    edges = [
        ViewEdge(key // n_units, key % n_units, count, round(confidence, 2), _name_counts(words, row))
        for key, count, confidence, row in zip(*columns, strict=True)
    ]
    return AggregatedEdges(edges, len(present) - len(best))


def _name_counts(words: Sequence[str], counts: Sequence[int]) -> dict[str, int]:
    pairs = [(word, count) for word, count in zip(words, counts, strict=True) if count]
    return dict(sorted(pairs, key=lambda pair: -pair[1]))


def _select_block(
    graph: SymbolGraph, owners: Owners, n_units: int, block: slice, view_filter: ViewFilter
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Return the pair of units, the relation and the confidence of each edge of a block between two units."""
    sources, targets = owners[graph.sources[block]], owners[graph.targets[block]]
    is_relation = np.array([word in view_filter.relations for word in graph.relations.values], bool)
    relations, confidences = graph.relations.codes[block], graph.confidences[block]
    mask = (sources >= 0) & (targets >= 0) & (sources != targets) & is_relation[relations]
    mask &= confidences >= np.float32(view_filter.min_confidence)
    keys = sources[mask] * np.int64(n_units) + targets[mask]
    return keys, relations[mask], confidences[mask]


def _select_containment(
    graph: SymbolGraph, owners: Owners, n_units: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Return containment as edges from each declaration's container to it."""
    children = np.flatnonzero((graph.parents >= 0) & (owners >= 0))
    sources, targets = owners[graph.parents[children]], owners[children]
    mask = (sources >= 0) & (sources != targets)
    keys = sources[mask] * np.int64(n_units) + targets[mask]
    return keys, np.full(len(keys), len(graph.relations.values)), np.ones(len(keys), np.float32)
