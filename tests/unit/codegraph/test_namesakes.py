"""Queries by a name that several declarations have."""

import pytest

from coderag.codegraph.graph import CodeGraph
from coderag.codegraph.symbol_graph import SymbolGraph
from coderag.errors import AmbiguousNameError
from tests.support.programs import Program, build

_SENDERS = ("mail", "phone", "pigeon", "drum", "smoke", "flag", "letter", "horn")
_NOTIFIERS: Program = {
    "notifier.py": "class Notifier:\n    def send(self): raise NotImplementedError\n",
    **{
        f"senders/{name}.py": (
            f"from notifier import Notifier as Base\n"
            f"class Notifier(Base):\n    def send(self): return 1\n"
            f"class {name.title()}(Notifier): pass\n"
        )
        for name in _SENDERS
    },
    "use.py": "from notifier import Notifier\nclass Silent(Notifier): pass\n",
}
_CHECKOUT: Program = {
    "pay.py": "def checkout(cart): return cart\n",
    "web.py": "import pay\ndef checkout(request): return pay.checkout(request)\n",
    "app.py": "from pay import checkout\ndef main(): return checkout([])\n",
    "tests/test_pay.py": (
        "from pay import checkout as pay_for\nclass checkout:\n    def test_it(self): assert pay_for([]) == []\n"
    ),
}


def open_graph(program: Program) -> CodeGraph:
    return CodeGraph(SymbolGraph(build(program)))


def names_of(neighbours) -> set[tuple[str, str]]:
    return {(neighbour.path, neighbour.qualified_name) for neighbour in neighbours}


def test_implementers_called_like_their_interface_are_listed() -> None:
    graph = open_graph(_NOTIFIERS)
    direct = {(f"senders/{name}.py", "Notifier") for name in _SENDERS} | {("use.py", "Silent")}
    assert names_of(graph.implementations("Notifier")) == direct
    assert names_of(graph.subclasses("Notifier")) == direct
    further = {(f"senders/{name}.py", name.title()) for name in _SENDERS}
    assert names_of(graph.permissive.subclasses("Notifier")) == direct | further


def test_overrides_of_a_method_that_all_others_override_are_listed() -> None:
    overrides = open_graph(_NOTIFIERS).overrides("send")
    assert names_of(overrides) == {(f"senders/{name}.py", "Notifier.send") for name in _SENDERS}


def test_callers_called_like_what_they_call_are_listed() -> None:
    graph = open_graph(_CHECKOUT)
    callers = {("app.py", "main"), ("web.py", "checkout"), ("tests/test_pay.py", "checkout.test_it")}
    assert names_of(graph.permissive.callers("checkout")) == callers
    assert names_of(graph.permissive.impact("checkout")) == callers
    assert names_of(graph.callers("pay.py::checkout")) == callers
    assert names_of(graph.permissive.tests("checkout")) == {("tests/test_pay.py", "checkout.test_it")}


def test_a_name_means_a_declaration_outside_of_tests() -> None:
    program = {path: text for path, text in _CHECKOUT.items() if path != "web.py"}
    assert names_of(open_graph(program).callers("checkout")) == {
        ("app.py", "main"),
        ("tests/test_pay.py", "checkout.test_it"),
    }


def test_several_declarations_outside_of_tests_stay_ambiguous() -> None:
    with pytest.raises(AmbiguousNameError) as raised:
        open_graph(_CHECKOUT).callers("checkout")
    assert {candidate.path for candidate in raised.value.candidates} == {"pay.py", "web.py"}


def test_a_variable_that_holds_an_import_is_not_another_declaration() -> None:
    program = {
        "server.js": "module.exports = function start(port) { return port; };\n",
        "main.js": 'const start = require("./server");\nfunction boot() { return start(1); }\nregister(start);\n',
    }
    graph = open_graph(program)
    assert {path for path, _ in names_of(graph.references("start"))} == {"main.js"}
    assert ("main.js", "boot") in names_of(graph.impact("start"))
