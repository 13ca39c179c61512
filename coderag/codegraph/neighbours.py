"""The chunks next to a chunk: around it and inside, what it calls, imports and extends, and what does so to it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coderag.codegraph.columns import IntArray
from coderag.codegraph.graph import CodeGraph
from coderag.codegraph.relations import NOUNS
from coderag.codegraph.symbol_graph import Direction
from coderag.schema.vocabulary import GraphRelation, Relation
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

    def of(self, row: int, best_rows: NDArray[np.integer]) -> Iterator[NeighbourTuple]:
        """Yield the neighbours of a chunk, those of one relation the surest first, each once.

        Args:
            row: The chunk.
            best_rows: int (n_files,), the chunk that stands for a file which is imported or imports as a whole.
        """
        file = self._symbols.file_node(self._corpus.get_value("path", row))
        if file is None:
            return
        declared = self._declared_in(row, file)
        seen: set[tuple[int, Relation]] = set()
        counts: Counter[Relation] = Counter()
        for neighbour in chain(self._around(row, declared), self._linked(row, file, declared, best_rows)):
            near, relation, _, _ = neighbour
            most = _MOST_OF.get(relation, _MOST)
            if near != row and counts[relation] < most and (near, relation) not in seen:
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
        corpus, symbols, row_of = self._corpus, self._symbols, self._rows
        if not declared:
            around = symbols.at(corpus.get_value("path", row), int(corpus.start_lines[row]))
            if around is not None and symbols.kinds[around] != FILE_KIND:
                yield int(row_of[around]), "contained_by", 1.0, 0
        own = frozenset(declared)
        parents = dict(zip(declared, symbols.parents[declared].tolist(), strict=True))
        for parent in dict.fromkeys(parent for parent in parents.values() if parent not in own):
            if symbols.kinds[parent] == FILE_KIND:
                continue
            holder = int(row_of[parent])
            yield holder, "contained_by", 1.0, 0
            members = symbols.children(parent)
            places = [place for place, member in enumerate(members) if member in own]
            for beside in (members[: places[0]][::-1], members[places[-1] + 1 :]):
                rows = row_of[beside].tolist()
                if (near := next((other for other in rows if other not in (row, holder)), None)) is not None:
                    yield near, "sibling", 1.0, 0
        for node in declared:
            for member in symbols.children(node):
                if member not in own:
                    yield int(row_of[member]), "contains", 1.0, 0

    # Edges

    def _linked(
        self, row: int, file: int, declared: Sequence[int], best_rows: NDArray[np.integer]
    ) -> Iterator[NeighbourTuple]:
        """Yield the chunks at the far ends of the edges from what is in a chunk and to it, the surest first."""
        symbols = self._symbols
        for direction, found in self._edges(row, file, declared):
            surest = found[np.lexsort((found, -symbols.confidences[found]))[:_MOST_EDGES]]
            far = (symbols.targets if direction == "out" else symbols.sources)[surest]
            known = self._files[far] >= 0  # what is external, or in no chunk, is not shown
            surest, far = surest[known], far[known]
            files, lines = self._files[far], symbols.lines[surest]
            rows = self._rows[far] if direction == "out" else self._rows_at(files, lines)
            confidences = symbols.confidences[surest].astype(np.float64).round(4)
            columns = (symbols.relations.codes[surest], far, files, rows, confidences, lines)
            for code, node, near_file, near, confidence, line in zip(*(part.tolist() for part in columns), strict=True):
                relation = symbols.relations.words[code]
                noun = NOUNS[relation, direction]
                if noun == "caller" and symbols.roles[node] == "test":
                    noun = "test_for"
                if noun in _RELATIONS:
                    whole = relation == "imports" and symbols.kinds[node] == FILE_KIND
                    yield int(best_rows[near_file]) if whole else near, _RELATIONS[noun], confidence, line

    def _edges(self, row: int, file: int, declared: Sequence[int]) -> Iterator[tuple[Direction, IntArray]]:
        """Yield the positions of the edges from what is in a chunk and of those to it, as far as they say something."""
        symbols, corpus = self._symbols, self._corpus
        inside = symbols.nodes_of_file(file)
        out = symbols.positions(np.arange(inside.start, inside.stop), "out", _EDGES)
        lines = symbols.lines[out]
        here = (corpus.start_lines[row] <= lines) & (lines <= corpus.end_lines[row])
        here |= symbols.wanted(out, ("imports",), 0.0)  # what a file imports, all of its chunks may use
        yield "out", out[here]
        yield "in", symbols.positions([file, *declared], "in", _EDGES)

    # Chunks of nodes

    @cached_property
    def _files(self) -> IntArray:
        """int64 (n_nodes,): the number of each node's file; -1 for what is external, or in no chunk."""
        numbers = {path: file for file, path in enumerate(self._corpus.paths)}
        paths = self._symbols.paths
        return np.array([numbers.get(path, -1) for path in paths.words], np.int64)[paths.codes]

    @cached_property
    def _rows(self) -> IntArray:
        """int64 (n_nodes,): the chunk in which each node begins."""
        return self._rows_at(self._files, self._symbols.start_lines)

    @cached_property
    def _places(self) -> IntArray:
        """int64 (n_chunks,), ascending: where each chunk begins."""
        return _place(self._corpus.chunk_files, self._corpus.start_lines)

    def _rows_at(self, files: IntArray, lines: IntArray) -> IntArray:
        """Return the chunks with some lines; of two with a line, the one that accounts for it."""
        rows = np.searchsorted(self._places, _place(files, lines), side="right") - 1
        return np.maximum(rows, self._corpus.file_starts[files])


def _place(files: NDArray[np.integer], lines: NDArray[np.integer]) -> IntArray:
    """Return files and lines as one number each, in the order of both."""
    return (files.astype(np.int64) << 32) | lines
