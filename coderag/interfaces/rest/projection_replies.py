"""Replies of the embedding map."""

from collections.abc import Sequence
from dataclasses import dataclass

from coderag.retrieval.projection.projection import ProjectionInfo


@dataclass(frozen=True, slots=True)
class ProjectionReply:
    """State of the embedding map, and its description once it is ready.

    Attributes:
        root: Folder of the repository.
        generation: Generation of the map; further requests name it.
        is_ready: Whether it is computed; ask again a second later if not.
        stage: What is being done while it is computed: waiting, starting, reading, components, neighbours, layout, places,
            clusters.
        share: Share of the stage that is done, 0 to 1.
        points: Number of points that `GET /api/v1/projection/points` serves.
        part_points: Points in one of its parts.
        info: The map; None until it is ready.
    """

    root: str
    generation: str
    is_ready: bool
    stage: str
    share: float
    points: int
    part_points: int
    info: ProjectionInfo | None


@dataclass(frozen=True, slots=True)
class MapPoint:
    """The chunk of a point.

    Attributes:
        point: Number of the point.
        kind: Kind of the chunk.
    """

    point: int
    path: str
    start_line: int
    end_line: int
    kind: str
    name: str
    qualified_name: str
    language: str
    role: str


@dataclass(frozen=True, slots=True)
class PointsReply:
    """Chunks of points, in the order of the request; numbers without a point are left out."""

    root: str
    generation: str
    points: Sequence[MapPoint]


@dataclass(frozen=True, slots=True)
class MapMark:
    """A result of a query on the map.

    Attributes:
        rank: Its rank, from 1.
        point: Number of its point; None if it was edited after the map was drawn.
        x, y: Its place, in units of the map; 0 without a point.
    """

    rank: int
    point: int | None
    x: int
    y: int
    path: str
    start_line: int
    end_line: int
    kind: str
    qualified_name: str
    score: float


@dataclass(frozen=True, slots=True)
class MarksReply:
    """Results of a query with their places on the map, best first."""

    root: str
    generation: str
    query: str
    marks: Sequence[MapMark]
