import pytest

from coderag.codegraph.graph import CodeGraph
from coderag.codegraph.relation_queries import find_relations, select_neighbours
from coderag.codegraph.symbol_graph import SymbolGraph
from coderag.question.analysis import analyze
from tests.support.graph_tables import make_tables

FILES = {
    "a.py": [
        ("Loader", "interface", 1, 4),
        ("Loader.load", "method", 2, 3),
        ("Base", "class", 6, 7),
        ("FileLoader", "class", 9, 14),
        ("FileLoader.load", "method", 10, 13),
        ("read_all", "function", 16, 17),
    ],
    "b.py": [("run_job", "function", 3, 6), ("Holder", "class", 8, 9), ("ZipLoader", "class", 11, 12)],
    "tests/test_a.py": [("test_load", "function", 3, 4)],
}
EDGES = [
    ("FileLoader", "implements", "Loader", 9),
    ("FileLoader", "inherits", "Base", 9),
    ("ZipLoader", "inherits", "FileLoader", 11),
    ("FileLoader.load", "overrides", "Loader.load", 10),
    ("FileLoader.load", "calls", "read_all", 12),
    ("run_job", "instantiates", "FileLoader", 4),
    ("run_job", "calls", "FileLoader.load", 5),
    ("Holder", "references", "FileLoader", 9),
    ("b.py", "imports", "FileLoader", 1),
    ("b.py", "imports", "json", 2),
    ("test_load", "tests", "FileLoader.load", 4),
]
USAGE, HIERARCHY, TESTS = "find_usage", "hierarchy", "find_tests"


@pytest.fixture(scope="module")
def graph():
    return CodeGraph(SymbolGraph(make_tables(FILES, EDGES, ["json"]))).permissive


def answer(graph, analysis, names, **options):
    """Return the neighbours of the very relation that a question asks for."""
    queries = find_relations(graph, analysis["reading"], names, **options)
    return [neighbour for query in queries for neighbour in select_neighbours(analysis["reading"], query.neighbours)]


@pytest.mark.parametrize(
    ("kind", "query", "names", "expected"),
    [
        (USAGE, "who calls FileLoader", ["FileLoader"], {"run_job"}),
        (USAGE, "where is FileLoader used", ["FileLoader"], {"run_job", "Holder", "ZipLoader"}),
        (USAGE, "who calls ZipLoader", ["ZipLoader"], set()),
        (USAGE, "who imports FileLoader", ["FileLoader"], {"b.py"}),
        (USAGE, "what depends on FileLoader", ["FileLoader"], {"run_job", "Holder", "ZipLoader", "b.py"}),
        (USAGE, "who instantiates FileLoader", ["FileLoader"], {"run_job"}),
        (USAGE, "where is FileLoader created", ["FileLoader"], {"run_job"}),
        (USAGE, "what does FileLoader.load call", ["FileLoader.load"], {"read_all"}),
        (USAGE, "what is called by run_job", ["run_job"], {"FileLoader", "FileLoader.load"}),
        (USAGE, "what does b.py import", ["b.py"], {"FileLoader", "json"}),
        (USAGE, "what does Holder use", ["Holder"], {"FileLoader"}),
        ("impact", "what breaks if read_all changes", ["read_all"], {"FileLoader.load", "run_job", "test_load"}),
        ("path", "how does run_job reach read_all", ["read_all", "run_job"], {"FileLoader.load", "read_all"}),
        (HIERARCHY, "what implements Loader", ["Loader"], {"FileLoader", "ZipLoader"}),
        (HIERARCHY, "subclasses of Base", ["Base"], {"FileLoader", "ZipLoader"}),
        (HIERARCHY, "classes extending Base", ["Base"], {"FileLoader", "ZipLoader"}),
        (HIERARCHY, "overrides of Loader.load", ["Loader.load"], {"FileLoader.load"}),
        (HIERARCHY, "what overrides Loader.load", ["Loader.load"], {"FileLoader.load"}),
        (HIERARCHY, "what does FileLoader.load override", ["FileLoader.load"], {"Loader.load"}),
        (HIERARCHY, "what does ZipLoader extend", ["ZipLoader"], {"FileLoader", "Loader", "Base"}),
        (HIERARCHY, "base classes of FileLoader", ["FileLoader"], {"Loader", "Base"}),
        (HIERARCHY, "class tree of FileLoader", ["FileLoader"], {"Loader", "Base", "ZipLoader"}),
        (TESTS, "which tests cover FileLoader", ["FileLoader"], {"test_load"}),
        ("understand", "FileLoader and Base", ["FileLoader", "Base"], set()),
    ],
)
def test_question_selects_its_relation(graph, kind, query, names, expected):
    analysis = analyze(query)
    assert analysis["reading"]["kind"] == kind
    assert {neighbour.qualified_name for neighbour in answer(graph, analysis, names)} == expected


def test_path_ends_follow_question_order(graph):
    analysis = analyze("path from read_all to run_job")
    assert answer(graph, analysis, ["run_job", "read_all"]) == []


def test_sibling_overrides_are_not_impacted():
    files = {
        "a.py": [
            ("Base", "class", 1, 2),
            ("Base.run", "method", 2, 2),
            ("Left", "class", 4, 5),
            ("Left.run", "method", 5, 5),
            ("Right", "class", 7, 8),
            ("Right.run", "method", 8, 8),
            ("start", "function", 10, 11),
        ]
    }
    edges = [
        ("Left.run", "overrides", "Base.run", 5, 0.97),
        ("Right.run", "overrides", "Base.run", 8, 0.97),
        ("start", "calls", "Base.run", 11),
    ]
    graph = CodeGraph(SymbolGraph(make_tables(files, edges))).permissive
    broken = answer(graph, analyze("what breaks if Left.run changes"), ["Left.run"])
    assert {neighbour.qualified_name for neighbour in broken} == {"start"}
    broken = answer(graph, analyze("what breaks if Base.run changes"), ["Base.run"])
    assert {neighbour.qualified_name for neighbour in broken} == {"start", "Left.run", "Right.run"}


def test_tests_through_helpers_are_listed():
    files = {
        "a.py": [("work", "function", 1, 2)],
        "tests/test_a.py": [("helper", "function", 1, 2), ("test_work", "function", 4, 5)],
    }
    edges = [("helper", "calls", "work", 2), ("test_work", "calls", "helper", 5), ("helper", "tests", "work", 2)]
    graph = CodeGraph(SymbolGraph(make_tables(files, edges))).permissive
    tests = answer(graph, analyze("what tests work"), ["work"])
    assert {neighbour.qualified_name for neighbour in tests} == {"helper", "test_work"}
