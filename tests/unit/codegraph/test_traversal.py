from collections import deque

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.codegraph.centrality import compute_pagerank
from coderag.codegraph.cycles import find_cycles
from coderag.codegraph.symbol_graph import SymbolGraph
from coderag.codegraph.traversal import find_shortest_path, walk_breadth_first
from coderag.stores.graph_tables import build_empty_graph
from tests.support.graph_tables import make_tables

N = 9
EDGES = st.lists(
    st.tuples(
        st.integers(0, N - 1),
        st.integers(0, N - 1),
        st.sampled_from(["calls", "references"]),
        st.sampled_from([0.3, 0.6, 0.9]),
    ),
    max_size=30,
)


def build_graph(edges):
    """Return a graph of functions ``f0`` to ``f8`` in one file; node 0 is the file, so that `f0` is node 1."""
    files = {"a.py": [(f"f{number}", "function", number + 1, number + 1) for number in range(N)]}
    named = [(f"f{source}", relation, f"f{target}", 1, sure) for source, target, relation, sure in edges]
    return SymbolGraph(make_tables(files, named))


def build_calls(*pairs):
    return build_graph([(source, target, "calls", 0.9) for source, target in pairs])


def compute_naive_distances(edges, starts, direction, least):
    following = {}
    for source, target, relation, sure in edges:
        if relation == "calls" and sure >= least:
            origin, far = (source, target) if direction == "out" else (target, source)
            following.setdefault(origin, []).append(far)
    distances, queue = dict.fromkeys(starts, 0), deque(starts)
    while queue:
        node = queue.popleft()
        for other in following.get(node, ()):
            if other not in distances:
                distances[other] = distances[node] + 1
                queue.append(other)
    return {node: distance for node, distance in distances.items() if distance}


@given(EDGES, st.sets(st.integers(0, N - 1), min_size=1, max_size=3), st.sampled_from(["out", "in"]), st.integers(1, 4))
def test_breadth_first_walk_matches_naive_distances(edges, starts, direction, depth):
    graph = build_graph(edges)
    steps = walk_breadth_first(graph, [start + 1 for start in starts], {direction: {"calls"}}, depth)
    expected = compute_naive_distances(edges, sorted(starts), direction, 0.5)
    assert {step.far_node - 1: step.depth for step in steps} == {
        node: distance for node, distance in expected.items() if distance <= depth
    }
    assert [(step.depth, -step.confidence) for step in steps] == sorted(
        (step.depth, -step.confidence) for step in steps
    )
    assert len(steps) == len({step.far_node for step in steps})


@given(EDGES, st.integers(0, N - 1), st.integers(0, N - 1))
def test_shortest_path_length_matches_networkx(edges, start, end):
    graph = build_graph(edges)
    other = nx.DiGraph()
    other.add_nodes_from(range(N))
    other.add_edges_from(
        (source, target) for source, target, relation, sure in edges if relation == "calls" and sure > 0.5
    )
    steps = find_shortest_path(graph, [start + 1], [end + 1], {"out": {"calls"}})
    if not nx.has_path(other, start, end):
        assert steps is None
        return
    assert len(steps) == nx.shortest_path_length(other, start, end)
    ends = [start + 1, *(step.far_node for step in steps)]
    assert ends[:-1] == [step.near_node for step in steps]
    assert ends[-1] == end + 1


@given(EDGES)
def test_cycles_are_strongly_connected_components(edges):
    other = nx.DiGraph()
    other.add_edges_from(
        (source + 1, target + 1) for source, target, relation, sure in edges if relation == "calls" and sure > 0.5
    )
    cycles = find_cycles(build_graph(edges), {"calls"}, "symbols")
    components = sorted(sorted(nodes) for nodes in nx.strongly_connected_components(other) if len(nodes) > 1)
    assert [cycle.nodes for cycle in cycles] == components
    for cycle in cycles:
        assert cycle.edges[0].source == cycle.edges[-1].target == cycle.nodes[0]
        assert [edge.target for edge in cycle.edges[:-1]] == [edge.source for edge in cycle.edges[1:]]
        inside = other.subgraph(cycle.nodes)
        first = cycle.nodes[0]
        around = min(
            nx.shortest_path_length(inside, node, first) + 1 for node in inside.successors(first) if node != first
        )
        assert len(cycle.edges) == around


def test_most_confident_path_to_a_node_is_taken():
    graph = build_graph([(0, 2, "calls", 0.6), (1, 2, "calls", 0.9)])
    (step,) = walk_breadth_first(graph, [1, 2], {"out": {"calls"}})
    assert (step.near_node, step.confidence) == (2, 0.9)


def test_path_confidence_is_its_lowest_step_confidence():
    graph = build_graph([(0, 1, "calls", 0.6), (1, 2, "calls", 0.9)])
    steps = walk_breadth_first(graph, [1], {"out": {"calls"}}, 2)
    assert [(step.far_node, step.confidence) for step in steps] == [(2, 0.6), (3, 0.6)]


def test_limited_walk_keeps_the_nearest_nodes():
    steps = walk_breadth_first(build_calls((0, 1), (0, 2), (1, 3)), [1], {"out": {"calls"}}, 5, limit=2)
    assert [step.far_node for step in steps] == [2, 3]


def test_walk_terminates_on_a_cycle():
    assert [step.far_node for step in walk_breadth_first(build_calls((0, 1), (1, 0)), [1], {"out": {"calls"}}, 9)] == [
        2
    ]


def test_walk_continues_from_equivalent_nodes():
    graph = build_calls((2, 0), (2, 1), (3, 2))
    steps = walk_breadth_first(
        graph, [1], {"in": {"calls"}}, 1, equivalents=lambda node: [(3, 0.6)] if node == 1 else []
    )
    assert [(step.far_node, step.near_node, step.confidence) for step in steps] == [(3, 1, 0.9), (4, 3, 0.6)]


def test_path_continues_from_equivalent_nodes_without_a_step():
    graph = build_calls((0, 1), (2, 3))
    steps = find_shortest_path(
        graph, [1], [4], {"out": {"calls"}}, equivalents=lambda node: [(3, 1.0)] if node == 2 else []
    )
    assert [(step.near_node, step.far_node, step.depth) for step in steps] == [(1, 2, 1), (3, 4, 2)]


def test_path_can_follow_relations_backwards():
    graph = build_graph([(0, 1, "calls", 0.9), (2, 1, "references", 0.9)])
    assert find_shortest_path(graph, [1], [3], {"out": {"calls", "references"}}) is None
    steps = find_shortest_path(graph, [1], [3], {"out": {"calls"}, "in": {"references"}})
    assert [(step.direction, step.far_node) for step in steps] == [("out", 2), ("in", 3)]


def test_walks_of_an_empty_graph_are_empty():
    graph = SymbolGraph(build_empty_graph())
    assert walk_breadth_first(graph, [], {"out": {"calls"}}, 3) == []
    assert find_shortest_path(graph, [], [], {"out": {"calls"}}) is None
    assert find_cycles(graph, {"calls"}, "symbols") == find_cycles(graph, {"imports"}, "files") == []
    assert compute_pagerank(0, np.zeros(0, int), np.zeros(0, int), np.zeros(0, np.float32)).shape == (0,)


def test_file_cycles_follow_edges_of_contained_declarations():
    files = {name: [(name[0], "function", 1, 1)] for name in ("a.py", "b.py", "c.py")}
    edges = [
        ("a.py", "imports", "b", 3),
        ("b", "imports", "a.py", 7),
        ("c.py", "imports", "a"),
        ("a.py", "imports", "os"),
    ]
    graph = SymbolGraph(make_tables(files, edges, ["os"]))
    (cycle,) = find_cycles(graph, {"imports"}, "files")
    assert [graph.get_node(node).path for node in cycle.nodes] == ["a.py", "b.py"]
    assert [(graph.get_node(edge.target).qualified_name, edge.line) for edge in cycle.edges] == [
        ("b.py", 3),
        ("a.py", 7),
    ]


WEIGHTED = st.lists(st.tuples(st.integers(0, N - 1), st.integers(0, N - 1), st.floats(0.1, 1.0)), max_size=40)


@given(WEIGHTED)
def test_centrality_matches_networkx_pagerank(edges):
    other = nx.MultiDiGraph()
    other.add_nodes_from(range(N))
    other.add_weighted_edges_from(edges)
    expected = nx.pagerank(other, alpha=0.85, tol=1e-10, max_iter=500)
    largest = max(expected.values())
    columns = list(zip(*edges, strict=True)) or [(), (), ()]
    ranks = compute_pagerank(N, np.array(columns[0], int), np.array(columns[1], int), np.array(columns[2], np.float32))
    assert ranks.dtype == np.float32
    assert ranks.max() == pytest.approx(1.0)
    np.testing.assert_allclose(ranks, [expected[node] / largest for node in range(N)], atol=1e-4)
