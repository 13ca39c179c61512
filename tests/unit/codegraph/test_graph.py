import pytest

from coderag.codegraph.graph import CONFIDENCE, RESOLVED, CodeGraph
from tests.support.corpora import make_corpus, row_named

FILES = {
    "shop/money.py": '''def round_up(value):
    """Round a value up."""
    return int(value + 0.5)


class Money:
    def __init__(self, amount):
        self.amount = round_up(amount)
''',
    "shop/cart.py": """from shop.money import Money, round_up


class Basket:
    def total(self):
        return 0


class Cart(Basket):
    def total(self):
        return round_up(sum(self.items))

    def checkout(self):
        return Money(self.total())


class GiftCart(Cart):
    def wrap(self):
        return self.checkout()
""",
    "shop/desk.py": """from shop.cart import Cart


def serve(items):
    cart = Cart(items)
    return cart.checkout()
""",
    "tools/stray.py": """def stray(values):
    return [round_up(value) for value in values]
""",
    "tests/test_money.py": """from shop.money import round_up


def test_rounding():
    assert round_up(0.2) == 1
""",
    "web/app.ts": """import { load } from "./loader.js";

export class App extends Shell {
  run() {
    return load("x");
  }
}
""",
    "web/loader.ts": """export interface Loader {
  load(name: string): string;
}

export function load(name: string): string {
  return name;
}
""",
    "web/file_loader.ts": """import { Loader } from "./loader";

export class FileLoader implements Loader {
  load(name: string): string {
    return name;
  }
}
""",
}


@pytest.fixture(scope="module")
def graph():
    return CodeGraph(make_corpus(FILES))


@pytest.fixture(scope="module", params=[False, True], ids=["declarations", "merged chunks"])
def either(request):
    """The graph over chunks of single declarations, and over chunks of several small ones."""
    return CodeGraph(make_corpus(FILES, merged=request.param))


def sure(neighbours):
    return {neighbour.qualified_name for neighbour in neighbours if neighbour.confidence >= RESOLVED}


def unsure(neighbours):
    return {neighbour.qualified_name for neighbour in neighbours if neighbour.confidence < RESOLVED}


def test_callers_are_the_members_that_call_with_the_line_of_the_call(either):
    callers = {caller.qualified_name: caller for caller in either.callers("round_up")}
    assert callers["Cart.total"].path == "shop/cart.py"
    assert callers["Cart.total"].line == 11
    assert (callers["Cart.total"].start_line, callers["Cart.total"].end_line) == (10, 11)
    assert callers["Cart.total"].kind == "method"


def test_a_call_is_bound_within_a_file_or_along_an_import(either):
    callers = {caller.qualified_name: caller for caller in either.callers("round_up")}
    assert callers["Money.__init__"].resolver == "scope"
    assert callers["Cart.total"].resolver == "import"
    assert CONFIDENCE["scope"] > CONFIDENCE["import"] > RESOLVED


def test_a_call_that_nothing_binds_is_listed_and_never_as_resolved(either):
    stray = next(caller for caller in either.callers("round_up") if caller.path == "tools/stray.py")
    assert stray.resolver == "unresolved"
    assert stray.confidence < RESOLVED
    assert stray == either.callers("round_up")[-1]


def test_the_declaration_is_not_its_own_caller(either):
    assert "round_up" not in {caller.qualified_name for caller in either.callers("round_up")}


def test_creating_an_object_calls_its_class(either):
    assert "Cart.checkout" in sure(either.callers("Money"))
    assert "serve" in sure(either.callers("Cart"))


def test_calls_cross_files_of_typescript(either):
    assert "App.run" in sure(either.callers("load"))


def test_callees_are_what_a_function_calls_in_this_repository(graph):
    assert sure(graph.callees("Cart")) >= {"round_up", "Money"}
    assert "sum" not in {callee.qualified_name for callee in graph.callees("Cart")}


def test_callees_of_a_member_are_those_of_its_own_lines(either):
    assert sure(either.callees("Cart.checkout")) >= {"Money", "Cart.total"}
    assert "round_up" not in sure(either.callees("Cart.checkout"))
    assert sure(either.callees("Cart.total")) == {"round_up"}


def test_callees_of_a_long_function_are_those_of_all_its_parts():
    body = "\n".join(f"    value_{number} = first(value, {number}, mode='strict')" for number in range(120))
    source = f"def first(*x):\n    pass\n\n\ndef last():\n    pass\n\n\ndef long(value):\n{body}\n    last()\n"
    assert sure(CodeGraph(make_corpus({"a.py": source})).callees("long")) == {"first", "last"}


def test_a_call_of_a_name_that_nothing_binds_is_no_callee(graph):
    assert graph.callees("stray") == []


def test_derived_types_name_their_base(either):
    assert sure(either.derived("Basket")) == {"Cart"}
    assert sure(either.derived("Loader")) == {"FileLoader"}


def test_derived_types_of_derived_types_are_further_away(either):
    found = {neighbour.qualified_name: neighbour.depth for neighbour in either.derived("Basket", depth=3)}
    assert found == {"Cart": 1, "GiftCart": 2}


def test_bases_are_the_types_in_this_repository_that_a_type_extends(either):
    assert sure(either.bases("Cart")) == {"Basket"}
    assert sure(either.bases("FileLoader")) == {"Loader"}
    assert either.bases("App") == []


def test_importers_of_a_name_are_the_files_that_import_its_file(either):
    assert {one.path for one in either.importers("round_up")} == {"shop/cart.py", "tests/test_money.py"}


@pytest.mark.parametrize("name", ["shop/money.py", "shop.money", "money", "shop/money"])
def test_importers_of_a_path_or_module(either, name):
    assert {one.path for one in either.importers(name)} == {"shop/cart.py", "tests/test_money.py"}


def test_tests_are_the_callers_in_test_files(either):
    assert {one.qualified_name for one in either.tests("round_up")} == {"test_rounding"}
    assert {one.relation for one in either.tests("round_up")} == {"test_for"}


def test_impact_is_callers_of_callers_derived_types_and_importing_files(either):
    impact = either.impact("round_up")
    names = {neighbour.qualified_name for neighbour in impact}
    assert names >= {"Cart.total", "Money.__init__", "test_rounding", "shop/cart.py"}
    assert all(neighbour.confidence >= RESOLVED for neighbour in impact)


def test_impact_reaches_users_of_users(either):
    impact = {neighbour.qualified_name: neighbour for neighbour in either.impact("Cart.checkout")}
    assert "serve" in impact


def test_impact_leaves_out_what_nothing_binds(either):
    assert "stray" not in {neighbour.qualified_name for neighbour in either.impact("round_up")}


@pytest.mark.parametrize("method", ["callers", "callees", "derived", "bases", "importers", "tests", "impact"])
@pytest.mark.parametrize("name", ["nothing_like_it", "", "::"])
def test_an_unknown_name_has_no_relations(graph, method, name):
    assert getattr(graph, method)(name) == []


def test_a_call_of_something_undeclared_is_unresolved(graph):
    assert unsure(graph.callers("sum")) == {"Cart.total"}
    assert sure(graph.callers("sum")) == set()


def test_a_cycle_of_calls_ends():
    looped = CodeGraph(make_corpus({"a.py": "def ping():\n    pong()\n\n\ndef pong():\n    ping()\n"}))
    assert {one.qualified_name for one in looped.impact("ping")} >= {"pong"}


def test_a_recursive_function_is_not_a_user_of_itself():
    looped = CodeGraph(make_corpus({"a.py": "def again(n):\n    return again(n - 1)\n"}))
    assert looped.impact("again") == []
    assert looped.callees("again") == []


def test_files_of_one_go_package_see_one_another():
    package = CodeGraph(
        make_corpus(
            {
                "store/db.go": "package store\n\nfunc Open(name string) int {\n\treturn 1\n}\n",
                "store/use.go": 'package store\n\nfunc Use() int {\n\treturn Open("x")\n}\n',
                "other/use.go": 'package other\n\nfunc Other() int {\n\treturn Open("x")\n}\n',
            }
        )
    )
    callers = {caller.qualified_name: caller.resolver for caller in package.callers("Open")}
    assert callers == {"Use": "package", "Other": "unresolved"}


def test_a_name_with_signs_is_looked_for_as_it_is():
    made = CodeGraph(
        make_corpus({"a.js": "function $get(x) {\n  return x;\n}\n\nfunction use() {\n  return $get(1);\n}\n"})
    )
    assert sure(made.callers("$get")) == {"use"}


def test_chunks_know_what_they_call_and_what_calls_them(graph):
    corpus = graph._corpus
    cart = row_named(corpus, "Cart")
    called = {match.qualified_name: confidence for match, confidence in graph.called_declarations(cart)}
    assert called.keys() >= {"round_up", "Money"}
    assert min(called.values()) >= RESOLVED
    calling = dict(graph.calling_rows(row_named(corpus, "round_up")))
    assert calling[cart] >= RESOLVED > calling[row_named(corpus, "stray")]


def test_a_file_does_not_import_itself():
    made = make_corpus({"pkg/cart.py": "from pkg import cart\n\n\ndef f():\n    pass\n"})
    assert CodeGraph(made).imports == [frozenset()]
