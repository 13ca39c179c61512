"""Pictures of few nodes: the neighbourhood of one, a path, a cycle, what a change affects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from coderag.codegraph.symbol_graph import Direction
from coderag.codegraph.view.aggregation import aggregate_edges, assign_owners
from coderag.codegraph.view.neighbours import NeighbourFinder
from coderag.codegraph.view.units import Unit, Units
from coderag.errors import UnknownNameError
from coderag.schema.graph_view import Arrangement, GraphView, ViewDirection, ViewEdge, ViewFilter, ViewStep

_COLUMN_WIDTH: Final = 9.0  # in rows, so that labels have room
_MAX_ROWS: Final = 18
_RADIUS: Final = 0.42
_RING_TOP: Final = 0.25  # of a full turn
_RING_GAP: Final = 4.0
_RING_ROOM: Final = 1.5  # of each node on its ring
_RING_STRETCH: Final = 1.6  # to the sides, where labels are
_RING_TURN: Final = 0.07  # of a full turn, so that nodes of rings do not stand in rows

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Step:
    """Request for the neighbours of a node in a neighbourhood.

    Attributes:
        key: The node, which an earlier step or the subject must have brought.
        direction: Direction of the edges.
        relations: Relations to follow; None for all of the filter.
        limit: Maximum number of neighbours in each direction.
    """

    key: str
    direction: ViewDirection = "both"
    relations: Sequence[str] | None = None
    limit: int = 12


class PictureBuilder:
    """Builds pictures.

    Args:
        units: The hierarchy.
        view_filter: Filter of edges and nodes.
        max_nodes: Maximum number of nodes.
        max_edges: Maximum number of edges.
    """

    def __init__(self, units: Units, view_filter: ViewFilter, max_nodes: int, max_edges: int) -> None:
        self._units = units
        self._filter = view_filter
        self._max_nodes = max_nodes
        self._max_edges = max_edges

    def build_neighbourhood(self, subject: Unit, steps: Sequence[Step]) -> GraphView:
        """Build the neighbourhood of a unit: what uses it to the left, what it uses to the right.

        Later steps move nothing that earlier ones placed.
        """
        finder = NeighbourFinder(self._units, self._filter)
        grid = _Grid()
        grid.place(subject, 0, 0, 0)
        reports = []
        for step in steps:
            unit = self._units.find(step.key)
            if unit.key not in grid.cells:
                continue
            n_shown, n_total = 0, 0
            for direction in _list_directions(step.direction):
                neighbours, total = finder.find(unit, direction, step.relations, step.limit)
                new_units = [neighbour.unit for neighbour in neighbours if neighbour.unit.key not in grid.cells]
                room = max(0, self._max_nodes - len(grid.cells))
                grid.place_neighbours(unit, new_units[:room], direction)
                n_shown += len(neighbours) - len(new_units[room:])
                n_total += total
            reports.append(ViewStep(unit.key, step.direction, n_shown, n_total))
        points = [(column * _COLUMN_WIDTH, float(row)) for column, row in grid.cells.values()]
        view = self._draw(grid.units, points, [grid.distances[unit.key] for unit in grid.units])
        return replace(view, steps=reports)

    def build_arrangement(self, distances: Mapping[str, int], arrangement: Arrangement) -> GraphView:
        """Build a picture of given nodes, with the edges between them.

        Args:
            distances: Distance of each node from the subject, by key; unknown keys are counted as left out.
            arrangement: How to place them.
        """
        units: dict[str, Unit] = {}
        steps: dict[str, int] = {}
        for key, distance in distances.items():
            try:
                unit = self._units.find(key)
            except UnknownNameError:
                continue
            if len(units) < self._max_nodes and unit.key not in units:
                units[unit.key], steps[unit.key] = unit, distance
        drawn, ranks = list(units.values()), list(steps.values())
        if arrangement == "line":
            points = [(number * _COLUMN_WIDTH * 0.7, 1.2 * (number % 2)) for number in range(len(drawn))]
        elif arrangement == "ring":
            points = _place_ring(len(drawn), _measure_ring(len(drawn)))
        else:
            points = _place_rings(ranks, self._aggregate(drawn)[0])
        return replace(self._draw(drawn, points, ranks), omitted_nodes=len(distances) - len(drawn))

    def _aggregate(self, drawn: Sequence[Unit]) -> tuple[list[ViewEdge], int]:
        owners = assign_owners(self._units, drawn, self._filter)
        return aggregate_edges(self._units.graph, owners, len(drawn), self._filter, self._max_edges)

    def _draw(self, drawn: Sequence[Unit], points: Sequence[Point], distances: Sequence[int]) -> GraphView:
        nodes = [
            replace(self._units.describe(unit), x=round(x, 3), y=round(y, 3), radius=_RADIUS, distance=distance)
            for unit, (x, y), distance in zip(drawn, points, distances, strict=True)
        ]
        edges, n_omitted = self._aggregate(drawn)
        extent = max((float(np.hypot(*point)) for point in points), default=0.0) + 1
        return GraphView(nodes, edges, omitted_edges=n_omitted, extent=round(extent, 3))


class _Grid:
    """Cells of a neighbourhood: columns by direction, rows by order."""

    def __init__(self) -> None:
        self.units: list[Unit] = []
        self.cells: dict[str, tuple[int, int]] = {}
        self.distances: dict[str, int] = {}
        self._occupied: set[tuple[int, int]] = set()

    def place(self, unit: Unit, column: int, row: int, distance: int) -> None:
        """Place a unit in a cell."""
        self.units.append(unit)
        self.cells[unit.key] = column, row
        self.distances[unit.key] = distance
        self._occupied.add((column, row))

    def place_neighbours(self, unit: Unit, neighbours: Sequence[Unit], direction: Direction) -> None:
        """Place neighbours in the columns beside a unit, as close to its row as there is room."""
        column, row = self.cells[unit.key]
        side = 1 if direction == "out" else -1
        ordered = sorted(neighbours, key=lambda neighbour: neighbour.key)
        for start in range(0, len(ordered), _MAX_ROWS):
            column += side
            group = ordered[start : start + _MAX_ROWS]
            top = row + (len(group) - 1) // 2
            for number, neighbour in enumerate(group):
                self.place(neighbour, column, self._find_free(column, top - number), self.distances[unit.key] + 1)

    def _find_free(self, column: int, row: int) -> int:
        offset = 0
        while (column, row + offset) in self._occupied:
            offset = -offset if offset > 0 else 1 - offset
        return row + offset


def _list_directions(direction: ViewDirection) -> list[Direction]:
    return ["in", "out"] if direction == "both" else [direction]


def _measure_ring(n_nodes: int, at_least: float = 3.0) -> float:
    return max(at_least, n_nodes * _RING_ROOM / (2 * np.pi))


def _place_ring(n_nodes: int, radius: float, start: float = _RING_TOP) -> list[Point]:
    angles = 2 * np.pi * (start - np.arange(n_nodes) / max(n_nodes, 1))
    xs, ys = radius * _RING_STRETCH * np.cos(angles), radius * np.sin(angles)
    return list(zip(xs.tolist(), ys.tolist(), strict=True))


def _place_rings(distances: Sequence[int], edges: Sequence[ViewEdge]) -> list[Point]:
    """Place nodes on a ring for each distance, close to what they are connected with on inner rings."""
    points: list[Point] = [(0.0, 0.0)] * len(distances)
    linked: list[list[int]] = [[] for _ in distances]
    for edge in edges:
        linked[edge.source].append(edge.target)
        linked[edge.target].append(edge.source)
    radius = 0.0
    for distance in sorted({*distances}):
        ring = [position for position, other in enumerate(distances) if other == distance]
        if distance == 0 and len(ring) == 1:
            continue
        radius = _measure_ring(len(ring), radius + _RING_GAP)
        ring.sort(key=lambda position: _measure_angle(position, linked, distances, points))
        for position, point in zip(
            ring, _place_ring(len(ring), radius, _RING_TOP - distance * _RING_TURN), strict=True
        ):
            points[position] = point
    return points


def _measure_angle(
    position: int, linked: Sequence[Sequence[int]], distances: Sequence[int], points: Sequence[Point]
) -> tuple[float, int]:
    """Return the clockwise angle from the top to the mean of what a node is connected with on inner rings."""
    inner = [points[other] for other in linked[position] if distances[other] < distances[position]]
    x, y = sum(point[0] for point in inner), sum(point[1] for point in inner)
    return float(np.arctan2(x, y)) % (2 * np.pi), position
