"""Edges of programs in languages without rules of their own."""

from tests.support.programs import Program, build, link, triples


def _collect_uses(program: Program) -> set[tuple[str, str]]:
    """Return (source, target) of the calls and instantiations with high confidence."""
    return {(source, target) for source, _, target in triples(program, "calls", "instantiates", least=0.6)}


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
