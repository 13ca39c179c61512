"""Overviews of a repository: folders, then files, then declarations, each inside the circle of its container."""

import heapq
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from coderag.codegraph.view.aggregation import TEST_ROLE, aggregate_edges, assign_owners
from coderag.codegraph.view.layout import Affinities
from coderag.codegraph.view.layout_cache import LayoutCache
from coderag.codegraph.view.units import EXTERNAL_ROOT, FOLDER_KIND, Unit, Units
from coderag.errors import UnknownNameError
from coderag.schema.graph_view import VIEW_RELATIONS, GraphView, ViewFilter, ViewNode

EXTENT: Final = 1_000.0
"""Radius of the circle of the whole repository."""

_AUTOMATIC_NODES: Final = 48  # about as many labels as a picture can show
_MIN_OPENED_SHARE: Final = 0.02  # of all declarations
_MAX_LAID_OUT: Final = 2_000
_MAX_AFFINITIES: Final = 20_000
_UNPLACED_RADIUS: Final = 0.01
_LAYOUT_RELATIONS: Final = frozenset(VIEW_RELATIONS) - {"contains"}
_MAX_TEXT_CHARS: Final = 800_000  # of keys and paths, so that a reply stays below 2 MB


class OverviewBuilder:
    """Builds an overview with some containers opened.

    Args:
        units: The hierarchy.
        layouts: Layouts of containers.
        view_filter: Filter of edges and nodes.
    """

    def __init__(self, units: Units, layouts: LayoutCache, view_filter: ViewFilter) -> None:
        self._units = units
        self._layouts = layouts
        self._filter = view_filter
        self._children: dict[str, list[Unit]] = {}

    def build(self, opened: Collection[str] | None, max_nodes: int, max_edges: int) -> GraphView:
        """Build the overview.

        Args:
            opened: Keys of the opened containers; unknown ones are ignored. None opens the largest folders.
            max_nodes: Maximum number of nodes.
            max_edges: Maximum number of edges.
        """
        keys = self._choose_opened(max_nodes) if opened is None else self._normalize(opened)
        drawn, parents, n_omitted = self._select(keys, max_nodes)
        while sum(2 * len(unit.key) for unit in drawn) > _MAX_TEXT_CHARS and max_nodes > 1:
            max_nodes //= 2
            drawn, parents, n_omitted = self._select(keys, max_nodes)
        nodes = self._place(drawn, parents, keys)
        owners = assign_owners(self._units, drawn, self._filter)
        edges, n_omitted_edges = aggregate_edges(self._units.graph, owners, len(drawn), self._filter, max_edges)
        self._layouts.save()
        opened_keys = [unit.key for unit in drawn if unit.key in keys]
        return GraphView(nodes, edges, opened_keys, n_omitted, n_omitted_edges, EXTENT)

    def _normalize(self, opened: Collection[str]) -> set[str]:
        """Return the keys of existing units; a folder merged into one inside it has the inner one's key."""
        keys = set()
        for key in opened:
            try:
                keys.add(self._units.find(key).key)
            except UnknownNameError:
                continue
        return keys

    def _choose_opened(self, max_nodes: int) -> set[str]:
        """Open the largest folders as long as the picture stays legible."""
        room = min(_AUTOMATIC_NODES, max_nodes) - len(self._list_children(self._units.root))
        min_weight = _MIN_OPENED_SHARE * self._units.weigh(self._units.root)
        opened: set[str] = set()
        heap = [(-self._units.weigh(unit), unit.key, unit) for unit in self._list_children(self._units.root)]
        heapq.heapify(heap)
        while heap:
            _, key, unit = heapq.heappop(heap)
            if unit.kind != FOLDER_KIND:
                continue
            children = self._list_children(unit)
            if 1 < len(children) <= room and self._units.weigh(unit) >= min_weight:
                opened.add(key)
                room -= len(children)
                for child in children:
                    heapq.heappush(heap, (-self._units.weigh(child), child.key, child))
        return opened

    def _list_children(self, unit: Unit) -> list[Unit]:
        """List the children of a unit, the largest first."""
        if unit.key not in self._children:
            children = sorted(self._units.list_children(unit), key=lambda child: (-self._units.weigh(child), child.key))
            self._children[unit.key] = children
        return self._children[unit.key]

    def _select(self, opened: Collection[str], max_nodes: int) -> tuple[list[Unit], list[int], int]:
        """Return the drawn units, the position of each one's container, and the number left out."""
        drawn: list[Unit] = []
        parents: list[int] = []
        n_omitted = 0
        queue = [(-1, self._units.root)]
        for parent, container in queue:  # grows while it is read
            children = sorted(self._list_shown_children(container), key=lambda child: child.key not in opened)
            chosen = children[: max_nodes - len(drawn)]
            n_omitted += len(children) - len(chosen)
            for child in chosen:
                if child.key in opened:
                    queue.append((len(drawn), child))
                drawn.append(child)
                parents.append(parent)
        return drawn, parents, n_omitted

    def _list_shown_children(self, container: Unit) -> list[Unit]:
        """List the children of a unit that the filter does not hide."""
        graph = self._units.graph
        children = self._list_children(container)
        if not self._filter.has_external:
            children = [child for child in children if child.key != EXTERNAL_ROOT]
        if self._filter.has_tests or TEST_ROLE not in graph.roles.values:
            return children
        test = graph.roles.values.index(TEST_ROLE)
        return [child for child in children if (graph.roles.codes[child.start : child.stop] != test).any()]

    def _place(self, drawn: Sequence[Unit], parents: Sequence[int], opened: Collection[str]) -> list[ViewNode]:
        """Describe the units, each placed in the circle of its container."""
        circles: list[tuple[float, float, float]] = []
        places_by_container = {-1: self._lay_out(self._units.root)}
        nodes = []
        for position, (unit, parent) in enumerate(zip(drawn, parents, strict=True)):
            x, y, radius = circles[parent] if parent >= 0 else (0.0, 0.0, EXTENT)
            local_x, local_y, local_radius = places_by_container[parent].get(unit.key, (0.0, 0.0, _UNPLACED_RADIUS))
            circles.append((x + local_x * radius, y + local_y * radius, local_radius * radius))
            is_open = unit.key in opened
            if is_open:
                places_by_container[position] = self._lay_out(unit)
            n_children = len(self._children[unit.key]) if unit.key in self._children else None
            x, y, radius = (float(f"{number:.6g}") for number in circles[-1])
            node = self._units.describe(unit, n_children)
            nodes.append(replace(node, parent=parent, is_open=is_open, x=x, y=y, radius=radius))
        return nodes

    def _lay_out(self, container: Unit) -> dict[str, tuple[float, float, float]]:
        """Return the place of each child in the unit circle; the filter has no influence on it."""
        children = self._list_children(container)[:_MAX_LAID_OUT]
        if not children:
            return {}
        weights = np.array([self._units.weigh(child) + 1 for child in children])
        places = self._layouts.lay_out(
            container.key, [child.name for child in children], weights, lambda: self._measure(container, children)
        )
        return {child.key: tuple(place) for child, place in zip(children, places.tolist(), strict=True)}

    def _measure(self, container: Unit, children: Sequence[Unit]) -> Affinities:
        """Count the resolved edges between the children of a container."""
        edges, _ = aggregate_edges(
            self._units.graph,
            assign_owners(self._units, children, ViewFilter()),
            len(children),
            ViewFilter(_LAYOUT_RELATIONS),
            _MAX_AFFINITIES,
            self._find_sources(container),
        )
        first, second, counts = (
            [edge.source for edge in edges],
            [edge.target for edge in edges],
            [edge.count for edge in edges],
        )
        return Affinities(np.array(first, np.int64), np.array(second, np.int64), np.array(counts, np.float64))

    def _find_sources(self, container: Unit) -> tuple[int, int]:
        """Return the range of nodes in which all edges between the children of a container start."""
        file = self._units.graph.find_containing_file(container.node) if container.node >= 0 else None
        if file is None or container.node == file:
            return container.start, container.stop
        nodes = self._units.graph.get_file_nodes(file)
        return nodes.start, nodes.stop
