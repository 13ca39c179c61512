"""Edges of programs in languages without rules of their own."""

import pytest

from tests.support.programs import Program, build, link, triples


def _collect_uses(program: Program) -> set[tuple[str, str]]:
    """Return (source, target) of the calls and instantiations with high confidence."""
    return {(source, target) for source, _, target in triples(program, "calls", "instantiates", least=0.6)}


def test_ruby_resolves_requires_and_own_methods() -> None:
    program = {
        "lib/cart.rb": "require_relative 'item'\nrequire 'json'\nmodule Shop\n  class Cart < Base\n    def total\n"
        "      sum_up()\n      self.count_all()\n      Item.new.price_now\n      far_off()\n    end\n"
        "    def sum_up; end\n"
        "    def count_all; end\n  end\nend\n",
        "lib/item.rb": "module Shop\n  class Item\n    def price_now; end\n  end\n  class Base; end\nend\n",
        "lib/far.rb": "def far_off; end\n",
    }
    assert _collect_uses(program) == {
        ("lib/cart.rb:Shop.Cart.total", "lib/cart.rb:Shop.Cart.sum_up"),
        ("lib/cart.rb:Shop.Cart.total", "lib/cart.rb:Shop.Cart.count_all"),
        ("lib/cart.rb:Shop.Cart.total", "lib/item.rb:Shop.Item"),
    }
    assert triples(program, "imports", "inherits") == {
        ("lib/cart.rb", "imports", "lib/item.rb"),
        ("lib/cart.rb", "imports", "json"),
        ("lib/cart.rb:Shop.Cart", "inherits", "lib/item.rb:Shop.Base"),
    }


_PHP = {
    "composer.json": '{"autoload": {"psr-4": {"App\\\\": "src/", "App\\\\Deep\\\\": ["none/", "lib"]}},'
    ' "autoload-dev": {"psr-4": []}}',
    "src/A.php": "<?php\nnamespace App;\nuse App\\Sub\\B;\nuse App\\Deep\\C;\nuse App\\Gone;\nclass A extends B {\n"
    "  function run() { B::make(); new C(); new D(); parent::go(); $this->own(); new Gone(); }\n  function own() {}\n"
    "}\n",
    "src/D.php": "<?php\nnamespace App;\nclass D {}",
    "src/Sub/B.php": "<?php\nnamespace App\\Sub;\nclass B { function go() {} static function make() {} }\n",
    "lib/C.php": "<?php\nnamespace App\\Deep;\nclass C {}\n",
    "far/Gone.php": "<?php\nclass Gone {}\n",
}


def test_php_classes_resolve_by_composer_autoload() -> None:
    assert _collect_uses(_PHP) == {
        ("src/A.php:A.run", "src/Sub/B.php:B.make"),
        ("src/A.php:A.run", "src/Sub/B.php:B.go"),
        ("src/A.php:A.run", "lib/C.php:C"),
        ("src/A.php:A.run", "src/D.php:D"),
        ("src/A.php:A.run", "src/A.php:A.own"),
    }


@pytest.mark.parametrize("autoload", ['{"psr-4": {"App\\\\": [1, null]}}', '{"psr-4": "x"}', "3", "{}"])
def test_malformed_composer_autoload_is_ignored(autoload: str) -> None:
    assert ("src/A.php:A.run", "src/A.php:A.own") in _collect_uses(
        {**_PHP, "composer.json": f'{{"autoload": {autoload}}}'}
    )


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
        "a/x.rb": "require 'util'\nrequire_relative './gone'\nhelp_me()\n",
        "b/lib/util.rb": "def help_me; end\n",
        "c/lib/util.rb": "def help_me; end\n",
    }
    assert link(program) == []


def test_unique_imported_method_is_a_candidate() -> None:
    program = {
        "a.rb": "require_relative 'b'\ndef run(x)\n  x.price_now()\n  x.each()\n  x.gone()\nend\n",
        "b.rb": "class B\n  def price_now; end\n  def each; end\nend\n",
        "c.rb": "class C\n  def gone; end\nend\n",
    }
    [edge] = [edge for edge in link(program) if edge.relation == "calls"]
    assert edge.target == "b.rb:B.price_now"
    assert edge.resolver == "unique"
    assert 0.5 <= edge.confidence < 0.6


def test_declarations_at_one_position_are_nested():
    program = {
        "a.hpp": "namespace a::b { namespace { struct S { int f(); }; } }\n"
        "namespace c { enum class E { x }; } int g() { return 1; }\n"
    }
    graph = build(program)
    for number, node in enumerate(graph.nodes.to_pylist()):
        assert node["parent"] < number
