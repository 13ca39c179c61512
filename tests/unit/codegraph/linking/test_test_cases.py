"""Test cases that are written as calls: edges begin at them, and nothing refers to them."""

from coderag.codegraph.graph import CodeGraph
from coderag.codegraph.symbol_graph import SymbolGraph
from tests.support.programs import Program, build, triples

POOL = {"pool.js": "export function close(pool) {}\nexport function open() {}\n"}


def collect_targets(program: Program, relation: str, *, source: str) -> set[str]:
    """Return the targets of the edges of a relation from a source."""
    return {target for start, _, target in triples(program, relation) if start == source}


def test_calls_in_a_test_case_belong_to_it() -> None:
    program = {
        **POOL,
        "pool.test.js": "import { close, open } from './pool.js';\n"
        "describe('pool', () => {\n  let made;\n  beforeEach(() => { made = open(); });\n"
        "  it('closes idle connections', () => {\n    const local = made;\n    close(local);\n  });\n});\n",
    }
    test_case = "pool.test.js:pool.closes idle connections"
    assert collect_targets(program, "calls", source=test_case) == {"pool.js:close"}
    assert collect_targets(program, "tests", source=test_case) == {"pool.js:close"}
    assert collect_targets(program, "calls", source="pool.test.js:pool") == {"pool.js:open"}


def test_a_test_case_does_not_hide_the_function_that_it_is_named_after() -> None:
    program = {
        **POOL,
        "pool.test.js": "import { close } from './pool.js';\ndescribe('close', () => {\n  it('open', () => { close(); });\n"
        "  it('close', () => { open(); });\n});\nfunction open() {}\n",
    }
    assert triples(program, "calls") == {
        ("pool.test.js:close.open", "calls", "pool.js:close"),
        ("pool.test.js:close.close", "calls", "pool.test.js:open"),
    }


def test_helpers_and_variables_of_a_group_are_visible_in_its_test_cases() -> None:
    program = {
        "lib/pool.rb": "class Pool\n  def close; end\nend\n",
        "spec/pool_spec.rb": "describe Pool do\n  def make\n    Pool.new\n  end\n  context 'idle' do\n"
        "    it 'closes' do\n      pool = make\n      pool.close\n    end\n  end\nend\n",
    }
    assert collect_targets(program, "calls", source="spec/pool_spec.rb:Pool.idle.closes") == {
        "spec/pool_spec.rb:make",
        "lib/pool.rb:Pool.close",
    }


def test_a_test_case_of_cpp_tests_what_it_calls() -> None:
    program = {
        "pool.hpp": "struct Pool { void close(); };\n",
        "pool.cpp": '#include "pool.hpp"\nvoid Pool::close() {}\n',
        "pool_test.cpp": '#include "pool.hpp"\nTEST_CASE("closes", "[pool]") {\n  Pool pool;\n'
        '  SECTION("idle") { pool.close(); }\n}\n',
    }
    assert collect_targets(program, "tests", source="pool_test.cpp:closes.idle") == {"pool.cpp:Pool.close"}


def test_a_test_case_in_a_class_calls_its_methods() -> None:
    program = {
        "Pool.kt": "package pool\nclass Pool { fun close() {} }\n",
        "PoolSpec.kt": "package pool\nclass PoolSpec : FunSpec() {\n  fun make() = Pool()\n  init {\n"
        '    test("closes") { make().close() }\n  }\n}\n',
    }
    assert collect_targets(program, "calls", source="PoolSpec.kt:PoolSpec.closes") == {
        "PoolSpec.kt:PoolSpec.make",
        "Pool.kt:Pool.close",
    }


def test_a_qualified_name_means_the_declaration_before_a_group_of_that_title() -> None:
    program = {
        "lib/pool.rb": "module Net\n  class Pool\n    def close; end\n  end\nend\n",
        "spec/pool_spec.rb": "describe Net::Pool do\n  it 'closes' do\n    Net::Pool.new.close\n  end\nend\n",
    }
    graph = CodeGraph(SymbolGraph(build(program)))
    assert "Net::Pool" in {user.qualified_name for user in graph.references("Net::Pool")}
    assert [test.qualified_name for test in graph.tests("Net::Pool.close")] == ["Net::Pool.closes"]
