"""Neighbours of a chunk: enclosing and contained declarations, siblings, and both ends of code graph edges."""

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
from coderag.codegraph.relations import NEIGHBOUR_RELATIONS
from coderag.codegraph.symbol_graph import Direction
from coderag.schema.vocabulary import GraphRelation, Relation
from coderag.stores.corpus import Corpus
from coderag.stores.graph_tables import FILE_KIND

NeighbourTuple = tuple[int, Relation, float, int]
"""(row, relation, confidence 0 to 1, line of evidence or 0)."""

_CHUNK_RELATIONS: Final[Mapping[GraphRelation, Relation]] = MappingProxyType(
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
"""Relations of the code graph that help to understand a chunk, with their names in results."""

_EDGE_RELATIONS: Final = frozenset(
    edge_relation for (edge_relation, _), relation in NEIGHBOUR_RELATIONS.items() if relation in _CHUNK_RELATIONS
)
_MAX_NEIGHBOURS_BY_RELATION: Final[Mapping[Relation, int]] = MappingProxyType(
    {"contains": 12, "imports": 12, "imported_by": 12}
)
_MAX_NEIGHBOURS = 8  # for any other relation
_MAX_EDGES = 200  # considered, highest confidence first


class ChunkNeighbours:
    """Finds the neighbours of chunks.

    Args:
        corpus: The open index.
        graph: The code graph of the same generation.
    """

    def __init__(self, corpus: Corpus, graph: CodeGraph) -> None:
        self._corpus = corpus
        self._symbols = graph.symbols

    def find(self, row: int, best_rows: NDArray[np.integer]) -> Iterator[NeighbourTuple]:
        """Yield the neighbours of a chunk, each once; within a relation, highest confidence first.

        Args:
            row: Row of the chunk.
            best_rows: int (n_files,), the chunk that represents a file which is imported, or imports, as a whole.
        """
        file = self._symbols.find_file(self._corpus.get_value("path", row))
        if file is None:
            return
        declarations = self._find_declarations(row, file)
        seen: set[tuple[int, Relation]] = set()
        counts: Counter[Relation] = Counter()
        for neighbour in chain(
            self._find_structural_neighbours(row, declarations),
            self._find_edge_neighbours(row, file, declarations, best_rows),
        ):
            neighbour_row, relation, _, _ = neighbour
            max_neighbours = _MAX_NEIGHBOURS_BY_RELATION.get(relation, _MAX_NEIGHBOURS)
            if neighbour_row != row and counts[relation] < max_neighbours and (neighbour_row, relation) not in seen:
                seen.add((neighbour_row, relation))
                counts[relation] += 1
                yield neighbour

    # Enclosing and contained declarations

    def _find_declarations(self, row: int, file: int) -> list[int]:
        """Return the declarations that begin in a chunk."""
        file_nodes = self._symbols.get_file_nodes(file)
        starts = self._symbols.start_lines[file_nodes.start + 1 : file_nodes.stop]
        first, last = self._corpus.start_lines[row], self._corpus.end_lines[row]
        declarations: list[int] = (np.flatnonzero((first <= starts) & (starts <= last)) + file_nodes.start + 1).tolist()
        return declarations

    def _find_structural_neighbours(self, row: int, declarations: Sequence[int]) -> Iterator[NeighbourTuple]:
        """Yield the chunks of parents, siblings and members of the declarations in a chunk."""
        corpus, symbols, node_rows = self._corpus, self._symbols, self._chunk_rows
        if not declarations:
            enclosing = symbols.find_innermost(corpus.get_value("path", row), int(corpus.start_lines[row]))
            if enclosing is not None and symbols.kinds[enclosing] != FILE_KIND:
                yield int(node_rows[enclosing]), "contained_by", 1.0, 0
        own_nodes = frozenset(declarations)
        parents = dict(zip(declarations, symbols.parents[declarations].tolist(), strict=True))
        for parent in dict.fromkeys(parent for parent in parents.values() if parent not in own_nodes):
            if symbols.kinds[parent] == FILE_KIND:
                continue
            parent_row = int(node_rows[parent])
            yield parent_row, "contained_by", 1.0, 0
            members = symbols.find_children(parent)
            positions = [position for position, member in enumerate(members) if member in own_nodes]
            for siblings in (members[: positions[0]][::-1], members[positions[-1] + 1 :]):
                rows = node_rows[siblings].tolist()
                sibling_row = next((other_row for other_row in rows if other_row not in (row, parent_row)), None)
                if sibling_row is not None:
                    yield sibling_row, "sibling", 1.0, 0
        for node in declarations:
            for member in symbols.find_children(node):
                if member not in own_nodes:
                    yield int(node_rows[member]), "contains", 1.0, 0

    # Edges

    def _find_edge_neighbours(
        self, row: int, file: int, declarations: Sequence[int], best_rows: NDArray[np.integer]
    ) -> Iterator[NeighbourTuple]:
        """Yield the chunks at the far ends of a chunk's edges, highest confidence first."""
        symbols = self._symbols
        for direction, positions in self._find_edges(row, file, declarations):
            strongest = positions[np.lexsort((positions, -symbols.confidences[positions]))[:_MAX_EDGES]]
            far_nodes = (symbols.targets if direction == "out" else symbols.sources)[strongest]
            is_indexed = self._file_numbers[far_nodes] >= 0  # external nodes and files without chunks are not shown
            strongest, far_nodes = strongest[is_indexed], far_nodes[is_indexed]
            files, lines = self._file_numbers[far_nodes], symbols.lines[strongest]
            rows = self._chunk_rows[far_nodes] if direction == "out" else self._find_rows(files, lines)
            confidences = symbols.confidences[strongest].astype(np.float64).round(4)
            columns = (symbols.relations.codes[strongest], far_nodes, files, rows, confidences, lines)
            for code, node, far_file, far_row, confidence, line in zip(
                *(column.tolist() for column in columns), strict=True
            ):
                relation = symbols.relations.values[code]
                neighbour_relation = NEIGHBOUR_RELATIONS[relation, direction]
                if neighbour_relation == "caller" and symbols.roles[node] == "test":
                    neighbour_relation = "test_for"
                if neighbour_relation in _CHUNK_RELATIONS:
                    is_file_import = relation == "imports" and symbols.kinds[node] == FILE_KIND
                    yield (
                        int(best_rows[far_file]) if is_file_import else far_row,
                        _CHUNK_RELATIONS[neighbour_relation],
                        confidence,
                        line,
                    )

    def _find_edges(self, row: int, file: int, declarations: Sequence[int]) -> Iterator[tuple[Direction, IntArray]]:
        """Yield the positions of the relevant edges from a chunk, then of those to it."""
        symbols, corpus = self._symbols, self._corpus
        file_nodes = symbols.get_file_nodes(file)
        outgoing = symbols.find_edge_positions(np.arange(file_nodes.start, file_nodes.stop), "out", _EDGE_RELATIONS)
        lines = symbols.lines[outgoing]
        is_in_chunk = (corpus.start_lines[row] <= lines) & (lines <= corpus.end_lines[row])
        is_in_chunk |= symbols.match_edges(outgoing, ("imports",), 0.0)  # any chunk of a file may use its imports
        yield "out", outgoing[is_in_chunk]
        yield "in", symbols.find_edge_positions([file, *declarations], "in", _EDGE_RELATIONS)

    # Chunks of nodes

    @cached_property
    def _file_numbers(self) -> IntArray:
        """int64 (n_nodes,): number of each node's file; -1 for external nodes and files without chunks."""
        numbers = {path: file for file, path in enumerate(self._corpus.paths)}
        paths = self._symbols.paths
        return np.array([numbers.get(path, -1) for path in paths.values], np.int64)[paths.codes]

    @cached_property
    def _chunk_rows(self) -> IntArray:
        """int64 (n_nodes,): chunk in which each node begins."""
        return self._find_rows(self._file_numbers, self._symbols.start_lines)

    @cached_property
    def _chunk_keys(self) -> IntArray:
        """int64 (n_chunks,), ascending: location where each chunk begins."""
        return _encode_locations(self._corpus.chunk_files, self._corpus.start_lines)

    def _find_rows(self, files: IntArray, lines: IntArray) -> IntArray:
        """Return the chunks of some lines; where two chunks share a line, the one that begins last."""
        rows = np.searchsorted(self._chunk_keys, _encode_locations(files, lines), side="right") - 1
        return np.maximum(rows, self._corpus.file_starts[files])


def _encode_locations(files: NDArray[np.integer], lines: NDArray[np.integer]) -> IntArray:
    """Return file and line packed into one number each, ordered by file, then line."""
    return (files.astype(np.int64) << 32) | lines
