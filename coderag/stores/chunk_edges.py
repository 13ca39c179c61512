"""Uses between chunks: the calls, instantiations and references that the code graph has resolved."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from coderag.schema.vocabulary import MIN_RESOLVED_CONFIDENCE
from coderag.stores.graph_tables import GraphTables

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]

_USES: Final = ("calls", "instantiates", "references")


class ChunkEdges:
    """Uses between chunks, in both directions.

    Args:
        n_chunks: Number of chunks.
        users: int64 (n_edges,), row of each chunk that uses another.
        used: int64 (n_edges,), row of the chunk that it uses.
    """

    def __init__(self, n_chunks: int, users: IntArray, used: IntArray) -> None:
        self._users_by_used = _Adjacency(n_chunks, used, users)
        self._used_by_users = _Adjacency(n_chunks, users, used)

    def find_best_user(self, values: FloatArray, rows: IntArray) -> FloatArray:
        """Return the largest value among the users of each row: float32 (n_rows,), 0 without users."""
        return self._users_by_used.find_maxima(values, rows)

    def find_best_used(self, values: FloatArray, rows: IntArray) -> FloatArray:
        """Return the largest value among what each row uses: float32 (n_rows,), 0 where it uses nothing."""
        return self._used_by_users.find_maxima(values, rows)

    def find_neighbours(self, rows: Sequence[int], limit: int) -> list[int]:
        """Return what some rows use and what uses them, the neighbours of the first row first."""
        neighbours: dict[int, None] = {}
        for row in rows:
            for adjacency in (self._used_by_users, self._users_by_used):
                neighbours.update(dict.fromkeys(adjacency.get_neighbours(row)))
            if len(neighbours) >= limit:
                break
        return list(neighbours)[:limit]

    def renumber(self, new_rows: IntArray, n_chunks: int) -> "ChunkEdges":
        """Return the edges between the chunks that remain.

        Args:
            new_rows: int64, new row of each chunk; -1 for those that are gone.
            n_chunks: New number of chunks.
        """
        adjacency = self._used_by_users
        users = np.repeat(new_rows, np.diff(adjacency.starts))
        used = new_rows[adjacency.neighbours]
        remains = (users >= 0) & (used >= 0)
        return ChunkEdges(n_chunks, users[remains], used[remains])


class _Adjacency:
    """Neighbours of each chunk: those of row i are ``neighbours[starts[i]:starts[i + 1]]``."""

    def __init__(self, n_chunks: int, sources: IntArray, targets: IntArray) -> None:
        order = np.argsort(sources, kind="stable")
        self.neighbours = targets[order]
        self.starts = np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=n_chunks))]).astype(np.int64)

    def get_neighbours(self, row: int) -> list[int]:
        neighbours: list[int] = self.neighbours[self.starts[row] : self.starts[row + 1]].tolist()
        return neighbours

    def find_maxima(self, values: FloatArray, rows: IntArray) -> FloatArray:
        maxima = np.zeros(len(rows), np.float32)
        lengths = self.starts[rows + 1] - self.starts[rows]
        has_neighbours = lengths > 0
        if not has_neighbours.any():
            return maxima
        lengths, firsts = lengths[has_neighbours], self.starts[rows[has_neighbours]]
        segments = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        positions = np.arange(int(lengths.sum())) + np.repeat(firsts - segments, lengths)
        maxima[has_neighbours] = np.maximum.reduceat(values[self.neighbours[positions]], segments)
        return maxima


def build_chunk_edges(
    graph: GraphTables, files: dict[str, int], chunk_files: IntArray, start_lines: IntArray
) -> ChunkEdges:
    """Build the edges between chunks; a declaration belongs to the chunk in which it begins.

    Args:
        graph: Tables of the code graph.
        files: Number of each file, by path.
        chunk_files: int64 (n_chunks,), ascending: file of each chunk.
        start_lines: int64 (n_chunks,), ascending within a file: first line of each chunk.
    """
    nodes, edges = graph.nodes, graph.edges
    if not len(nodes) or not len(edges) or not len(chunk_files):
        return ChunkEdges(len(chunk_files), np.zeros(0, np.int64), np.zeros(0, np.int64))
    paths = nodes["path"].combine_chunks()
    numbers = np.array([files.get(path, -1) for path in paths.dictionary.to_pylist()], np.int64)
    node_files = numbers[paths.indices.to_numpy()]
    keys = _encode(node_files, nodes["start_line"].to_numpy())
    rows = np.searchsorted(_encode(chunk_files, start_lines), keys, side="right") - 1
    rows = np.where((node_files >= 0) & (rows >= 0) & (chunk_files[rows] == node_files), rows, -1)
    is_use = pc.is_in(edges["relation"].cast("string"), value_set=pc.cast(list(_USES), "string"))
    resolved = edges.filter(pc.and_(is_use, pc.greater_equal(edges["confidence"], MIN_RESOLVED_CONFIDENCE)))
    users, used = rows[resolved["source"].to_numpy()], rows[resolved["target"].to_numpy()]
    between = (users >= 0) & (used >= 0) & (users != used)
    pairs = np.unique(_encode(users[between], used[between]))
    return ChunkEdges(len(chunk_files), pairs >> 32, pairs & 0xFFFFFFFF)


def _encode(high: IntArray, low: IntArray) -> IntArray:
    """Return two numbers packed into one, ordered by the first, then the second."""
    packed: IntArray = (high.astype(np.int64) << 32) | low.astype(np.int64)
    return packed
