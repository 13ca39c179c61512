"""Centrality of nodes by PageRank."""

from typing import Final

import numpy as np

from coderag.codegraph.columns import FloatArray, IntArray

_DAMPING: Final = 0.85
_TOLERANCE: Final = 1e-8  # sum of rank changes on convergence
_MAX_ITERATIONS: Final = 200  # 0.85 ** 200 is 8e-15


def compute_pagerank(n_nodes: int, source: IntArray, target: IntArray, weight: FloatArray) -> FloatArray:
    """Return the PageRank of each node, divided by the largest.

    The rank of dangling nodes (no outgoing edges) is distributed evenly over all nodes.

    Args:
        n_nodes: Number of nodes.
        source: int (n_edges,), node from which rank flows.
        target: int (n_edges,), node to which it flows.
        weight: (n_edges,), above 0, relative to the other edges of the source.

    Returns:
        float32 (n_nodes,), 0 to 1.

    Source: L. Page et al., The PageRank Citation Ranking, 1999.
    """
    import scipy.sparse as sp  # noqa: PLC0415  # 0.15 s, needed by writers only

    if n_nodes == 0:
        return np.zeros(0, np.float32)
    out_weights = np.bincount(source, weight, n_nodes)
    transition_weights = np.asarray(weight, np.float64) / out_weights[source]
    transitions = sp.csr_matrix((transition_weights, (target, source)), shape=(n_nodes, n_nodes))
    is_dangling = (out_weights == 0).astype(np.float64)
    ranks = np.full(n_nodes, 1 / n_nodes)
    for _ in range(_MAX_ITERATIONS):
        previous, ranks = ranks, transitions @ ranks
        ranks += (previous * is_dangling).sum() / n_nodes
        ranks *= _DAMPING
        ranks += (1 - _DAMPING) / n_nodes
        if np.abs(np.subtract(ranks, previous, out=previous)).sum() < _TOLERANCE:
            break
    normalized: FloatArray = (ranks / ranks.max()).astype(np.float32)
    return normalized
