"""Breadth-first expansion of results along relations, the most relevant code first."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from coderag.schema.query import RelatedChunk
from coderag.schema.vocabulary import Relation

RELATION_WEIGHTS: dict[Relation, float] = {
    "callee": 1.0, "contained_by": 0.9, "caller": 0.9, "base": 0.9, "interface_of": 0.9, "contains": 0.8, "derived": 0.8,
    "value": 0.8, "test_for": 0.7, "sibling": 0.6, "imports": 0.6, "imported_by": 0.5,
}  # fmt: skip
"""Usefulness of related code for understanding a result, 0 to 1; set by hand."""

_DEPTH_DECAY = 0.5
_MIN_RELEVANCE = 0.3  # a callee helps even if it shares no word with the question


NeighbourTuple = tuple[int, Relation, float, int]
"""Neighbour of a chunk: (row, relation, confidence 0 to 1, line of the evidence or 0)."""


class Seed(NamedTuple):
    """Result to start from; ``label`` is its name in "caller of …"."""

    row: int
    label: str


class _ReachedChunk(NamedTuple):
    score: float
    row: int
    relation: Relation
    related_to: str
    origin_row: int
    depth: int
    line: int


def expand_seeds(
    seeds: Sequence[Seed],
    iter_neighbours: Callable[[int], Iterable[NeighbourTuple]],
    compute_relevance: Callable[[int], float],
    get_label: Callable[[int], str],
    get_chunk_id: Callable[[int], str],
    *,
    depth: int,
    limit: int,
) -> list[RelatedChunk]:
    """Expand seeds to related chunks, best first, without the seeds.

    Args:
        seeds: Results.
        iter_neighbours: Returns the neighbours of a chunk.
        compute_relevance: Returns the relevance of a chunk to the question, 0 to 1.
        get_label: Returns the name of a chunk.
        get_chunk_id: Returns the id of a chunk.
        depth: Maximum number of steps.
        limit: Maximum number of chunks.
    """
    best: dict[int, _ReachedChunk] = {}
    seen = {seed.row for seed in seeds}
    frontier = list(seeds)
    for step in range(1, depth + 1):
        reached: dict[int, _ReachedChunk] = {}
        for row, origin in frontier:
            for neighbour, relation, confidence, line in iter_neighbours(row):
                if neighbour in seen:
                    continue
                weight = RELATION_WEIGHTS[relation] * confidence * _DEPTH_DECAY ** (step - 1)
                score = weight * (_MIN_RELEVANCE + compute_relevance(neighbour))
                if neighbour not in reached or score > reached[neighbour].score:
                    reached[neighbour] = _ReachedChunk(score, neighbour, relation, origin, row, step, line)
        best.update(reached)
        seen.update(reached)
        nearest = sorted(reached.values(), key=lambda chunk: (-chunk.score, chunk.row))[:limit]
        frontier = [Seed(chunk.row, get_label(chunk.row)) for chunk in nearest]
    chosen = sorted(best.values(), key=lambda chunk: (-chunk.score, chunk.row))[:limit]
    return [
        RelatedChunk(
            chunk_id=get_chunk_id(chunk.row),
            relation=chunk.relation,
            related_to=chunk.related_to,
            origin=get_chunk_id(chunk.origin_row),
            depth=chunk.depth,
            score=round(chunk.score, 4),
            line=chunk.line,
        )
        for chunk in chosen
    ]
