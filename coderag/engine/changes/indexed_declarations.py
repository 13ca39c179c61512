"""Declarations of the index that changed ones correspond to."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from coderag.codegraph.graph import CodeGraph
from coderag.schema.change_review import IndexMatch
from coderag.schema.lineage import DeclarationChange
from coderag.stores.graph_tables import FILE_KIND

MODULE_KIND = "module"


class IndexedDeclaration(NamedTuple):
    """A changed declaration in the index; without nodes it is missing there.

    Attributes:
        nodes: Its nodes, such as the overloads of one name.
    """

    match: IndexMatch
    nodes: Sequence[int] = ()


_MISSING = IndexedDeclaration("missing")


def find_indexed(
    graph: CodeGraph, change: DeclarationChange, old_path: str, new_names: Collection[str]
) -> IndexedDeclaration:
    """Find a changed declaration in the index.

    Args:
        graph: The code graph.
        change: The changed declaration.
        old_path: Path of its file before the change.
        new_names: Qualified names that the change adds: a removed declaration may have moved there.
    """
    for path in dict.fromkeys((change.path, old_path)):
        if nodes := _find_in_file(graph, path, change):
            return IndexedDeclaration("same" if path == change.path else "moved", nodes)
    if change.kind == MODULE_KIND or (change.change == "removed" and change.qualified_name not in new_names):
        return _MISSING
    nodes = _find_elsewhere(graph, change)
    return IndexedDeclaration("moved", nodes) if nodes else _MISSING


def _find_in_file(graph: CodeGraph, path: str, change: DeclarationChange) -> list[int]:
    """Return the nodes of a declaration in a file, the nearest to its lines first."""
    symbols = graph.symbols
    file = symbols.find_file(path) if path else None
    if file is None:
        return []
    if change.kind == MODULE_KIND:
        return [file]
    names = symbols.qualified_names
    nodes = [
        node
        for node in symbols.get_file_nodes(file)
        if symbols.kinds[node] != FILE_KIND and names[node].as_py() == change.qualified_name
    ]
    line = change.new_start_line or change.old_start_line
    return sorted(nodes, key=lambda node: abs(int(symbols.start_lines[node]) - line))[:1]


def _find_elsewhere(graph: CodeGraph, change: DeclarationChange) -> list[int]:
    """Return the only declaration of the name and kind in the index; nothing if there are several."""
    symbols = graph.symbols
    candidates = graph.permissive.symbol_resolver.find_candidates(change.qualified_name)
    nodes = [
        node
        for node in candidates
        if symbols.kinds[node] == change.kind and symbols.qualified_names[node].as_py() == change.qualified_name
    ]
    return nodes if len(nodes) == 1 else []
