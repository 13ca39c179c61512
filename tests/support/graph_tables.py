"""Tables of a code graph, made of names."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

import pyarrow as pa

from coderag.stores.corpus import Corpus
from coderag.stores.graph_tables import GraphTables, build_edge_schema, build_facts_schema, build_node_schema

Declared = tuple[str, str, int, int]
"""(qualified name, kind, first line, last line)."""

LANGUAGES = {
    ".py": "python", ".pyi": "python", ".ts": "typescript", ".js": "javascript", ".go": "go", ".java": "java",
    ".rs": "rust", ".cs": "c_sharp", ".c": "c", ".h": "c", ".cpp": "cpp", ".md": "markdown",
}  # fmt: skip


def make_tables(
    files: Mapping[str, Sequence[Declared]],
    edges: Iterable[Sequence[object]] = (),
    externals: Sequence[str] = (),
    centrality: Mapping[str, float] | None = None,
) -> GraphTables:
    """Return a graph.

    Args:
        files: What each file declares, in order.
        edges: (source, relation, target, line = 1, confidence = 0.9, resolver = "scope") each; an end is a path, a
            qualified name that only one declaration has, ``path::qualified name``, or ``path:line`` of its first line.
        externals: Names of packages outside the repository.
        centrality: By name, as in an edge.
    """
    nodes = [row for path in sorted(files) for row in _file_rows(path, files[path])]
    for row in nodes:
        if isinstance(row["parent"], tuple):
            row["parent"] = next(
                i for i, one in enumerate(nodes) if (one["path"], one["qualified_name"]) == row["parent"]
            )
    nodes += [_row("external", name, name, "", 0, 0, -1) for name in externals]
    for name, value in (centrality or {}).items():
        nodes[_find(nodes, name)]["centrality"] = value
    rows = []
    for source, relation, target, *rest in edges:
        line, confidence, resolver = (*rest, *(1, 0.9, "scope")[len(rest) :])
        ends = {"source": _find(nodes, str(source)), "target": _find(nodes, str(target))}
        rows.append({**ends, "relation": relation, "line": line, "confidence": confidence, "resolver": resolver})
    rows.sort(key=lambda row: (row["source"], row["relation"], row["target"], row["line"]))
    return GraphTables(
        pa.Table.from_pylist(nodes, build_node_schema()),
        pa.Table.from_pylist(rows, build_edge_schema()),
        build_facts_schema().empty_table(),
    )


def tables_of(corpus: Corpus, edges: Iterable[Sequence[object]] = (), externals: Sequence[str] = ()) -> GraphTables:
    """Return a graph of what a corpus declares, with edges as in `make_tables`."""
    files: dict[str, list[Declared]] = {path: [] for path in corpus.paths}
    for row, members in enumerate(corpus.chunk_symbols):
        for one in members:
            place = (one["qualified_name"], one["kind"], one["start_line"], one["end_line"])
            files[corpus.get_value("path", row)].append(place)
    return make_tables(files, edges, externals)


def _file_rows(path: str, declared: Sequence[Declared]) -> list[dict[str, object]]:
    owners = {name for name, *_ in declared}
    last = max((end for *_, end in declared), default=1)
    rows = [_row("file", PurePosixPath(path).name, path, path, 1, last, -1)]
    for name, kind, start, end in declared:
        owner = name.rpartition(".")[0]
        parent = (path, owner if owner in owners else path)
        rows.append(_row(kind, name.rpartition(".")[2], name, path, start, end, parent))
    return rows


def _row(
    kind: str, name: str, qualified_name: str, path: str, start: int, end: int, parent: object
) -> dict[str, object]:
    return {
        "kind": kind,
        "name": name,
        "qualified_name": qualified_name,
        "path": path,
        "language": LANGUAGES.get(PurePosixPath(path).suffix, ""),
        "role": "test" if path.startswith("tests/") else "docs" if path.endswith(".md") else "source" if path else "",
        "start_line": start,
        "end_line": end,
        "parent": parent,
        "type_parameters": 0,
        "is_prototype": 0,
        "centrality": 0.0,
    }


def _find(nodes: Sequence[Mapping[str, object]], name: str) -> int:
    found = [place for place, node in enumerate(nodes) if name in _names(node)]
    assert len(found) == 1, f"{name} is {len(found)} nodes"
    return found[0]


def _names(node: Mapping[str, object]) -> set[str]:
    line = f"{node['path']}:{node['start_line']}" if node["kind"] != "file" else ""
    return {str(node["qualified_name"]), f"{node['path']}::{node['qualified_name']}", line}
