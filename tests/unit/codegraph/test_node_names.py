import pytest

from coderag.codegraph.node_names import NodeNames
from coderag.codegraph.symbol_graph import SymbolGraph
from coderag.errors import UnknownNameError
from coderag.stores.graph_tables import build_empty_graph
from tests.support.graph_tables import make_tables

FILES = {
    "app/sessions.py": [
        ("Session", "class", 1, 20),
        ("Session.login", "method", 3, 9),
        ("login", "function", 22, 25),
        ("maxSize", "function", 27, 28),
    ],
    "app/admin/__init__.py": [("Admin", "class", 1, 9), ("Admin.login", "method", 2, 3)],
    "web/src/session.ts": [("Session", "class", 1, 9)],
    "web/src/money.ts": [],
    "deep/web/src/money.ts": [],
}


@pytest.fixture(scope="module")
def names():
    return NodeNames(SymbolGraph(make_tables(FILES, externals=["requests", "github.com/acme/money"])))


def find_names(names, name):
    nodes = names.find(name)
    best = max((named.quality for named in nodes), default=0)
    shown = [names._graph.get_node(named.node) for named in nodes if named.quality == best]
    return {
        f"{node.path}::{node.qualified_name}" if node.kind not in ("file", "external") else node.qualified_name
        for node in shown
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Session", {"app/sessions.py::Session", "web/src/session.ts::Session"}),
        ("Session.login", {"app/sessions.py::Session.login"}),
        ("Session::login", {"app/sessions.py::Session.login"}),
        ("Session#login()", {"app/sessions.py::Session.login"}),
        ("sessions.login", {"app/sessions.py::login"}),
        ("max_size", {"app/sessions.py::maxSize"}),
        ("requests", {"requests"}),
        ("github.com/acme/money", {"github.com/acme/money"}),
    ],
)
def test_names_match_in_any_spelling(names, name, expected):
    assert find_names(names, name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("app/sessions.py", {"app/sessions.py"}),
        ("./app/sessions.py", {"app/sessions.py"}),
        ("app\\sessions.py", {"app/sessions.py"}),
        ("sessions.py", {"app/sessions.py"}),
        ("web/src/money.ts", {"web/src/money.ts"}),
        ("money.ts", {"web/src/money.ts", "deep/web/src/money.ts"}),
        ("app.sessions", {"app/sessions.py"}),
        ("app.admin", {"app/admin/__init__.py"}),
    ],
)
def test_files_match_by_path_or_module(names, name, expected):
    assert find_names(names, name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("app/sessions.py:4", {"app/sessions.py::Session.login"}),
        ("sessions.py:21", {"app/sessions.py"}),
        ("app/sessions.py::Session", {"app/sessions.py::Session"}),
        ("web/src/session.ts::Session", {"web/src/session.ts::Session"}),
        ("sessions.py::Session.login", {"app/sessions.py::Session.login"}),
    ],
)
def test_declarations_match_by_line(names, name, expected):
    assert find_names(names, name) == expected


@pytest.mark.parametrize("line", [0, 99_999])
def test_line_beyond_the_file_raises(names, line):
    with pytest.raises(UnknownNameError, match=f"sessions.py has .* no line {line:,}"):
        names.find(f"app/sessions.py:{line}")


@pytest.mark.parametrize(
    "name", ["", " ", "::", "nothing", "app/nothing.py", "app/sessions.py::nothing", "nothing.py:3"]
)
def test_unknown_name_has_no_match(names, name):
    assert names.find(name) == []


def test_folder_contains_its_direct_files(names):
    assert [names._graph.get_node(file).path for file in names.find_files_in("app/")] == ["app/sessions.py"]


@pytest.mark.parametrize(("name", "expected"), [("Sesion", "Session"), ("app/session.py", "app/sessions.py")])
def test_misspelt_name_has_suggestions(names, name, expected):
    assert expected in names.find_similar(name)


def test_empty_graph_has_no_names():
    names = NodeNames(SymbolGraph(build_empty_graph()))
    assert names.find("anything") == names.find_similar("anything") == names.find_files_in("") == []
