"""The chunks next to a chunk: its class, members, siblings, callers, callees, and the files it imports."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cached_property

from coderag.codegraph.graph import CONFIDENCE, RESOLVED, CodeGraph
from coderag.schema import Relation
from coderag.stores.corpus import Corpus

NeighbourTuple = tuple[int, Relation, float, int]
"""(row, relation, confidence 0 to 1, line of evidence or 0)."""

_SIBLINGS = 1  # on each side
_MOST_CALLERS = 8
_MOST_MEMBERS = 12
_IMPORT_CONFIDENCE = CONFIDENCE["import"]


class Neighbours:
    """Walks between chunks.

    Args:
        corpus: The open index.
        graph: Its relations.
    """

    def __init__(self, corpus: Corpus, graph: CodeGraph) -> None:
        self._corpus = corpus
        self._graph = graph

    def of(self, row: int, relevance: Callable[[int], float]) -> Iterator[NeighbourTuple]:
        """Yield the neighbours of a chunk.

        Args:
            row: The chunk.
            relevance: Chooses the chunk that stands for an imported file.
        """
        yield from self._contained(row)
        yield from self._siblings(row)
        yield from self._called(row)
        yield from self._calling(row)
        yield from self._imported(row, relevance)

    def _contained(self, row: int) -> Iterator[NeighbourTuple]:
        parent = self._corpus.value("parent", row)
        file = int(self._corpus.file_of[row])
        if parent and (owner := self._declaring.get((file, parent))) is not None and owner != row:
            yield owner, "contained_by", 1.0, 0
        name = self._corpus.value("qualified_name", row)
        for member in self._members.get((file, name), ())[:_MOST_MEMBERS]:
            if member != row:
                yield member, "contains", 1.0, 0

    def _siblings(self, row: int) -> Iterator[NeighbourTuple]:
        parent = self._corpus.value("parent", row)
        if not parent:
            return
        members = self._members.get((int(self._corpus.file_of[row]), parent), [])
        position = members.index(row) if row in members else -1
        for other in members[max(0, position - _SIBLINGS) : position + _SIBLINGS + 1]:
            if other != row:
                yield other, "sibling", 1.0, 0

    def _called(self, row: int) -> Iterator[NeighbourTuple]:
        for match, confidence in self._graph.called_declarations(row):
            if match.row != row:
                yield match.row, "callee", confidence, match.start_line

    def _calling(self, row: int) -> Iterator[NeighbourTuple]:
        tests = self._test_rows
        found = 0
        for other, confidence in self._graph.calling_rows(row):
            if confidence >= RESOLVED and found < _MOST_CALLERS:
                found += 1
                yield other, "test_for" if other in tests else "caller", confidence, 0

    def _imported(self, row: int, relevance: Callable[[int], float]) -> Iterator[NeighbourTuple]:
        file = int(self._corpus.file_of[row])
        directions: tuple[tuple[Relation, frozenset[int]], ...] = (
            ("imports", self._graph.imports[file]),
            ("imported_by", self._graph.imported_by[file]),
        )
        for relation, files in directions:
            for other in files:
                best = max(self._corpus.chunk_rows(other), key=relevance)
                yield best, relation, _IMPORT_CONFIDENCE, 0

    @cached_property
    def _members(self) -> dict[tuple[int, str], list[int]]:
        """For each (file, declaration), its members' chunks in order."""
        members: dict[tuple[int, str], list[int]] = defaultdict(list)
        for row, parent in enumerate(self._corpus.column("parent")):
            if parent:
                members[int(self._corpus.file_of[row]), parent].append(row)
        return members

    @cached_property
    def _declaring(self) -> dict[tuple[int, str], int]:
        """For each (file, declaration), the chunk with its header."""
        names = self._corpus.column("qualified_name")
        return {(int(self._corpus.file_of[row]), names[row]): row for row in range(len(names) - 1, -1, -1)}

    @cached_property
    def _test_rows(self) -> frozenset[int]:
        return frozenset(row for row, role in enumerate(self._corpus.column("role")) if role == "test")
