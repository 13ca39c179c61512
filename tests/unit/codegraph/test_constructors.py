"""Constructors by language."""

import pytest

from coderag.codegraph.graph import CodeGraph
from coderag.codegraph.symbol_graph import SymbolGraph
from tests.support.programs import build


@pytest.mark.parametrize(
    ("path", "text", "constructors"),
    [
        ("a.py", "class A:\n    def __init__(self): pass\n    def init(self): pass\n", ["A.__init__"]),
        ("a.ts", "class A { constructor() {} init() {} initialize() {} }\n", ["A.constructor"]),
        ("a.vue", "<script>\nclass A { constructor() {} init() {} }\n</script>\n", ["A.constructor"]),
        ("a.php", "<?php class A { function __construct() {} function init() {} }\n", ["A.__construct"]),
        ("a.rb", "class A\n  def initialize; end\n  def init; end\nend\n", ["A.initialize"]),
        ("a.swift", "class A { init() {}\n func initialize() {} }\n", ["A.init"]),
        ("a.kt", "class A(x: Int) { constructor(): this(1) {}\n fun init() {} }\n", ["A.constructor"]),
        ("a.scala", "class A(x: Int) { def this() = this(1)\n def init() = 1 }\n", ["A.this"]),
        ("a.java", "class A { A() {} void init() {} void initialize() {} }\n", ["A.A"]),
        ("a.cs", "class A { public A() {} void initialize() {} }\n", ["A.A"]),
        ("a.cpp", "class A { A() {} void init() {} };\n", ["A.A"]),
        ("a.rs", "struct A;\nimpl A { fn new() -> A { A } fn init(&self) {} }\n", []),
        ("b.py", "class A:\n    def A(self): pass\n", []),
    ],
)
def test_constructor_name_depends_on_the_language(path: str, text: str, constructors: list[str]) -> None:
    symbols = SymbolGraph(build({path: text}))
    graph = CodeGraph(symbols)
    types = [node for node in range(symbols.n_nodes) if symbols.names[node].as_py() == "A"]
    constructor_nodes = [child for node in types for child in graph.declaration_groups.find_constructors(node)]
    assert [symbols.qualified_names[node].as_py() for node in constructor_nodes] == constructors


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.php", "<?php\nclass Uri {\n  function init() {}\n}\nfunction go() { $uri = new Uri(); }\n"),
        ("a.java", "class Uri { void init() {} }\nclass B { void go() { new Uri(); } }\n"),
    ],
)
def test_instantiation_is_not_a_call_of_a_method_named_init(path: str, text: str) -> None:
    graph = CodeGraph(SymbolGraph(build({path: text})))
    assert graph.callers("Uri.init") == []
    assert graph.callers("Uri")
