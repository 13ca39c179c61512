import dataclasses

import pytest

from coderag.codegraph.graph import CodeGraph
from coderag.codegraph.symbol_graph import SymbolGraph
from coderag.errors import AmbiguousNameError, InvalidQueryError, UnknownNameError
from coderag.schema.vocabulary import MIN_RESOLVED_CONFIDENCE
from coderag.stores.graph_tables import build_empty_graph
from tests.support.graph_tables import make_tables
from tests.support.programs import build

FILES = {
    "docs/guide.md": [],
    "shop/base.py": [("Basket", "class", 1, 9), ("Basket.total", "method", 2, 3), ("Basket.size", "method", 5, 6)],
    "shop/cart.py": [
        ("Cart", "class", 5, 20),
        ("Cart.__init__", "method", 6, 7),
        ("Cart.total", "method", 10, 11),
        ("Cart.checkout", "method", 13, 19),
        ("Cart.checkout.pay", "function", 14, 15),
        ("GiftCart", "class", 22, 25),
        ("GiftCart.total", "method", 23, 24),
    ],
    "shop/desk.py": [("serve", "function", 3, 6), ("report", "function", 8, 9), ("again", "function", 11, 12)],
    "shop/money.py": [("round_up", "function", 1, 3), ("exchange", "function", 5, 6)],
    "tests/test_cart.py": [("test_serve", "function", 4, 6), ("test_total", "function", 8, 9)],
}
EDGES = [
    ("Cart", "inherits", "Basket", 5, 0.97, "import"),
    ("GiftCart", "inherits", "Cart", 22, 0.98, "scope"),
    ("Cart.total", "overrides", "Basket.total", 10),
    ("GiftCart.total", "overrides", "Cart.total", 23),
    ("Cart.total", "calls", "round_up", 11, 0.97, "import"),
    ("Cart.checkout", "calls", "Cart.total", 17, 0.97, "self"),
    ("Cart.checkout.pay", "calls", "exchange", 15, 0.97, "import"),
    ("Cart.checkout", "calls", "Cart.checkout.pay", 18, 0.98, "scope"),
    ("GiftCart.total", "calls", "Cart.total", 24, 0.97, "inherited"),
    ("serve", "instantiates", "Cart", 4, 0.96, "import"),
    ("serve", "calls", "Cart.checkout", 5, 0.96, "constructor"),
    ("report", "calls", "Basket.total", 9, 0.93, "annotation"),
    ("report", "references", "Basket", 8, 0.97, "import"),
    ("again", "calls", "again", 12),
    ("again", "calls", "round_up", 12, 0.3, "unique"),
    ("shop/cart.py", "imports", "Basket", 1, 0.97, "import"),
    ("shop/cart.py", "imports", "round_up", 2, 0.97, "import"),
    ("shop/cart.py", "imports", "requests", 3, 0.97, "import"),
    ("shop/desk.py", "imports", "shop/cart.py", 1, 0.97, "import"),
    ("serve", "imports", "exchange", 4, 0.97, "import"),
    ("tests/test_cart.py", "imports", "Cart", 1, 0.97, "import"),
    ("test_serve", "calls", "serve", 5, 0.97, "import"),
    ("test_total", "tests", "Cart.total", 9, 0.9, "call"),
    ("docs/guide.md", "documents", "Cart", 12, 0.8, "mention"),
]


@pytest.fixture(scope="module")
def graph():
    return CodeGraph(
        SymbolGraph(make_tables(FILES, EDGES, ["requests"], {"round_up": 1.0, "Cart": 0.5, "requests": 0.9}))
    )


def build_graph(files, edges=(), externals=()):
    return CodeGraph(SymbolGraph(make_tables(files, edges, externals)))


def list_names(neighbours):
    return [neighbour.qualified_name for neighbour in neighbours]


def list_depths(neighbours):
    return {neighbour.qualified_name: neighbour.depth for neighbour in neighbours}


# Calls


def test_caller_has_location_and_evidence(graph):
    (caller,) = graph.callers("round_up")
    assert dataclasses.asdict(caller) == {
        "relation": "caller",
        "path": "shop/cart.py",
        "line": 11,
        "start_line": 10,
        "end_line": 11,
        "qualified_name": "Cart.total",
        "kind": "method",
        "resolver": "import",
        "confidence": 0.97,
        "depth": 1,
        "via": "round_up",
        "evidence": "shop/cart.py",
        "role": "source",
    }


def test_callee_evidence_is_in_the_calling_file(graph):
    (callee,) = graph.callees("Cart.total")
    assert (callee.relation, callee.path, callee.evidence, callee.line) == (
        "callee",
        "shop/money.py",
        "shop/cart.py",
        11,
    )


def test_indirect_callers_have_greater_depth(graph):
    neighbours = graph.callers("round_up", depth=3)
    assert list_depths(neighbours) == {
        "Cart.total": 1,
        "Cart.checkout": 2,
        "GiftCart.total": 2,
        "report": 2,
        "serve": 3,
    }
    assert {neighbour.qualified_name: neighbour.via for neighbour in neighbours}["serve"] == "Cart.checkout"


def test_callers_of_a_class_instantiate_it(graph):
    assert list_names(graph.callers("Cart")) == ["serve"]


def test_callers_of_a_constructor_instantiate_its_class(graph):
    assert list_names(graph.callers("Cart.__init__")) == ["serve"]


def test_callers_of_an_overridden_method_have_lower_confidence(graph):
    neighbours = {
        neighbour.qualified_name: (neighbour.confidence, neighbour.via) for neighbour in graph.callers("Cart.total")
    }
    assert neighbours["Cart.checkout"] == (0.97, "Cart.total")
    assert neighbours["report"] == (0.6, "Basket.total")
    assert list_names(graph.callers("Cart.total"))[-1] == "report"


def test_callers_of_a_file_include_those_of_its_declarations(graph):
    assert set(list_names(graph.callers("shop/money.py"))) == {"Cart.total", "Cart.checkout.pay"}


def test_recursive_function_calls_itself(graph):
    for neighbours in (graph.callers("again"), graph.callees("again")):
        assert [(neighbour.qualified_name, neighbour.line, neighbour.depth) for neighbour in neighbours] == [
            ("again", 12, 1)
        ]


def test_first_recursive_call_is_the_evidence():
    calls = [("again", "calls", "again", line) for line in (3, 5)]
    [caller] = build_graph({"a.py": [("again", "function", 1, 6)]}, calls).callers("again")
    assert caller.line == 3


def test_candidates_are_opt_in_with_lower_confidence(graph):
    neighbours = graph.callers("round_up", candidates=True)
    assert list_names(neighbours) == ["Cart.total", "again"]
    assert neighbours[1].confidence < MIN_RESOLVED_CONFIDENCE


def test_callees_of_a_class_include_those_of_its_members(graph):
    assert set(list_names(graph.callees("Cart"))) == {"round_up", "exchange"}


def test_callees_of_a_function_include_those_of_inner_functions(graph):
    assert set(list_names(graph.callees("Cart.checkout"))) == {"Cart.total", "exchange"}


def test_callees_continue_in_constructors():
    files = {
        "a.py": [("A", "class", 1, 3), ("A.__init__", "method", 2, 3), ("f", "function", 5, 6), ("g", "function", 8, 9)]
    }
    graph = build_graph(files, [("f", "instantiates", "A", 6), ("A.__init__", "calls", "g", 3)])
    assert list_depths(graph.callees("f", depth=2)) == {"A": 1, "g": 2}


def test_references_exclude_calls(graph):
    assert [
        (neighbour.qualified_name, neighbour.relation, neighbour.line) for neighbour in graph.references("Basket")
    ] == [("report", "user", 8)]


# Imports


def test_imports_of_a_file_are_files_declarations_and_packages(graph):
    assert set(list_names(graph.imports("shop/cart.py"))) == {"Basket", "round_up", "requests"}
    assert set(list_names(graph.imports("Cart.total"))) == {"Basket", "round_up", "requests"}


def test_imports_inside_a_function_belong_to_the_file(graph):
    assert set(list_names(graph.imports("shop/desk.py"))) == {"shop/cart.py", "exchange"}


def test_transitive_imports_follow_imported_files(graph):
    neighbours = list_depths(graph.imports("shop/desk.py", depth=2))
    assert neighbours == {"shop/cart.py": 1, "exchange": 1, "Basket": 2, "round_up": 2, "requests": 2}


def test_importers_are_files_even_for_local_imports(graph):
    neighbours = {neighbour.path: (neighbour.line, neighbour.kind) for neighbour in graph.importers("exchange")}
    assert neighbours == {"shop/desk.py": (4, "file")}


@pytest.mark.parametrize("name", ["shop/money.py", "shop.money", "money"])
def test_importers_of_a_module_include_importers_of_its_members(graph, name):
    assert [neighbour.path for neighbour in graph.importers(name)] == ["shop/cart.py", "shop/desk.py"]


def test_importers_of_a_folder_import_its_files(graph):
    assert [neighbour.path for neighbour in graph.importers("shop/")] == ["tests/test_cart.py"]


def test_importers_of_a_package(graph):
    assert [neighbour.path for neighbour in graph.importers("requests")] == ["shop/cart.py"]


def test_importers_of_a_member_are_those_of_its_type(graph):
    assert [(neighbour.path, neighbour.confidence) for neighbour in graph.importers("Cart.total")] == [
        ("tests/test_cart.py", 0.97)
    ]


def test_importers_fall_back_to_the_file_with_lower_confidence(graph):
    assert [(neighbour.path, neighbour.confidence) for neighbour in graph.importers("GiftCart")] == [
        ("shop/desk.py", 0.6)
    ]


def test_importers_of_importers(graph):
    neighbours = {neighbour.path: neighbour.depth for neighbour in graph.importers("shop/base.py", depth=2)}
    assert neighbours == {"shop/cart.py": 1, "shop/desk.py": 2, "tests/test_cart.py": 2}


# Types


def test_hierarchy_queries_respect_depth(graph):
    assert list_depths(graph.bases("GiftCart", depth=5)) == {"Cart": 1, "Basket": 2}
    assert list_depths(graph.subclasses("Basket")) == {"Cart": 1}
    assert list_depths(graph.subclasses("Basket", depth=5)) == {"Cart": 1, "GiftCart": 2}


def test_overrides_and_overridden_methods(graph):
    assert list_depths(graph.overrides("Basket.total", depth=2)) == {"Cart.total": 1, "GiftCart.total": 2}
    assert list_names(graph.overridden("Cart.total")) == ["Basket.total"]


def test_implementations_exclude_interfaces():
    files = {
        "a.ts": [
            ("Shape", "interface", 1, 1),
            ("Solid", "interface", 2, 2),
            ("Cube", "class", 3, 3),
            ("Dot", "class", 4, 4),
        ]
    }
    edges = [("Solid", "inherits", "Shape"), ("Cube", "implements", "Solid"), ("Dot", "implements", "Shape")]
    graph = build_graph(files, edges)
    assert list_names(graph.implementations("Shape")) == ["Dot"]
    assert list_depths(graph.implementations("Shape", depth=2)) == {"Dot": 1, "Cube": 2}
    assert list_depths(graph.subclasses("Shape")) == {"Solid": 1, "Dot": 1}
    assert {neighbour.relation for neighbour in graph.implementations("Shape", depth=2)} == {"implementation"}


def test_implementations_of_a_method_are_its_overrides(graph):
    assert list_names(graph.implementations("Basket.total")) == ["Cart.total"]


# Tests, documents, impact


def test_tests_of_a_declaration(graph):
    assert [(neighbour.qualified_name, neighbour.relation) for neighbour in graph.tests("Cart.total")] == [
        ("test_total", "test_for")
    ]


def test_tests_of_a_class_include_those_of_its_members(graph):
    assert list_names(graph.tests("Cart")) == ["test_total"]


def test_tests_fall_back_to_indirect_callers(graph):
    assert list_depths(graph.tests("Cart.checkout")) == {"test_serve": 2}
    assert graph.tests("report") == []


def test_tests_fall_back_to_references():
    files = {"a.py": [("Codec", "class", 1, 2)], "b.py": [("use", "function", 1, 2)]}
    tests = {"tests/test_a.py": [("test_roundtrip", "function", 3, 4)]}
    edges = [("test_roundtrip", "references", "Codec", 4, 0.97, "import"), ("use", "references", "Codec", 2)]
    neighbours = build_graph({**files, **tests}, edges).tests("Codec")
    assert [(neighbour.qualified_name, neighbour.relation, neighbour.line) for neighbour in neighbours] == [
        ("test_roundtrip", "test_for", 4)
    ]


def test_documents_that_name_a_declaration(graph):
    assert [(neighbour.path, neighbour.line, neighbour.relation) for neighbour in graph.documents("Cart")] == [
        ("docs/guide.md", 12, "documentation")
    ]


def test_impact_includes_all_dependents(graph):
    neighbours = graph.impact("round_up")
    assert list_depths(neighbours) == {
        "Cart.total": 1, "Cart.checkout": 2, "GiftCart.total": 2, "test_total": 2, "report": 2, "serve": 3,
    }  # fmt: skip


def test_impact_of_a_type_includes_its_members(graph):
    assert {"GiftCart", "serve", "GiftCart.total", "report", "test_total"} <= set(
        list_names(graph.impact("Cart", depth=1))
    )


def test_impact_lists_importing_files_without_listed_declarations(graph):
    assert "shop/cart.py" not in list_names(graph.impact("round_up"))
    assert "tests/test_cart.py" not in list_names(graph.impact("serve"))


def test_impact_of_a_method_excludes_sibling_overrides():
    files = {
        "a.py": [
            ("Base", "class", 1, 3), ("Base.run", "method", 2, 3), ("One", "class", 5, 7), ("One.run", "method", 6, 7),
            ("Two", "class", 9, 11), ("Two.run", "method", 10, 11), ("Deep", "class", 13, 15), ("Deep.run", "method", 14, 15),
            ("use", "function", 17, 18), ("only_two", "function", 20, 21),
        ]
    }  # fmt: skip
    edges = [
        ("One.run", "overrides", "Base.run"), ("Two.run", "overrides", "Base.run"), ("Deep.run", "overrides", "One.run"),
        ("use", "calls", "Base.run"), ("only_two", "calls", "Two.run"),
    ]  # fmt: skip
    graph = build_graph(files, edges)
    assert set(list_names(graph.impact("One.run"))) == {"use", "Deep.run"}
    assert set(list_names(graph.impact("Base.run"))) == {"use", "One.run", "Two.run", "Deep.run", "only_two"}


def test_impact_terminates_on_cycles():
    files = {"a.py": [("ping", "function", 1, 2), ("pong", "function", 4, 5)]}
    assert list_names(build_graph(files, [("ping", "calls", "pong"), ("pong", "calls", "ping")]).impact("ping")) == [
        "pong"
    ]


# The whole


def test_path_lists_its_steps(graph):
    steps = graph.path("test_serve", "round_up")
    assert [(step.qualified_name, step.depth) for step in steps] == [
        ("serve", 1),
        ("Cart.checkout", 2),
        ("Cart.total", 3),
        ("round_up", 4),
    ]
    assert [step.via for step in steps] == ["test_serve", "serve", "Cart.checkout", "Cart.total"]


def test_path_continues_in_overrides(graph):
    assert [(step.qualified_name, step.via, step.confidence) for step in graph.path("report", "round_up")] == [
        ("Basket.total", "report", 0.93),
        ("round_up", "Cart.total", 0.6),
    ]


def test_constructor_call_does_not_dispatch():
    files = {
        "a.py": [
            ("A", "class", 1, 3), ("A.__init__", "method", 2, 3), ("B", "class", 5, 7), ("B.__init__", "method", 6, 7),
            ("f", "function", 9, 9), ("g", "function", 10, 10),
        ]
    }  # fmt: skip
    edges = [
        ("f", "calls", "A.__init__", 9),
        ("B.__init__", "overrides", "A.__init__", 6),
        ("B.__init__", "calls", "g", 7),
    ]
    graph = build_graph(files, edges)
    assert graph.path("f", "g") == []
    assert graph.callers("B.__init__") == []


def test_path_between_files_can_use_imports(graph):
    assert [step.relation for step in graph.path("tests/test_cart.py", "shop/base.py")] == ["imports", "base"]
    imports = build_graph({"a.py": [], "b.py": []}, [("a.py", "imports", "b.py", 3)]).path("a.py", "b.py")
    assert [(step.path, step.relation, step.line) for step in imports] == [("b.py", "imports", 3)]


def test_unconnected_declarations_have_no_path(graph):
    assert graph.path("round_up", "serve") == []
    assert graph.path("serve", "serve") == []


def test_file_cycles_have_a_closed_path_with_evidence():
    files = {"a.py": [("f", "function", 1, 2)], "b.py": [("g", "function", 1, 2)], "c.py": []}
    edges = [("a.py", "imports", "b.py", 4), ("b.py", "imports", "f", 7), ("c.py", "imports", "a.py", 1)]
    (cycle,) = build_graph(files, edges).cycles()
    assert cycle.members == ["a.py", "b.py"]
    assert [(step.via, step.path, step.evidence, step.line) for step in cycle.steps] == [
        ("a.py", "b.py", "a.py", 4),
        ("b.py", "a.py", "b.py", 7),
    ]


def test_declaration_cycles_follow_calls():
    files = {"a.py": [("ping", "function", 1, 2), ("pong", "function", 4, 5), ("alone", "function", 7, 8)]}
    edges = [("ping", "calls", "pong"), ("pong", "calls", "ping"), ("alone", "calls", "alone")]
    (cycle,) = build_graph(files, edges).cycles("symbols")
    assert cycle.members == ["a.py::ping", "a.py::pong"]
    with pytest.raises(InvalidQueryError, match="folders"):
        build_graph(files).cycles("folders")


def test_hotspots_are_the_most_central_declarations(graph):
    neighbours = graph.hotspots(2)
    assert [(neighbour.qualified_name, neighbour.centrality) for neighbour in neighbours] == [
        ("round_up", 1.0),
        ("Cart", 0.5),
    ]
    assert (neighbours[0].users, neighbours[0].uses) == (2, 0)


def test_hotspots_filter_by_kind(graph):
    assert [neighbour.qualified_name for neighbour in graph.hotspots(1, "class")] == ["Cart"]
    assert [neighbour.qualified_name for neighbour in graph.hotspots(kind="external")] == ["requests"]
    assert graph.hotspots(kind="enum") == []
    with pytest.raises(InvalidQueryError, match="klass"):
        graph.hotspots(kind="klass")
    with pytest.raises(InvalidQueryError, match="0"):
        graph.hotspots(0)


@pytest.mark.parametrize("path", ["shop", "shop/", "./shop"])
def test_outline_of_a_folder_raises(graph, path):
    with pytest.raises(UnknownNameError, match="shop is a folder"):
        graph.outline(path)


def test_outline_is_nested(graph):
    cart, gift = graph.outline("shop/cart.py")
    assert [entry.name for entry in cart.children] == ["__init__", "total", "checkout"]
    assert [entry.qualified_name for entry in cart.children[2].children] == ["Cart.checkout.pay"]
    assert (gift.kind, gift.start_line, gift.end_line) == ("class", 22, 25)
    assert graph.outline("docs/guide.md") == []


# Names

OF_BASES = ("implementations", "overrides", "subclasses")  # of several declarations, that of which all others derive
BY_NAME = (
    "callers", "callees", "imports", "importers", "bases", "subclasses", "implementations", "overrides", "overridden",
    "tests", "references", "documents", "impact",
)  # fmt: skip
WITH_DEPTH = sorted({*BY_NAME} - {"tests", "references", "documents"})


@pytest.mark.parametrize("method", [*BY_NAME, "outline"])
def test_unknown_name_error_suggests_similar_names(graph, method):
    with pytest.raises(UnknownNameError, match="rond_up") as raised:
        getattr(graph, method)("rond_up")
    assert "`round_up`" in raised.value.hint


def test_unknown_name_error_explains_name_forms(graph):
    with pytest.raises(UnknownNameError) as raised:
        graph.callers("zzzzzz")
    assert "path:line" in raised.value.hint
    assert "graph mentions" in raised.value.hint
    assert str(raised.value) == "no declaration, file or package in the index is called 'zzzzzz'"


@pytest.mark.parametrize("method", [method for method in BY_NAME if method not in OF_BASES])
def test_ambiguous_name_error_lists_unique_names(graph, method):
    with pytest.raises(AmbiguousNameError, match="total") as raised:
        getattr(graph, method)("total")
    candidates = raised.value.candidates
    assert {candidate.name for candidate in candidates} == {"Basket.total", "Cart.total", "GiftCart.total"}
    for candidate in candidates:
        assert candidate.name in raised.value.hint
        getattr(graph, method)(candidate.name)


@pytest.mark.parametrize("method", WITH_DEPTH)
def test_depth_below_one_raises(graph, method):
    with pytest.raises(InvalidQueryError, match="depth is 0"):
        getattr(graph, method)("Cart.total", depth=0)


@pytest.mark.parametrize("method", BY_NAME)
def test_permissive_graph_accepts_any_name(graph, method):
    getattr(graph.permissive, method)("total")
    assert getattr(graph.permissive, method)("rond_up") == []


def test_permissive_graph_combines_all_declarations(graph):
    assert set(list_names(graph.permissive.callers("total"))) == {"Cart.checkout", "report", "GiftCart.total"}


def test_same_names_are_qualified_by_path():
    graph = build_graph(
        {"a.py": [("run", "function", 1, 1)], "b.py": [("run", "function", 1, 1)]},
        [("a.py::run", "calls", "b.py::run")],
    )
    with pytest.raises(AmbiguousNameError) as raised:
        graph.callers("run")
    assert [candidate.name for candidate in raised.value.candidates] == ["a.py::run", "b.py::run"]
    assert list_names(graph.callers("b.py::run")) == ["run"]
    assert list_names(graph.callers("b.run")) == ["run"]
    assert list_names(graph.callers("b.py:1")) == ["run"]


def test_impl_belongs_to_the_type_in_its_file():
    files = {
        "a.rs": [("Lock", "struct", 1, 3), ("Lock", "impl", 5, 9)],
        "b.rs": [("Lock", "struct", 1, 1)],
        "c.rs": [("Key", "struct", 1, 1)],
        "d.rs": [("Key", "impl", 1, 1)],
    }
    graph = build_graph(files)
    with pytest.raises(AmbiguousNameError) as raised:
        graph.callers("Lock")
    assert {(candidate.path, candidate.kind) for candidate in raised.value.candidates} == {
        ("a.rs", "struct"),
        ("b.rs", "struct"),
    }
    assert graph.callers("Key") == []


def test_impls_in_several_files_form_one_group():
    files = {"lock.rs": [("Lock", "struct", 1, 3), ("Lock", "impl", 5, 9)], "ext.rs": [("Lock", "impl", 1, 9)]}
    targets = build_graph(files).symbol_resolver
    assert [len(targets.resolve(name)) for name in ("Lock", "lock.rs:1", "lock.rs:5", "ext.rs:1")] == [3, 3, 3, 3]


@pytest.mark.parametrize(
    ("name", "message"),
    [("", "the name is empty"), ("  ", "the name is empty"), (None, "text, not None"), (3, "text, not 3")],
)
def test_empty_and_non_text_names_raise(graph, name, message):
    with pytest.raises(InvalidQueryError, match=message):
        graph.callers(name)
    with pytest.raises(InvalidQueryError, match=message):
        graph.path("Cart.total", name)


def test_full_qualified_name_precedes_a_suffix_match():
    files = {
        "a.py": [("A", "class", 1, 9), ("A.B", "class", 2, 5), ("A.B.run", "method", 3, 4)],
        "b.py": [("B", "class", 1, 5), ("B.run", "method", 2, 3)],
    }
    assert build_graph(files, [("a.py", "calls", "B.run")]).callers("B.run")[0].via == "B.run"


def test_query_prefers_its_kinds():
    files = {"a.py": [("money", "function", 1, 2)], "money.py": [], "b.py": [("use", "function", 2, 3)]}
    graph = build_graph(files, [("use", "calls", "money"), ("b.py", "imports", "money.py")])
    assert list_names(graph.callers("money")) == ["use"]
    assert [neighbour.path for neighbour in graph.importers("money")] == ["b.py"]


def test_class_precedes_its_constructor():
    files = {
        "A.java": [("A", "class", 1, 9), ("A.A", "method", 2, 3)],
        "B.java": [("B", "class", 1, 9), ("B.f", "method", 2, 3)],
    }
    assert list_names(build_graph(files, [("B.f", "instantiates", "A")]).callers("A")) == ["B.f"]


def test_inherited_member_resolves_through_the_type(graph):
    assert list_names(graph.callers("GiftCart.checkout")) == ["serve"]


def test_missing_member_is_unknown(graph):
    with pytest.raises(UnknownNameError):
        graph.callers("Basket.checkout")


def test_overloads_form_one_group():
    declared = [("A", "class", 1, 9), ("A.f", "method", 2, 3), ("A.f", "method", 4, 5), ("A.g", "method", 6, 7)]
    graph = build_graph({"A.java": declared}, [("A.g", "calls", "A.java:2", 7), ("A.java:4", "calls", "A.java:1")])
    assert list_names(graph.callers("A.f")) == ["A.g"]
    assert list_names(graph.callees("A.f")) == ["A"]


@pytest.mark.parametrize(
    ("declared", "implemented"),
    [
        ("shop/money.pyi", "shop/money.py"),
        ("include/money.h", "src/money.c"),
        ("include/api.h", "src/money.cpp"),
        ("web/money.d.ts", "web/money.js"),
        ("shop/money_linux.go", "shop/money_windows.go"),
    ],
)
def test_header_and_implementation_form_one_group(declared, implemented):
    files = {
        declared: [("round_up", "function", 1, 1)],
        implemented: [("round_up", "function", 1, 3)],
        "use": [("a", "function", 1, 1), ("b", "function", 2, 2)],
    }
    edges = [("a", "calls", f"{declared}::round_up"), ("b", "calls", f"{implemented}::round_up")]
    assert list_names(build_graph(files, edges).callers("round_up")) == ["a", "b"]


def test_prototypes_of_one_definition_form_one_group_and_come_last():
    program = {
        "a.h": "int round_up(int n);\n",
        "b.h": "int round_up(int n);\n",
        "z/money.c": "int round_up(int n) { return n; }\n",
        "use.c": '#include "b.h"\nint use(void) { return round_up(1); }\n',
    }
    graph = CodeGraph(SymbolGraph(build(program)))
    [group] = graph.declaration_groups.group_nodes(graph.symbol_resolver.resolve("round_up")[:1])
    assert [graph.symbols.paths[node] for node in group] == ["z/money.c", "a.h", "b.h"]
    assert [graph.declaration_groups.find_definition(node) for node in group] == [group[0]] * 3
    assert list_names(graph.callees("use")) == list_names(graph.path("use", "round_up")) == ["round_up"]
    assert [neighbour.path for neighbour in graph.callees("use")] == ["z/money.c"]
    assert list_names(graph.callers("a.h::round_up")) == ["use"]


def test_same_name_in_several_sources_stays_separate():
    files = {
        "a.c": [("run", "function", 1, 1)],
        "b.c": [("run", "function", 1, 1)],
        "run.h": [("run", "function", 1, 1)],
    }
    with pytest.raises(AmbiguousNameError) as raised:
        build_graph(files).callers("run")
    assert len(raised.value.candidates) == 3


@pytest.mark.parametrize(
    ("path", "other"), [("a.py", "a.js"), ("a.h", "b.py"), ("a/run.go", "b/run.go"), ("a.pyi", "b.py")]
)
def test_same_name_in_unrelated_files_stays_separate(path, other):
    with pytest.raises(AmbiguousNameError):
        build_graph({path: [("run", "function", 1, 1)], other: [("run", "function", 1, 1)]}).callers("run")


def test_impl_block_counts_as_its_type():
    files = {
        "a.rs": [("S", "struct", 1, 1), ("T", "trait", 9, 9)],
        "b.rs": [("S", "impl", 2, 5), ("S.new", "method", 3, 4)],
    }
    graph = build_graph(files, [("a.rs::S", "implements", "T"), ("S.new", "calls", "T")])
    assert list_names(graph.bases("S")) == ["T"]
    assert list_names(graph.callees("S")) == ["T"]


def test_go_methods_in_other_files_are_members():
    files = {
        "a/s.go": [("S", "struct", 1, 1)],
        "a/t.go": [("S.Run", "method", 2, 5)],
        "b/t.go": [("S.Run", "method", 2, 5), ("f", "function", 7, 8), ("g", "function", 9, 9)],
    }
    graph = build_graph(files, [("a/t.go::S.Run", "calls", "f"), ("b/t.go::S.Run", "calls", "g")])
    assert list_names(graph.callees("S")) == ["f"]


def test_empty_graph_returns_nothing():
    graph = CodeGraph(SymbolGraph(build_empty_graph()))
    assert graph.cycles() == graph.cycles("symbols") == graph.hotspots() == []
    with pytest.raises(UnknownNameError):
        graph.callers("anything")


# Types told apart by their type parameters

STRATEGIES = {
    "lib/Box.cs": "namespace Lib;\npublic class Box { public void Open() {} }\n",
    "lib/Box.T.cs": "namespace Lib;\npublic partial class Box<T> { public void Open() {} }\n",
    "lib/Box.T.Part.cs": "namespace Lib;\npublic partial class Box<T> { public void Shut() {} }\n",
    "lib/Use.cs": "namespace Lib;\nclass Plain : Box { }\nclass Of : Box<int> { }\n"
    "class Use { void A(Box box) { box.Open(); } void B(Box<int> box) { box.Open(); box.Shut(); } }\n",
}


@pytest.fixture(scope="module")
def strategies():
    return CodeGraph(SymbolGraph(build(STRATEGIES)))


@pytest.mark.parametrize(("name", "below"), [("Box", ["Plain"]), ("Box<T>", ["Of"]), ("lib.Box<TResult>", ["Of"])])
def test_type_arguments_select_the_type(strategies, name, below):
    assert list_names(strategies.subclasses(name)) == below


def test_type_arguments_select_the_member(strategies):
    assert list_names(strategies.callers("Box.Open")) == ["Use.A"]
    assert list_names(strategies.callers("Box<T>.Open")) == ["Use.B"]
    assert list_names(strategies.callers("Box.Shut")) == ["Use.B"]


def test_parts_of_a_generic_type_form_one_group(strategies):
    assert {entry.qualified_name for entry in strategies.callees("Use")} == {"Box.Open", "Box.Shut"}
    (group,) = {tuple(strategies.symbol_resolver.resolve("Box<T>"))}
    assert [strategies.symbols.paths[node] for node in group] == ["lib/Box.T.Part.cs", "lib/Box.T.cs"]


def test_permissive_name_includes_generic_types(strategies):
    assert {*list_names(strategies.permissive.subclasses("Box"))} == {"Plain", "Of"}


def test_same_types_in_one_file_are_qualified_by_line():
    graph = CodeGraph(SymbolGraph(build({"a.cs": "class Box<T> { }\nclass Box<T, U> { }\n"})))
    with pytest.raises(AmbiguousNameError) as refused:
        graph.subclasses("Box")
    assert [candidate.name for candidate in refused.value.candidates] == ["a.cs:1", "a.cs:2"]


def test_irrelevant_type_arguments_are_ignored():
    graph = CodeGraph(SymbolGraph(build({"A.java": "class Box<T> { }\nclass Pair extends Box<String> { }\n"})))
    assert list_names(graph.subclasses("Box<T>")) == ["Pair"]


# What is listed first


def test_source_results_precede_tests():
    files = {"shop/base.py": [("Shop", "class", 1, 2)], "tests/fakes.py": [("Fake", "class", 1, 2)]}
    files |= {"shop/corner.py": [("Corner", "class", 1, 2)]}
    graph = build_graph(files, [("Fake", "inherits", "Shop", 1, 0.98), ("Corner", "inherits", "Shop", 1, 0.9)])
    assert list_names(graph.subclasses("Shop")) == ["Corner", "Fake"]
    assert list_names(graph.implementations("Shop")) == ["Corner", "Fake"]
    assert list_names(graph.impact("Shop")) == ["Corner", "Fake"]


def test_nearer_tests_precede_farther_results():
    files = {"shop/base.py": [("a", "function", 1, 2), ("b", "function", 4, 5), ("c", "function", 7, 8)]}
    files |= {"tests/test_a.py": [("test_a", "function", 1, 2)]}
    graph = build_graph(files, [("test_a", "calls", "a"), ("b", "calls", "a"), ("c", "calls", "b")])
    assert list_names(graph.callers("a", 2)) == ["b", "test_a", "c"]
