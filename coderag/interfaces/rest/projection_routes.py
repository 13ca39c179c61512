"""Routes for the embedding map: a picture of all chunks in which similar ones lie together."""

from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, Response

from coderag.errors import RetrievalError
from coderag.interfaces.rest.parameters import RootParameter
from coderag.interfaces.rest.projection_bodies import (
    MAX_PARTS,
    PART_POINTS,
    GenerationParameter,
    MarksBody,
    PartParameter,
    PointsBody,
    SimilarityBody,
)
from coderag.interfaces.rest.projection_replies import MapMark, MapPoint, MarksReply, PointsReply, ProjectionReply
from coderag.interfaces.rest.request_runner import RequestRunner, RunnerDependency
from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.retrieval.projection.projection import FACETS, Projection
from coderag.stores.pointer import Pointer

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from coderag.schema.search import SearchHit
    from coderag.stores.snapshot import Snapshot
    from coderag.workspace.repository import OpenRepository

router = APIRouter(route_class=StrictRoute, tags=["projection"], prefix="/projection")

_BINARY: Final = "application/octet-stream"
_MAX_POINTS: Final = MAX_PARTS * PART_POINTS
_BYTES_SCHEMA: Final[dict[str, Any]] = {"schema": {"type": "string", "format": "binary"}}
_PART_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "For n points, in little-endian order: x and y as n uint16 each; then language, role, folder and"
        " cluster as n uint8 each, which are codes of `info`.",
        "content": {_BINARY: _BYTES_SCHEMA},
    }
}
_SIMILARITY_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "One uint8 a point: 0 for the median similarity and below, 255 for the highest.",
        "content": {_BINARY: _BYTES_SCHEMA},
    }
}
_DETAIL_COLUMNS: Final = (
    "path", "start_line", "end_line", "kind", "name", "qualified_name", "language", "role",
)  # fmt: skip


@router.get("", response_model=ProjectionReply, summary="Describe the embedding map")
async def projection(root: RootParameter, runner: RunnerDependency) -> Response:
    """Return the map's legend and clusters; if the generation has none yet, start to compute it and tell how far it is."""
    return await runner.reply(partial(_describe, runner, root), is_long=True)


@router.get("/points", response_class=Response, responses=_PART_RESPONSES, summary="Get the points of the map")
async def points(
    root: RootParameter, generation: GenerationParameter, runner: RunnerDependency, part: PartParameter = 0
) -> Response:
    """Return the places and codes of one part of the points, as bytes. Any first points are a sample of all folders."""
    body = await runner.run(partial(_encode_part, runner, root, generation, part), is_long=True)
    return Response(body, media_type=_BINARY)


@router.post("/points", response_model=PointsReply, summary="Describe points of the map")
async def describe_points(body: PointsBody, runner: RunnerDependency) -> Response:
    """Return the chunks of some points."""
    return await runner.reply(partial(_describe_points, runner, body))


@router.post(
    "/similarity", response_class=Response, responses=_SIMILARITY_RESPONSES, summary="Compare all points with a query"
)
async def similarity(body: SimilarityBody, runner: RunnerDependency) -> Response:
    """Return the similarity of every point to a query, as bytes in the order of drawing."""
    return Response(await runner.run(partial(_encode_similarity, runner, body)), media_type=_BINARY)


@router.post("/marks", response_model=MarksReply, summary="Find the results of a query on the map")
async def marks(body: MarksBody, runner: RunnerDependency) -> Response:
    """Return the results of a search with their places on the map, best first."""
    return await runner.reply(partial(_find_marks, runner, body))


@dataclass(frozen=True, slots=True)
class _OpenMap:
    """The map of a repository, with what its points stand for."""

    repository: "OpenRepository"
    pointer: Pointer
    projection: Projection

    @property
    def drawn(self) -> "NDArray[np.uint32]":
        """Rows of the generation, by point."""
        return self.projection.order[:_MAX_POINTS]


def _describe(runner: RequestRunner, root: str) -> ProjectionReply:
    with runner.hold_repository(root) as repository:
        pointer, state = runner.workspace.projections.get(repository.engine)
    return ProjectionReply(
        root=repository.place,
        generation=_format_generation(pointer),
        is_ready=isinstance(state, Projection),
        stage="" if isinstance(state, Projection) else state.stage,
        share=1.0 if isinstance(state, Projection) else state.share,
        points=min(len(state), _MAX_POINTS) if isinstance(state, Projection) else 0,
        part_points=PART_POINTS,
        info=state.info if isinstance(state, Projection) else None,
    )


def _encode_part(runner: RequestRunner, root: str, generation: str, part: int) -> bytes:
    with _open_map(runner, root, generation) as opened:
        rows = opened.drawn[part * PART_POINTS : (part + 1) * PART_POINTS]
        shape = opened.projection
        arrays = [shape.x.astype("<u2"), shape.y.astype("<u2"), *(shape.codes[name] for name in (*FACETS, "cluster"))]
    return b"".join(array[rows].tobytes() for array in arrays)


def _describe_points(runner: RequestRunner, body: PointsBody) -> PointsReply:
    import numpy as np  # noqa: PLC0415  # 0.1 s, loaded with the index

    with _open_map(runner, body.root, body.generation) as opened:
        numbers = [number for number in body.points if number < len(opened.drawn)]
        rows = opened.drawn[np.array(numbers, np.int64)]
        chunks = _take(opened.repository.engine.open_generation(), rows)
    described = [MapPoint(point=number, **chunk) for number, chunk in zip(numbers, chunks, strict=True)]
    return PointsReply(opened.repository.place, body.generation, described)


def _encode_similarity(runner: RequestRunner, body: SimilarityBody) -> bytes:
    import numpy as np  # noqa: PLC0415  # as above

    with _open_map(runner, body.root, body.generation) as opened:
        snapshot, cosines = opened.repository.engine.compute_similarities(body.query)
        _check_generation(snapshot.pointer, body.generation)
        values = cosines[opened.drawn]
    low, high = (float(np.median(values)), float(values.max())) if len(values) else (0.0, 0.0)
    scaled = np.clip((values - low) / max(high - low, 1e-6), 0, 1)
    return bytes(np.rint(scaled * 255).astype(np.uint8).tobytes())


def _find_marks(runner: RequestRunner, body: MarksBody) -> MarksReply:
    with _open_map(runner, body.root, body.generation) as opened:
        engine = opened.repository.engine
        hits = engine.search(body.query, top_k=body.top_k)
        rows = _find_rows(engine.open_generation(), hits)
        points = _find_points(opened, rows)
        shape = opened.projection
        marks = [
            MapMark(
                rank=rank,
                point=points[rank - 1],
                x=0 if row is None else int(shape.x[row]),
                y=0 if row is None else int(shape.y[row]),
                path=str(hit.path),
                start_line=hit.start_line,
                end_line=hit.end_line,
                kind=hit.kind,
                qualified_name=hit.qualified_name or hit.name,
                score=hit.score,
            )
            for rank, (hit, row) in enumerate(zip(hits, rows, strict=True), 1)
        ]
    return MarksReply(opened.repository.place, body.generation, body.query, marks)


@contextmanager
def _open_map(runner: RequestRunner, root: str, generation: str) -> "Iterator[_OpenMap]":
    """Open the map of a generation.

    Raises:
        RetrievalError: It is not computed yet, or the repository has a newer generation.
    """
    with runner.hold_repository(root) as repository:
        pointer, state = runner.workspace.projections.get(repository.engine)
        _check_generation(pointer, generation)
        if not isinstance(state, Projection):
            raise RetrievalError("the map is not computed yet", hint="GET /api/v1/projection tells how far it is.")
        yield _OpenMap(repository, pointer, state)


def _check_generation(pointer: Pointer, generation: str) -> None:
    if _format_generation(pointer) != generation:
        message = f"the map of generation {generation.partition('-')[0]} was replaced by that of {pointer.generation}"
        raise RetrievalError(message, hint="Load the map again.")


def _format_generation(pointer: Pointer) -> str:
    return "-".join(map(str, pointer.identity))


def _take(snapshot: "Snapshot", rows: "NDArray[np.integer]") -> list[dict[str, Any]]:
    """Return the described columns of some chunks."""
    chunks: list[dict[str, Any]] = snapshot.take(rows, _DETAIL_COLUMNS).to_pylist() if len(rows) else []
    return chunks


def _find_rows(snapshot: "Snapshot", hits: "Sequence[SearchHit]") -> list[int | None]:
    """Find the chunk of each hit; None for one that was edited since."""
    import pyarrow as pa  # noqa: PLC0415  # as above
    import pyarrow.compute as pc  # noqa: PLC0415

    ids = snapshot.read_chunks(["id"])["id"]
    index = pc.index_in(ids, value_set=pa.array([hit.chunk_id for hit in hits], ids.type))
    is_hit = pc.is_valid(index)
    rows = pc.indices_nonzero(is_hit).to_pylist()
    by_hit = dict(zip(index.filter(is_hit).to_pylist(), rows, strict=True))
    ranks = {hit.chunk_id: by_hit.get(number) for number, hit in reversed(list(enumerate(hits)))}
    return [ranks[hit.chunk_id] for hit in hits]


def _find_points(opened: _OpenMap, rows: Sequence[int | None]) -> list[int | None]:
    """Find the point of each row; None for a row that is not drawn."""
    import numpy as np  # noqa: PLC0415  # as above

    known = np.array([row for row in rows if row is not None], np.uint32)
    points = np.flatnonzero(np.isin(opened.drawn, known))
    by_row = dict(zip(opened.drawn[points].tolist(), points.tolist(), strict=True))
    return [None if row is None else by_row.get(row) for row in rows]
