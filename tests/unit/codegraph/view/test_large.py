"""Pictures of a graph of fifty large repositories: 2.3 million edges."""

import json
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from coderag.codegraph.graph import CodeGraph
from coderag.codegraph.symbol_graph import SymbolGraph
from coderag.codegraph.view.pictures import Step
from coderag.engine.graph_views import GraphViews
from coderag.interfaces.json_values import encode_json
from coderag.schema.graph_view import MAX_VIEW_EDGES, MAX_VIEW_NODES, GraphView, NodeDetails, ViewNode
from coderag.stores.graph_tables import GraphTables, build_edge_schema, build_facts_schema, build_node_schema
from coderag.stores.pointer import EmbeddingInfo, Pointer
from coderag.stores.view_files import ViewFiles
from tests.support.graph_tables import make_tables

pytestmark = pytest.mark.slow

N_REPOSITORIES, N_FOLDERS, N_FILES, N_DECLARATIONS = 50, 20, 45, 13
N_EDGES = 2_350_000
MAX_REPLY_BYTES = 2_000_000
MAX_S = 2.0  # of processor time


def make_large_tables() -> GraphTables:
    random = np.random.default_rng(0)
    paths = sorted(
        f"repository{r:02}/source/package_with_a_long_name_{f:02}/module_with_a_long_name_{n:03}.py"
        for r in range(N_REPOSITORIES)
        for f in range(N_FOLDERS)
        for n in range(N_FILES)
    )
    size = 1 + N_DECLARATIONS
    n_nodes = len(paths) * size
    position = np.arange(n_nodes) % size
    file = np.arange(n_nodes) // size
    names = np.array(["file", *(f"function_{k:02}" for k in range(N_DECLARATIONS))], object)[position]
    codes = {"kind": (position > 0).astype(np.int32), "path": file.astype(np.int32)}
    values = {"kind": ["file", "function"], "path": paths, "language": ["python"], "role": ["source"]}
    zeros = np.zeros(n_nodes, np.int32)
    columns = {
        **{
            name: pa.DictionaryArray.from_arrays(pa.array(codes.get(name, zeros)), values[name])
            for name in ("kind", "path", "language", "role")
        },
        "name": pa.array(names),
        "qualified_name": pa.array(names),
        "start_line": pa.array((position * 20).astype(np.int32) + 1),
        "end_line": pa.array(np.where(position, position * 20 + 15, size * 20).astype(np.int32)),
        "parent": pa.array(np.where(position, file * size, -1).astype(np.int32)),
        "type_parameters": pa.array(zeros),
        "is_prototype": pa.array(zeros),
        "centrality": pa.array(random.random(n_nodes, np.float32)),
    }
    sources = np.sort(random.integers(0, n_nodes, N_EDGES))
    distances = (random.pareto(0.6, N_EDGES) * 20).astype(np.int64) * random.choice([-1, 1], N_EDGES)
    relations = random.integers(0, 3, N_EDGES).astype(np.int32)
    edge_columns = {
        "relation": pa.DictionaryArray.from_arrays(pa.array(relations), ["calls", "imports", "references"]),
        "source": pa.array(sources.astype(np.int32)),
        "target": pa.array(((sources + distances) % n_nodes).astype(np.int32)),
        "resolver": pa.DictionaryArray.from_arrays(pa.array(np.zeros(N_EDGES, np.int32)), ["scope"]),
        "confidence": pa.array(random.uniform(0.3, 1, N_EDGES).astype(np.float32)),
        "line": pa.array(np.ones(N_EDGES, np.int32)),
    }
    return GraphTables(
        pa.table({field.name: columns[field.name] for field in build_node_schema()}, build_node_schema()),
        pa.table({field.name: edge_columns[field.name] for field in build_edge_schema()}, build_edge_schema()),
        build_facts_schema().empty_table(),
    )


@pytest.fixture(scope="module")
def graph() -> CodeGraph:
    return CodeGraph(SymbolGraph(make_large_tables()))


def measure(function: Callable[[], GraphView | NodeDetails | list[ViewNode]]) -> tuple[Any, float]:
    """Return a reply and the processor time that it took."""
    start = time.process_time()
    result = function()
    seconds = time.process_time() - start
    assert len(encode_json(result)) < MAX_REPLY_BYTES
    return result, seconds


def test_pictures_are_quick_and_small(graph: CodeGraph, tmp_path: Path) -> None:
    def open_views() -> GraphViews:
        return GraphViews(graph, ViewFiles(tmp_path, Pointer(1, {}, "lexical", EmbeddingInfo("", "", 1), 1, "")))

    folders = [f"repository{r:02}/source/" for r in range(N_REPOSITORIES)]
    packages = [f"{folder}package_with_a_long_name_{f:02}/" for folder in folders[:4] for f in range(N_FOLDERS)]
    file = "repository03/source/package_with_a_long_name_07/module_with_a_long_name_001.py"
    requests: dict[str, Callable[[], Any]] = {
        "overview": lambda: open_views().build_overview(),
        "largest": lambda: open_views().build_overview(
            [*folders, *packages], max_nodes=MAX_VIEW_NODES, max_edges=MAX_VIEW_EDGES
        ),
        "neighbourhood": lambda: open_views().build_neighbourhood(f"{file}::function_03"),
        "folder": lambda: open_views().build_neighbourhood(folders[3], [Step(folders[3], limit=500)]),
        "description": lambda: open_views().describe(folders[3], limit=500),
        "suggestions": lambda: open_views().suggest("function_07"),
    }
    first = {name: measure(request) for name, request in requests.items()}
    later = {name: measure(request)[1] for name, request in requests.items()}
    assert 40 < len(first["overview"][0].nodes) <= 300
    assert len(first["largest"][0].nodes) == MAX_VIEW_NODES
    assert len(first["largest"][0].edges) == MAX_VIEW_EDGES
    assert first["folder"][0].steps[0].total > 500
    assert max(seconds for _, seconds in first.values()) < 6 * MAX_S
    assert max(later.values()) < MAX_S, later


def test_a_request_holds_no_memory(graph: CodeGraph) -> None:
    GraphViews(graph).build_overview()
    tracemalloc.start()
    GraphViews(graph).build_overview()
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 5_000_000
    assert peak < 250_000_000


def test_long_paths_make_pictures_smaller() -> None:
    files = {f"{'x' * 3_900}/{n:04}.py": [] for n in range(600)}
    views = GraphViews(CodeGraph(SymbolGraph(make_tables(files))))
    view = views.build_overview([next(iter(files)).rpartition("/")[0] + "/"], max_nodes=600)
    assert view.omitted_nodes > 0
    assert len(json.dumps(asdict(view))) < MAX_REPLY_BYTES
