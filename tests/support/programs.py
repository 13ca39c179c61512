"""Small programs as the code graph's tests need them: texts by path, linked, their edges as names."""

from collections.abc import Mapping
from typing import NamedTuple

from coderag.codegraph.code_graph_builder import CodeGraphBuilder
from coderag.ingestion.files.roles import classify_role
from coderag.ingestion.parsing.chunking import parse_file
from coderag.ingestion.parsing.languages import detect_language
from coderag.schema.chunks import FileRecord
from coderag.stores.facts_codec import PackedFacts
from coderag.stores.graph_tables import GraphTables

Program = Mapping[str, str]


class NamedEdge(NamedTuple):
    """An edge as a test writes it: a declaration is ``path:qualified name``, a file its path, what is external its name."""

    source: str
    relation: str
    target: str
    resolver: str
    confidence: float
    line: int


def facts_of(program: Program, previous: Program | None = None) -> tuple[list[FileRecord], dict[str, PackedFacts]]:
    """Return the records of a program's files, and the facts of those that are not as in a previous program."""
    records, facts = [], {}
    for path, text in program.items():
        language = detect_language(path, text)
        records.append(FileRecord(path, "indexed", language=language, role=classify_role(path), lines=text.count("\n")))
        if previous is None or previous.get(path) != text:
            facts[path] = parse_file(path, text, language, "", timeout_s=None).facts
    return records, facts


def build(program: Program, last: GraphTables | None = None, previous: Program | None = None) -> GraphTables:
    """Return the graph of a program; with the graph of a previous one, what incremental building makes of it."""
    return CodeGraphBuilder().build(last, *facts_of(program, None if last is None else previous))


def edges_of(graph: GraphTables) -> list[NamedEdge]:
    """Return the edges of a graph by name."""
    names = [
        node["qualified_name"] if node["kind"] in ("file", "external") else f"{node['path']}:{node['qualified_name']}"
        for node in graph.nodes.to_pylist()
    ]
    return [
        NamedEdge(names[source], relation, names[target], resolver, confidence, line)
        for source, relation, target, resolver, confidence, line in (
            [edge[name] for name in ("source", "relation", "target", "resolver", "confidence", "line")]
            for edge in graph.edges.to_pylist()
        )
    ]


def link(program: Program) -> list[NamedEdge]:
    """Return the edges of a program."""
    return edges_of(build(program))


def triples(program: Program, *relations: str, least: float = 0.5) -> set[tuple[str, str, str]]:
    """Return (source, relation, target) of the edges that are sure enough, of some relations or of all."""
    return {
        edge[:3] for edge in link(program) if edge.confidence >= least and (not relations or edge.relation in relations)
    }


def assert_same_graph(one: GraphTables, other: GraphTables) -> None:
    """Assert that two graphs have the same nodes and edges, made from the same facts."""
    assert one.nodes.to_pylist() == other.nodes.to_pylist()
    assert one.edges.to_pylist() == other.edges.to_pylist()
    columns = [name for name in one.facts.column_names if name not in ("consulted", "names")]
    assert one.facts.select(columns).to_pylist() == other.facts.select(columns).to_pylist()
