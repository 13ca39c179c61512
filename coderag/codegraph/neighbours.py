"""The chunks next to a chunk: around it and inside, what it calls, imports and extends, and what does so to it."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import chain
from types import MappingProxyType
from typing import Final

import numpy as np

from coderag.codegraph.columns import FloatArray
from coderag.codegraph.graph import CodeGraph
from coderag.codegraph.relations import NOUNS
from coderag.codegraph.symbol_graph import DIRECTIONS, Direction, GraphEdge
from coderag.schema import GraphRelation, Relation
from coderag.stores.corpus import Corpus
from coderag.stores.graph_tables import FILE_KIND

NeighbourTuple = tuple[int, Relation, float, int]
"""(row, relation, confidence 0 to 1, line of evidence or 0)."""

_RELATIONS: Final[Mapping[GraphRelation, Relation]] = MappingProxyType(
    {
        "caller": "caller",
        "callee": "callee",
        "imports": "imports",
        "imported_by": "imported_by",
        "base": "base",
        "overridden": "base",
        "derived": "derived",
        "implementation": "derived",
        "override": "derived",
        "interface_of": "interface_of",
        "test_for": "test_for",
    }
)
"""Of all that the code graph knows, what helps to understand a chunk, and what it is called there."""

_EDGES: Final = frozenset(relation for (relation, _), noun in NOUNS.items() if noun in _RELATIONS)
_MOST_OF: Final[Mapping[Relation, int]] = MappingProxyType({"contains": 12, "imports": 12, "imported_by": 12})
_MOST = 8  # of any other relation
_MOST_EDGES = 200  # looked at, the surest first


class Neighbours:
    """Walks between chunks.

    Args:
        corpus: The open index.
        graph: The code graph of the same generation.
    """

    def __init__(self, corpus: Corpus, graph: CodeGraph) -> None:
        self._corpus = corpus
        self._symbols = graph.symbols

    def of(self, row: int, relevance: FloatArray) -> Iterator[NeighbourTuple]:
        """Yield the neighbours of a chunk, those of one relation the surest first, each once.

        Args:
            row: The chunk.
            relevance: How well each chunk fits the question, float32 (n_chunks,): of an imported or importing file the
                best stands for it.
        """
        file = self._symbols.file_node(self._corpus.value("path", row))
        if file is None:
            return
        declared = self._declared_in(row, file)
        seen = {(row, relation) for relation in ("contained_by", "contains", "sibling", *_RELATIONS.values())}
        counts: Counter[Relation] = Counter()

        @cache
        def best_of(file: int) -> int:
            rows = self._corpus.chunk_rows(file)
            return rows.start + int(np.argmax(relevance[rows.start : rows.stop]))

        def is_full(relation: Relation) -> bool:
            return counts[relation] >= _MOST_OF.get(relation, _MOST)

        linked = (
            (near, relation, edge.confidence, edge.line)
            for edge, direction, relation in self._edges(row, file, declared)
            if not is_full(relation) and (near := self._row_of_end(edge, direction, best_of)) is not None
        )
        for neighbour in chain(self._around(row, declared), linked):
            near, relation, _, _ = neighbour
            if (near, relation) not in seen and not is_full(relation):
                seen.add((near, relation))
                counts[relation] += 1
                yield neighbour

    # Declarations around and inside

    def _declared_in(self, row: int, file: int) -> list[int]:
        """Return the declarations that begin in a chunk."""
        inside = self._symbols.nodes_of_file(file)
        starts = self._symbols.start_lines[inside.start + 1 : inside.stop]
        first, last = self._corpus.start_lines[row], self._corpus.end_lines[row]
        found: list[int] = (np.flatnonzero((first <= starts) & (starts <= last)) + inside.start + 1).tolist()
        return found

    def _around(self, row: int, declared: Sequence[int]) -> Iterator[NeighbourTuple]:
        """Yield the chunks of what a chunk is a part of, of its members, and beside it."""
        corpus, symbols = self._corpus, self._symbols
        if not declared:
            around = symbols.at(corpus.value("path", row), int(corpus.start_lines[row]))
            if around is not None and symbols.kinds[around] != FILE_KIND:
                yield self._row_of(around), "contained_by", 1.0, 0
        outermost = [node for node in declared if int(symbols.parents[node]) not in declared]
        for parent in dict.fromkeys(int(symbols.parents[node]) for node in outermost):
            if symbols.kinds[parent] == FILE_KIND:
                continue
            holder = self._row_of(parent)
            yield holder, "contained_by", 1.0, 0
            members = symbols.children(parent)
            places = [place for place, member in enumerate(members) if member in declared]
            for beside in (members[: places[0]][::-1], members[places[-1] + 1 :]):
                rows = (self._row_of(member) for member in beside)
                if (near := next((other for other in rows if other not in (row, holder)), None)) is not None:
                    yield near, "sibling", 1.0, 0
        for node in declared:
            for member in symbols.children(node):
                if member not in declared:
                    yield self._row_of(member), "contains", 1.0, 0

    # Edges

    def _edges(self, row: int, file: int, declared: Sequence[int]) -> Iterator[tuple[GraphEdge, Direction, Relation]]:
        """Yield the edges from what is in a chunk and to it, the surest first, with what their far ends are to it."""
        symbols, corpus = self._symbols, self._corpus
        inside = symbols.nodes_of_file(file)
        out = symbols.positions(np.arange(inside.start, inside.stop), "out", _EDGES)
        lines = symbols.lines[out]
        here = (corpus.start_lines[row] <= lines) & (lines <= corpus.end_lines[row])
        of_file = symbols.wanted(out, ("imports",), 0.0)  # what a file imports, all of its chunks may use
        positions = {"out": out[here | of_file], "in": symbols.positions([file, *declared], "in", _EDGES)}
        for direction in DIRECTIONS:
            found = positions[direction]
            surest = np.lexsort((found, -symbols.confidences[found]))[:_MOST_EDGES]
            for edge in symbols.edges_at(found[surest]):
                noun = NOUNS[edge.relation, direction]
                if noun == "caller" and symbols.roles[edge.source] == "test":
                    noun = "test_for"
                if noun in _RELATIONS:
                    yield edge, direction, _RELATIONS[noun]

    def _row_of_end(self, edge: GraphEdge, direction: Direction, best_of: Callable[[int], int]) -> int | None:
        """Return the chunk at the far end of an edge; None for what is external, or in no chunk."""
        far = edge.target if direction == "out" else edge.source
        file = self._file_numbers.get(self._symbols.paths[far])
        if file is None:
            return None
        if edge.relation == "imports" and self._symbols.kinds[far] == FILE_KIND:
            return best_of(file)
        line = int(self._symbols.start_lines[far]) if direction == "out" else edge.line
        return self._row_at(file, line)

    # Chunks of nodes

    @cached_property
    def _file_numbers(self) -> dict[str, int]:
        return {path: file for file, path in enumerate(self._corpus.paths)}

    def _row_of(self, node: int) -> int:
        """Return the chunk in which a declaration begins."""
        return self._row_at(self._file_numbers[self._symbols.paths[node]], int(self._symbols.start_lines[node]))

    def _row_at(self, file: int, line: int) -> int:
        """Return a file's chunk with a line; of two with it, the one that accounts for it."""
        rows = self._corpus.chunk_rows(file)
        starts = self._corpus.start_lines[rows.start : rows.stop]
        return max(rows.start + int(np.searchsorted(starts, line, side="right")) - 1, rows.start)
