"""Request bodies and parameters of the embedding map."""

from typing import Annotated, Final

from fastapi import Query
from pydantic import Field

from coderag.interfaces.rest.bodies import QueryText, RootBody

MAX_DETAILS: Final = 500
MAX_MARKED: Final = 100
MAX_POINT: Final = (1 << 32) - 1
MAX_PARTS: Final = 5
PART_POINTS: Final = 200_000
"""Points in one part: 8 bytes each, so that a reply stays below 2 MB."""

_GENERATION: Final = r"^[0-9]{1,12}-[0-9A-Za-z:.+-]{1,64}$"
_GENERATION_DESCRIPTION: Final = "`generation` of `GET /api/v1/projection`: points of another one have other numbers."

GenerationParameter = Annotated[str, Query(max_length=80, pattern=_GENERATION, description=_GENERATION_DESCRIPTION)]
PartParameter = Annotated[
    int,
    Query(
        ge=0, lt=MAX_PARTS, description=f"Part of the points: {PART_POINTS:,} each, the first part is a sample of all."
    ),
]


class ProjectionBody(RootBody):
    """A request for the map of one generation."""

    generation: str = Field(max_length=80, pattern=_GENERATION, description=_GENERATION_DESCRIPTION)


class PointsBody(ProjectionBody):
    """Points whose chunks are described."""

    points: list[Annotated[int, Field(ge=0, le=MAX_POINT)]] = Field(
        min_length=1, max_length=MAX_DETAILS, description="Numbers of points, in the order of drawing, from 0."
    )


class SimilarityBody(ProjectionBody):
    """A query that colours the map."""

    query: QueryText


class MarksBody(SimilarityBody):
    """A query whose results are marked on the map."""

    top_k: int = Field(20, ge=1, le=MAX_MARKED, description="Maximum number of results.")
