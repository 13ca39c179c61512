"""Neighbours of a unit in the code graph: the units at the other ends of the edges of all that is in it."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coderag.codegraph.symbol_graph import DIRECTIONS, Direction
from coderag.codegraph.view.aggregation import assign_owners, find_hidden
from coderag.codegraph.view.units import FOLDER_KIND, Unit, Units
from coderag.schema.graph_view import VIEW_RELATIONS, NodeDetails, RelationTally, ViewFilter, ViewRelation
from coderag.stores.graph_tables import FILE_KIND

_CONTAINS: Final = "contains"


class Neighbour(NamedTuple):
    """A neighbour of a unit.

    Attributes:
        edges: Number of edges.
        confidence: Highest confidence of them.
    """

    unit: Unit
    edges: int
    confidence: float


class _FarEnds(NamedTuple):
    """Edges that leave a unit.

    Attributes:
        nodes: Node at the far end of each, or its file; ``n_nodes`` and above stand for `folders`.
        relations: Code of the relation of each.
    """

    nodes: NDArray[np.int64]
    relations: NDArray[np.int64]
    confidences: NDArray[np.float32]
    folders: Sequence[str]

    def select(self, relation: int) -> "_FarEnds":
        """Return the edges of a relation."""
        mask = self.relations == relation
        return _FarEnds(self.nodes[mask], self.relations[mask], self.confidences[mask], self.folders)


class NeighbourFinder:
    """Finds neighbours. Those of a file are files, those of a folder are folders, as far as they are in one.

    Args:
        units: The hierarchy.
        view_filter: Filter of edges and nodes.
    """

    def __init__(self, units: Units, view_filter: ViewFilter) -> None:
        self._units = units
        self._filter = view_filter
        self._is_hidden = find_hidden(units.graph, view_filter)

    def find(
        self, unit: Unit, direction: Direction, relations: Sequence[str] | None, limit: int
    ) -> tuple[list[Neighbour], int]:
        """Return the neighbours with most edges, and the number of all.

        Args:
            unit: The unit.
            direction: ``out`` for edges from the unit, ``in`` for edges to it.
            relations: Relations to follow; None for all that the filter admits, but containment.
            limit: Maximum number of neighbours.
        """
        words = self._filter.relations - {_CONTAINS} if relations is None else self._filter.relations & {*relations}
        neighbours, total = self._group(self._find_far_ends(unit, direction, words), limit)
        if _CONTAINS in words:
            contained = self._find_contained(unit, direction)
            neighbours, total = [*contained[:limit], *neighbours][:limit], total + len(contained)
        return neighbours, total

    def describe(self, unit: Unit, limit: int) -> NodeDetails:
        """Describe a unit with its neighbours by relation."""
        graph = self._units.graph
        counts = []
        for direction in DIRECTIONS:
            ends = self._find_far_ends(unit, direction, self._filter.relations)
            for relation in VIEW_RELATIONS:
                if relation == _CONTAINS:
                    contained = self._find_contained(unit, direction) if _CONTAINS in self._filter.relations else []
                    neighbours, total = contained[:limit], len(contained)
                elif relation in graph.relations.values:
                    neighbours, total = self._group(ends.select(graph.relations.values.index(relation)), limit)
                else:
                    continue
                if total:
                    counts.append(self._to_relation_count(relation, direction, neighbours, total))
        ancestors = [self._units.describe(ancestor, 0) for ancestor in self._units.list_ancestors(unit)]
        return NodeDetails(self._units.describe(unit), ancestors, counts)

    def _to_relation_count(
        self, relation: ViewRelation, direction: Direction, neighbours: Sequence[Neighbour], total: int
    ) -> RelationTally:
        return RelationTally(
            relation,
            direction,
            total,
            [self._units.describe(neighbour.unit, 0) for neighbour in neighbours],
            [neighbour.edges for neighbour in neighbours],
            [neighbour.confidence for neighbour in neighbours],
        )

    def _find_contained(self, unit: Unit, direction: Direction) -> list[Neighbour]:
        """Return what is directly inside a unit, or the unit around it."""
        if direction == "in":
            return [Neighbour(ancestor, 1, 1.0) for ancestor in self._units.list_ancestors(unit)[-1:]]
        children = sorted(self._units.list_children(unit), key=lambda child: -self._units.weigh(child))
        return [Neighbour(child, 1, 1.0) for child in children if not self._is_hidden[child.start : child.stop].all()]

    def _find_far_ends(self, unit: Unit, direction: Direction, relations: frozenset[str]) -> _FarEnds:
        graph = self._units.graph
        is_member = assign_owners(self._units, [unit], self._filter) == 0
        positions = graph.find_edge_positions(
            np.flatnonzero(is_member), direction, relations, self._filter.min_confidence
        )
        far_nodes = (graph.targets if direction == "out" else graph.sources)[positions]
        is_outside = ~is_member[far_nodes] & ~self._is_hidden[far_nodes]
        positions, far_nodes = positions[is_outside], far_nodes[is_outside]
        folders: list[str] = []
        if unit.kind in {FOLDER_KIND, FILE_KIND}:
            far_nodes = self._replace_by_files(far_nodes)
        if unit.kind == FOLDER_KIND:
            far_nodes, folders = self._replace_by_folders(far_nodes)
        return _FarEnds(far_nodes, graph.relations.codes[positions], graph.confidences[positions], folders)

    def _replace_by_files(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Replace declarations by their files."""
        files = self._units.graph.files
        positions = np.maximum(np.searchsorted(files, nodes, side="right") - 1, 0)
        is_internal = nodes < self._units.external_start
        return np.where(is_internal, files[positions], nodes) if len(files) else nodes

    def _replace_by_folders(self, files: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[str]]:
        """Replace files by numbers of their folders, and return these; files at the root stay."""
        graph = self._units.graph
        distinct, inverse = np.unique(files, return_inverse=True)
        numbers: dict[str, int] = {}
        lifted = []
        for file in distinct.tolist():
            folder = graph.paths[file].rpartition("/")[0]
            lifted.append(graph.n_nodes + numbers.setdefault(folder, len(numbers)) if folder else file)
        return np.array(lifted, np.int64)[inverse], list(numbers)

    def _group(self, ends: _FarEnds, limit: int) -> tuple[list[Neighbour], int]:
        """Return the units with most edges among far ends, and the number of all."""
        graph = self._units.graph
        nodes, inverse, counts = np.unique(ends.nodes, return_inverse=True, return_counts=True)
        confidences = np.zeros(len(nodes), np.float32)
        np.maximum.at(confidences, inverse, ends.confidences)
        centralities = np.concatenate([graph.centralities, np.zeros(len(ends.folders), np.float32)])[nodes]
        order = np.lexsort((nodes, -centralities, -counts))[:limit]
        columns = (nodes[order].tolist(), counts[order].tolist(), confidences[order].tolist())
        return [
            Neighbour(self._to_unit(node, ends.folders), count, round(confidence, 2))
            for node, count, confidence in zip(*columns, strict=True)
        ], len(nodes)

    def _to_unit(self, node: int, folders: Sequence[str]) -> Unit:
        n_nodes = self._units.graph.n_nodes
        return (
            self._units.find(f"{folders[node - n_nodes]}/") if node >= n_nodes else self._units.make_declaration(node)
        )
