import pytest

from coderag.codegraph.graph import CodeGraph
from coderag.codegraph.relation_queries import find_relations, find_users, select_neighbours
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


@pytest.mark.parametrize("query", ["who calls Unheard", "subclasses of Unheard", "which tests cover Unheard"])
def test_unknown_subject_has_no_neighbours(graph, query):
    (relation,) = find_relations(graph, analyze(query)["reading"], ["Unheard"])
    assert (relation.subject, list(relation.neighbours)) == ("Unheard", [])


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("who calls Base", ("calls", "in", 1, "")),
        ("what does Holder use", ("uses", "out", 1, "")),
        ("which tests cover Base", ("tests", "in", 2, "")),
        ("what breaks if Base changes", ("any", "in", 3, "")),
        ("how does run_job reach read_all", ("calls", "out", 0, "read_all")),
    ],
)
def test_query_states_its_relation_direction_and_depth(graph, query, expected):
    (relation,) = find_relations(graph, analyze(query)["reading"], ["Base"])
    assert (relation.relation, relation.direction, relation.depth, relation.end) == expected


def test_hierarchy_has_both_directions_whichever_is_asked_for(graph):
    (relation,) = find_relations(graph, analyze("subclasses of FileLoader")["reading"], ["FileLoader"])
    assert {neighbour.qualified_name for neighbour in relation.neighbours} == {"ZipLoader", "Loader", "Base"}


def test_prototype_and_definition_are_one_subject():
    files = {
        "a.h": [("run_job", "function", 3, 3)],
        "a.c": [("run_job", "function", 5, 9)],
        "b.c": [("main", "function", 2, 8), ("stop", "function", 10, 12)],
    }
    edges = [("main", "calls", "a.h::run_job", 4), ("stop", "calls", "a.c::run_job", 11)]
    graph = CodeGraph(SymbolGraph(make_tables(files, edges))).permissive
    callers = answer(graph, analyze("who calls run_job"), ["run_job"])
    assert {neighbour.qualified_name for neighbour in callers} == {"main", "stop"}


def test_importing_a_type_is_no_use_of_its_members():
    files = {
        "a.py": [("Box", "class", 1, 5), ("Box.open", "method", 2, 3)],
        "b.py": [("start", "function", 3, 4)],
    }
    graph = CodeGraph(SymbolGraph(make_tables(files, [("b.py", "imports", "Box", 1)]))).permissive
    assert answer(graph, analyze("who uses Box.open"), ["Box.open"]) == []
    assert [neighbour.path for neighbour in answer(graph, analyze("who uses Box"), ["Box"])] == ["b.py"]


def test_unresolved_neighbours_come_last_and_only_in_full():
    files = {
        "a.py": [("do_work", "function", 1, 2)],
        "b.py": [("sure", "function", 1, 2), ("unsure", "function", 4, 5)],
    }
    edges = [("sure", "calls", "do_work", 2, 0.97), ("unsure", "calls", "do_work", 5, 0.3)]
    graph = CodeGraph(SymbolGraph(make_tables(files, edges))).permissive
    reading = analyze("who calls do_work")["reading"]
    (full,) = find_relations(graph, reading, ["do_work"])
    assert [(each.qualified_name, each.confidence >= 0.5) for each in full.neighbours] == [
        ("sure", True),
        ("unsure", False),
    ]
    (search,) = find_relations(graph, reading, ["do_work"], in_full=False)
    assert [each.qualified_name for each in search.neighbours] == ["sure"]
    assert [each.qualified_name for each in select_neighbours(reading, full.neighbours)] == ["sure"]


def test_recursive_call_is_a_call_and_no_use():
    graph = CodeGraph(
        SymbolGraph(make_tables({"a.py": [("fact", "function", 1, 2)]}, [("fact", "calls", "fact", 2)]))
    ).permissive
    assert [each.qualified_name for each in answer(graph, analyze("who calls fact"), ["fact"])] == ["fact"]
    assert find_users(graph, "fact") == []
