"""Edges of programs in languages without rules of their own."""

import pytest

from tests.support.programs import Program, build, link, triples


def _collect_uses(program: Program) -> set[tuple[str, str]]:
    """Return (source, target) of the calls and instantiations with high confidence."""
    return {(source, target) for source, _, target in triples(program, "calls", "instantiates", least=0.6)}


_C = {
    "src/list.h": "int list_len(struct list *l);\nstruct list { int n; };\n#define MAX(a, b) a\n",
    "src/list.c": '#include "list.h"\n#include <stdio.h>\nstatic int helper(void) { return 1; }\n'
    'int list_len(struct list *l) { printf("x"); return helper() + MAX(1, 2); }\n',
    "src/main.c": '#include "list.h"\nint main(void) { return list_len(0) + helper() + other(); }\n',
    "other/other.c": "int other(void) { return 0; }\nint helper(void) { return 2; }\n",
}


def test_c_calls_resolve_through_headers_to_sources() -> None:
    assert _collect_uses(_C) == {
        ("src/list.c:list_len", "src/list.c:helper"),
        ("src/list.c:list_len", "src/list.h:MAX"),
        ("src/main.c:main", "src/list.c:list_len"),
        ("src/main.c:main", "src/list.c:helper"),
    }


def test_c_includes_link_files_or_external_packages() -> None:
    assert triples(_C, "imports") == {
        ("src/list.c", "imports", "src/list.h"),
        ("src/list.c", "imports", "stdio.h"),
        ("src/main.c", "imports", "src/list.h"),
    }


def test_c_function_without_include_is_unresolved() -> None:
    program = {"a.c": "int f(void) { return g(); }\n", "b.c": "int g(void) { return 1; }\n", "c.h": "int g(void);\n"}
    assert _collect_uses(program) == set()


def test_out_of_line_cpp_methods_belong_to_their_class() -> None:
    program = {
        "box.h": "namespace ns {\nclass Base { public: virtual void shut(); };\nclass Box : public Base {\n public:\n"
        "  void unfold();\n  int size() const { return n; }\n  void shut() override;\n  int n;\n};\nvoid free_fn();\n"
        "}\n",
        "box.cpp": '#include "box.h"\nnamespace ns {\nvoid Box::unfold() { size(); this->shut(); free_fn(); }\n'
        "void Box::shut() { Base::shut(); }\nvoid free_fn() {}\n}\n",
        "main.cc": '#include "box.h"\nint main() { ns::free_fn(); new Box(); unknown(); }\n',
    }
    assert triples(program, "calls", "inherits", "overrides", "instantiates", least=0.6) >= {
        ("box.h:ns.Box", "inherits", "box.h:ns.Base"),
        ("box.cpp:ns.Box.unfold", "calls", "box.h:ns.Box.size"),
        ("box.cpp:ns.Box.unfold", "calls", "box.cpp:ns.free_fn"),
        ("box.cpp:ns.Box.shut", "calls", "box.h:ns.Base.shut"),
        ("box.cpp:ns.Box.shut", "overrides", "box.h:ns.Base.shut"),
        ("main.cc:main", "calls", "box.cpp:ns.free_fn"),
        ("main.cc:main", "instantiates", "box.h:ns.Box"),
    }


@pytest.mark.parametrize(
    ("suffix", "caller_text", "callee_text"),
    [
        ("kt", "class One {\n    fun go() { Two(); shared() }\n}\n", "class Two\nfun shared() {}\n"),
        ("swift", "class One { func go() { Two(); shared() } }\n", "class Two {}\nfunc shared() {}\n"),
        ("dart", "class One { void go() { Two(); shared(); } }\n", "class Two {}\nvoid shared() {}\n"),
    ],
)
def test_folder_packages_are_linked(suffix: str, caller_text: str, callee_text: str) -> None:
    if suffix == "dart":
        assert (
            link({f"x/one.{suffix}": caller_text, f"x/two.{suffix}": callee_text}) == []
        )  # Dart files have no declarations yet
        return
    program = {f"x/one.{suffix}": caller_text, f"x/two.{suffix}": callee_text}
    expected = {(f"x/one.{suffix}:One.go", f"x/two.{suffix}:{name}") for name in ("Two", "shared")}
    assert _collect_uses(program) == expected
    assert _collect_uses({f"x/one.{suffix}": caller_text, f"y/two.{suffix}": callee_text}) == set()
    ambiguous = {**program, f"x/three.{suffix}": callee_text}
    assert _collect_uses(ambiguous) == set(), "two declarations of one name are ambiguous"


def test_scala_inheritance_is_linked_within_a_folder() -> None:
    program = {
        "s/A.scala": "class A extends B { def go() = { halt(1) } }\n",
        "s/B.scala": "class B { def halt(x: Int) = 1 }\n",
    }
    assert triples(program, least=0.6) == {
        ("s/A.scala:A", "inherits", "s/B.scala:B"),
        ("s/A.scala:A.go", "calls", "s/B.scala:B.halt"),
    }


def test_lua_and_shell_resolve_own_and_loaded_files() -> None:
    program = {
        "m.lua": "local u = require('util')\nlocal function f() g() end\nfunction g() f() end\n",
        "util.lua": "function far() end\n",
        "run.sh": "source ./lib.sh\nmain() {\n  helper\n  own\n  ls\n  foreign\n}\nown() { :; }\nmain\n",
        "lib.sh": "helper() { echo; }\n",
        "other.sh": "own() { :; }\nforeign() { :; }\nhelper\n",
    }
    assert _collect_uses(program) == {
        ("m.lua:f", "m.lua:g"),
        ("m.lua:g", "m.lua:f"),
        ("run.sh", "run.sh:main"),
        ("run.sh:main", "lib.sh:helper"),
        ("run.sh:main", "run.sh:own"),
    }
    assert triples(program, "imports") == {("m.lua", "imports", "util.lua"), ("run.sh", "imports", "lib.sh")}


def test_ambiguous_import_has_no_edge() -> None:
    program = {
        "a/x.lua": "local u = require('util')\nlocal g = require('./gone')\nhelp_me()\n",
        "b/lib/util.lua": "function help_me() end\n",
        "c/lib/util.lua": "function help_me() end\n",
    }
    assert link(program) == []


def test_declarations_at_one_position_are_nested():
    program = {
        "a.hpp": "namespace a::b { namespace { struct S { int f(); }; } }\n"
        "namespace c { enum class E { x }; } int g() { return 1; }\n"
    }
    graph = build(program)
    for number, node in enumerate(graph.nodes.to_pylist()):
        assert node["parent"] < number
