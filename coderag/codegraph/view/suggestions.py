"""Suggestions of names while one is typed."""

from typing import Final

import numpy as np

from coderag.codegraph.symbol_search import match_names
from coderag.codegraph.view.units import FOLDER_KIND, Unit, Units
from coderag.schema.graph_view import ViewNode

_MAX_RANKED: Final = 4_000


def suggest_nodes(units: Units, text: str, limit: int) -> list[ViewNode]:
    """Return the declarations, packages, files and folders whose name contains a text: exact ones first, then central ones.

    Args:
        units: The hierarchy.
        text: Part of a name, or with ``/`` of a path, or with ``.`` of a qualified name.
        limit: Maximum number of results.
    """
    text = text.strip().removesuffix("()")
    if not text:
        return []
    matches = [*_find_paths(units, text), *_find_names(units, text)]
    folded = text.casefold()
    ranked = sorted(matches, key=lambda unit: _rank(units, unit, folded))
    return [units.describe(unit, 0) for unit in ranked[:limit]]


def _rank(units: Units, unit: Unit, folded: str) -> tuple[int, float, int, str]:
    name = unit.label.casefold().rstrip("/")
    quality = 0 if folded in (name, unit.key.casefold()) else 1 if name.startswith(folded) else 2
    centrality = 0.0 if unit.kind == FOLDER_KIND else float(units.graph.centralities[unit.node])
    return quality, -centrality, len(unit.key), unit.key


def _find_names(units: Units, text: str) -> list[Unit]:
    import pyarrow.compute as pc  # noqa: PLC0415 - 0.1 s

    graph = units.graph
    names = graph.qualified_names if "." in text else graph.names
    mask = match_names(names, text)
    mask[graph.files] = False
    nodes = np.flatnonzero(mask)
    lengths = pc.utf8_length(graph.names).to_numpy(zero_copy_only=False)[nodes]
    is_exact = lengths == len(text)
    best = nodes[np.lexsort((nodes, -graph.centralities[nodes], ~is_exact))][:_MAX_RANKED]
    return [units.make_declaration(node) for node in best[:_MAX_RANKED].tolist()]


def _find_paths(units: Units, text: str) -> list[Unit]:
    folded = text.casefold()
    matches = []
    for position, path in enumerate(units.paths):
        if folded in path.casefold() and ("/" in text or folded in path.rpartition("/")[2].casefold()):
            matches.append(units.make_file(position))
            if len(matches) >= _MAX_RANKED:
                break
    folder = units.find_folder(text)
    return matches if folder is None else [folder, *matches]
