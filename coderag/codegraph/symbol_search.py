"""Search for declarations by a part of their name, for boxes that complete what is typed."""

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from coderag.codegraph.symbol_graph import SymbolGraph
from coderag.stores.graph_tables import EXTERNAL_KIND, FILE_KIND

if TYPE_CHECKING:
    import pyarrow as pa

_SECONDARY_ROLES: Final = frozenset({"test", "example", "generated", "vendored"})
_MAX_RANKED: Final = 5_000
"""Matches that are ranked: the most central ones."""


def search_symbols(symbols: SymbolGraph, query: str, limit: int) -> tuple[list[int], int]:
    """Find declarations whose name contains a text in any case, or whose qualified name does if it has a separator.

    Equal names come first, then those that begin with the text; tests, examples, generated and vendored code come last; then
    the most central.

    Returns:
        The nodes, and the number of all matches.
    """
    text = query.strip()
    if not text or not symbols.n_nodes:
        return [], 0
    is_qualified = any(separator in text for separator in ".:#/")
    names = symbols.qualified_names if is_qualified else symbols.names
    mask = match_names(names, text)
    is_declaration = np.array([kind not in (FILE_KIND, EXTERNAL_KIND) for kind in symbols.kinds.values], bool)
    nodes = np.flatnonzero(mask & is_declaration[symbols.kinds.codes])
    total = len(nodes)
    if total > _MAX_RANKED:
        nodes = nodes[np.argsort(-symbols.centralities[nodes], kind="stable")[:_MAX_RANKED]]
    folded = text.lower()

    def rank(node: int) -> tuple[bool, bool, bool, float, int]:
        name = names[node].as_py().lower()
        is_equal = name == folded or (is_qualified and name.endswith(f".{folded}"))
        centrality = float(symbols.centralities[node])
        return not is_equal, symbols.roles[node] in _SECONDARY_ROLES, not name.startswith(folded), -centrality, node

    return sorted(nodes.tolist(), key=rank)[:limit], total


def match_names(names: "pa.StringArray", text: str) -> NDArray[np.bool_]:
    """Return a mask of the names that contain a text in any case."""
    import pyarrow.compute as pc  # noqa: PLC0415  # 0.1 s

    mask: NDArray[np.bool_] = pc.match_substring(names, text, ignore_case=True).to_numpy(zero_copy_only=False)
    return mask.astype(bool)
