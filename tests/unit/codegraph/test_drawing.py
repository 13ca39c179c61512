"""Drawings: what is in them, and that no name can change what they are."""

import html
import re
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.codegraph.drawing import (
    DEFAULT_MAX_NODES,
    Drawing,
    DrawnEdge,
    DrawnNode,
    draw_cycles,
    draw_neighbours,
    draw_outline,
    find_predecessors,
    is_outgoing,
    to_dot,
    to_mermaid,
)
from coderag.schema.graph import GraphCycle, GraphNeighbour, OutlineEntry
from coderag.schema.vocabulary import GraphRelation

NASTY = ['"', "\\", "#quot;", "&amp;", "<br/>", "<b>", "`x`", "__init__", "$$x$$", "1. x", "- x", "end", "%%", "]", "|",
         "\n", "\\n", "\x1b[2J", "\u202e", "\udcff", "é", "中"]  # fmt: skip
names = st.lists(st.one_of(st.sampled_from(NASTY), st.text(max_size=8)), max_size=4).map("".join)


def build_neighbour(name: str, relation: GraphRelation = "caller", **changes: object) -> GraphNeighbour:
    base = GraphNeighbour(relation, f"src/{name}.py", 7, 5, 9, name, "function", "import", 0.9, via="login")
    return replace(base, **changes)  # type: ignore[arg-type]


def list_edges(drawing: Drawing) -> set[tuple[str, str, str]]:
    """Return the arrows by the first lines of their ends, without kinds."""

    def name(place: int) -> str:
        return drawing.nodes[place].lines[0].rpartition(" ")[2]

    return {(name(edge.source), edge.label, name(edge.target)) for edge in drawing.edges}


def decode_label(text: str) -> str:
    """Return a text as a label shows it: cut, and what cannot be printed spelt out."""
    cut = text if len(text) <= 100 else text[:97] + "..."
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in cut)


def read_mermaid(text: str) -> tuple[list[list[str]], list[tuple[str, ...]]]:
    """Return the labels of nodes and the edges; every line must be one or the other, or a style."""
    head, *lines = text.splitlines()
    assert head == "flowchart LR"
    nodes, edges = [], []
    for line in lines:
        if node := re.fullmatch(r'    n(\d+)\["([\w ./,:()#;<>-]*)"\]', line):
            assert int(node[1]) == len(nodes)
            parts = node[2].split("<br/>")
            assert not any(character in "<>" for part in parts for character in part)
            nodes.append([re.sub(r"#(\d+);", lambda match: chr(int(match[1])), part) for part in parts])
            assert not any("\\n" in part or "$$" in part for part in nodes[-1])
        elif edge := re.fullmatch(r'    n(\d+) (-->|-\.->)(?:\|"([\w ]*)"\|)? n(\d+)', line):
            edges.append((edge[1], edge[2], edge[3] or "", edge[4]))
        else:
            assert re.fullmatch(r"    style n\d+ stroke-width:3px", line), line
    return nodes, edges


def read_dot(text: str) -> list[list[str]]:
    """Return the labels of nodes, as Graphviz reads them; each statement must be in a line of its own."""
    first, *lines, last = text.splitlines()
    assert (first, last) == ("digraph {", "}")
    labels = []
    for line in lines[2:]:
        string = r'"((?:[^"\\]|\\.)*)"'
        if node := re.fullmatch(rf"    n\d+ \[label={string}(?:, penwidth=3)?\];", line):
            label = re.sub(r"\\(.)", lambda match: "\0" if match[1] == "n" else match[1], node[1])
            labels.append([html.unescape(part) for part in label.split("\0")])
        else:
            assert re.fullmatch(rf"    n\d+ -> n\d+ \[label={string}(?:, style=dashed)?\];", line), line
    return labels


@given(st.lists(names.filter(bool), min_size=1, max_size=3))
def test_names_render_verbatim_without_breaking_the_diagram(lines: list[str]) -> None:
    drawing = Drawing(
        [DrawnNode(tuple(lines), is_marked=True), DrawnNode(("b",))], [DrawnEdge(0, 1, "calls", is_resolved=False)]
    )
    expected = [[decode_label(line) for line in lines], ["b"]]
    nodes, edges = read_mermaid(to_mermaid(drawing))
    assert [[line.replace("\u200b", "") for line in label] for label in nodes] == expected
    assert edges == [("0", "-.->", "calls", "1")]
    assert read_dot(to_dot(drawing)) == expected


def test_long_names_are_truncated() -> None:
    [[label]], _ = read_mermaid(to_mermaid(Drawing([DrawnNode(("x" * 5_000,))], [])))
    assert label == "x" * 97 + "..."


def test_resolved_edges_are_solid_and_candidates_dashed() -> None:
    drawing = draw_neighbours("login", [build_neighbour("a"), build_neighbour("b", confidence=0.3)])
    assert [edge.is_resolved for edge in drawing.edges] == [True, False]
    assert to_dot(drawing).count("style=dashed") == 1
    assert to_mermaid(drawing).count("-.->") == 1


@pytest.mark.parametrize(
    ("relation", "arrow"),
    [
        ("caller", ("a", "calls", "login")),
        ("callee", ("login", "calls", "a")),
        ("imported_by", ("a", "imports", "login")),
        ("base", ("login", "extends", "a")),
        ("derived", ("a", "extends", "login")),
        ("implementation", ("a", "implements", "login")),
        ("override", ("a", "overrides", "login")),
        ("user", ("a", "refers to", "login")),
        ("test_for", ("a", "tests", "login")),
        ("documentation", ("a", "documents", "login")),
    ],
)
def test_arrows_follow_the_edge_direction(relation: GraphRelation, arrow: tuple[str, str, str]) -> None:
    assert list_edges(draw_neighbours("login", [build_neighbour("a", relation)])) == {arrow}


@pytest.mark.parametrize("relation", get_args(GraphRelation))
def test_every_relation_is_drawable(relation: GraphRelation) -> None:
    [(source, label, target)] = list_edges(draw_neighbours("login", [build_neighbour("a", relation)]))
    assert label
    assert (source == "login") == is_outgoing(relation) == (target == "a")


def test_indirect_neighbours_connect_to_their_predecessor() -> None:
    far = build_neighbour("far", depth=2, via="b")
    aside = build_neighbour("aside", depth=2, via="Base.b")  # a method that b overrides
    neighbours = [build_neighbour("a"), build_neighbour("b"), far, aside]
    assert find_predecessors(neighbours) == [None, None, 1, None]
    assert list_edges(draw_neighbours("login", neighbours)) == {
        ("a", "calls", "login"),
        ("b", "calls", "login"),
        ("far", "calls", "b"),
        ("aside", "calls", "Base.b"),
    }


def test_subject_is_marked_under_its_qualified_name() -> None:
    drawing = draw_neighbours(
        "login", [build_neighbour("a", via="Session.login"), build_neighbour("b", depth=2, via="other")]
    )
    assert [node.lines[0] for node in drawing.nodes if node.is_marked] == ["Session.login"]


def test_without_neighbours_only_the_subject_is_drawn() -> None:
    assert draw_neighbours("login", []) == Drawing([DrawnNode(("login",), is_marked=True)], [])


def test_drawing_counts_omitted_nodes() -> None:
    drawing = draw_neighbours("login", [build_neighbour(f"f{number}") for number in range(DEFAULT_MAX_NODES + 5)])
    assert (len(drawing.nodes), drawing.n_omitted) == (DEFAULT_MAX_NODES + 1, 5)
    assert read_mermaid(to_mermaid(drawing))[0][-1] == ["... and 5 more"]
    assert read_dot(to_dot(drawing))[-1] == ["... and 5 more"]


def imports(*paths: str) -> GraphCycle:
    """Return a cycle of files that import one another in turn."""
    steps = [
        build_neighbour(after, "imports", path=after, kind="file", via=before)
        for before, after in zip(paths, (*paths[1:], paths[0]), strict=True)
    ]
    return GraphCycle(sorted(paths), steps)


def test_cycle_is_drawn_as_a_ring() -> None:
    drawing = draw_cycles([imports("a.py", "b.py", "c.py")])
    assert len(drawing.nodes) == 3
    assert list_edges(drawing) == {
        ("a.py", "imports", "b.py"),
        ("b.py", "imports", "c.py"),
        ("c.py", "imports", "a.py"),
    }


def test_limit_counts_cycles_not_boxes() -> None:
    cycles = [imports("a", "b", "c", "d"), imports("x", "y"), imports("v", "w")]
    drawing = draw_cycles(cycles, limit=2)
    assert len(drawing.nodes) == 6
    assert {("d", "imports", "a"), ("y", "imports", "x")} <= list_edges(drawing)
    assert drawing.n_omitted == 1


def test_without_limit_whole_cycles_fill_the_drawing() -> None:
    large = imports(*(f"large{number}" for number in range(70)))
    drawing = draw_cycles([large, imports("x", "y")])
    assert len(drawing.edges) == 70
    assert drawing.n_omitted == 1


def test_outline_omits_the_deepest_declarations_first() -> None:
    method = OutlineEntry("close", "A.close", "method", 2, 3)
    outline = [OutlineEntry("A", "A", "class", 1, 9, [method, method]), OutlineEntry("b", "b", "function", 11, 12)]
    assert list_edges(draw_outline("a.py", outline)) == {
        ("a.py", "", "A"),
        ("a.py", "", "b"),
        ("A", "", "close"),
    }
    cut = draw_outline("a.py", outline, limit=2)
    assert list_edges(cut) == {("a.py", "", "A"), ("a.py", "", "b")}
    assert cut.n_omitted == 2
