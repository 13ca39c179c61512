"""Follow relations from the results to what belongs to them: breadth-first, the most relevant first."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from coderag.schema.query import RelatedChunk
from coderag.schema.vocabulary import Relation

RELATION_WEIGHTS: dict[Relation, float] = {
    "callee": 1.0, "contained_by": 0.9, "caller": 0.9, "base": 0.9, "interface_of": 0.9, "contains": 0.8, "derived": 0.8,
    "test_for": 0.7, "sibling": 0.6, "imports": 0.6, "imported_by": 0.5,
}  # fmt: skip
"""How much code in a relation helps to understand a result, 0 to 1; hand-set."""

_DEPTH_DECAY = 0.5
_MIN_RELEVANCE = 0.3  # a callee helps even if it shares no word with the question


NeighbourTuple = tuple[int, Relation, float, int]
"""A chunk next to another: (row, relation, confidence 0 to 1, line where the relation shows or 0)."""


class Seed(NamedTuple):
    """A result to start from; ``label`` is what it is called in "caller of …"."""

    row: int
    label: str


class _ReachedChunk(NamedTuple):
    score: float
    row: int
    relation: Relation
    related_to: str
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
    """Return chunks related to the seeds, best first; seeds themselves are left out.

    Args:
        seeds: The results.
        iter_neighbours: The chunks next to a chunk.
        compute_relevance: How well a chunk fits the question, 0 to 1.
        get_label: What a chunk is called.
        get_chunk_id: Its id.
        depth: Number of steps, at most.
        limit: Number of chunks, at most.
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
                    reached[neighbour] = _ReachedChunk(score, neighbour, relation, origin, step, line)
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
            depth=chunk.depth,
            score=round(chunk.score, 4),
            line=chunk.line,
        )
        for chunk in chosen
    ]
