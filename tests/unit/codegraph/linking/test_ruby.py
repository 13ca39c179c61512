"""Ruby: edges of small programs."""

import pytest

from tests.support.programs import Program, assert_same_graph, build, link, triples

LIBRARY = {
    "lib/shop.rb": "require_relative 'shop/cart'\nrequire 'json'\nmodule Shop\n"
    "  LIMIT = 3\n  class << self\n"
    "    attr_accessor :config\n    def setup(path) = path\n  end\n  def self.cart; Cart.new; end\nend\n",
    "lib/shop/cart.rb": "module Shop\n  class Cart < Base\n    include Priced\n    attr_reader :owner, :items\n"
    "    def initialize(owner)\n      super()\n      @owner = Owner.new(owner)\n      @items = []\n    end\n"
    "    def self.call(x) = new(x).call\n    def self.open(x)\n      new(x)\n    end\n    def call; total; end\n"
    "    def add(item)\n      items << item\n      self\n    end\n    def ready?; true; end\n    def done!; end\n"
    "  end\nend\n",
    "lib/shop/base.rb": "module Shop\n  class Base\n    def initialize; end\n    def close; end\n    def self.build(x); end\n"
    "  end\n  class Error < StandardError; end\nend\n",
    "lib/shop/priced.rb": "module Shop\n  module Priced\n    RATE = 2\n    def total; rate_now * RATE; end\n"
    "    def rate_now; 1; end\n  end\nend\n",
    "lib/shop/owner.rb": "class Shop::Owner\n  def name; end\n  def boss; @boss ||= Shop::Owner.new; end\nend\n",
    "lib/shop/cart_more.rb": "class Shop::Cart\n  def more; total; end\nend\n",
}


def build_program(body: str, members: str = "", head: str = "module Shop", name: str = "Page") -> Program:
    """Return the library with a class that has a method with a body."""
    text = f"{head}\n  class {name}\n{members}\n    def run(value)\n{body}\n    end\n  end\nend\n"
    return {**LIBRARY, "app/page.rb": text}


def collect_targets(program: Program, *relations: str, least: float = 0.5) -> set[str]:
    """Return the declarations of the library that the page refers to by some relations."""
    return {
        target.partition(":")[2].removeprefix("Shop.")
        for source, _, target in triples(program, *relations, least=least)
        if source.startswith("app/page.rb:") and target.startswith("lib/")
    }


@pytest.mark.parametrize(
    ("body", "target"),
    [
        ("Cart.new(1).call", "Cart.call"),
        ("Cart.new(1).close", "Base.close"),
        ("Cart.new(1).total", "Priced.total"),
        ("Cart.new(1).more", "Cart.more"),
        ("Cart.open(1).add(2).done!", "Cart.done!"),
        ("Cart.build 1", "Base.build"),
        ("cart = Cart.new 1\ncart.ready?", "Cart.ready?"),
        ("cart = value || Cart.new(1)\ncart.close if cart", "Base.close"),
        ("@cart ||= Cart.new(1)\n@cart.close", "Base.close"),
        ("@cart = Cart.new(1)\nvalue.each { @cart.close }", "Base.close"),
        ("Cart.new(1).owner.name", "Owner.name"),
        ("Cart.new(1).owner.boss.name", "Owner.name"),
        ("Shop.cart.close", "Base.close"),
        ("Shop.setup 1", "setup"),
        ("::Shop::Cart.new(1).close", "Base.close"),
        ("begin\n  go\nrescue Error => e\n  e.full\nend\nOwner.new.name", "Owner.name"),
        ("Cart.new(1).freeze.close", "Base.close"),
        ("Cart.new(1)&.close", "Base.close"),
        ('"a #{Cart.new(1).close} b"', "Base.close"),
        ("value ? Cart.new(1).close : nil", "Base.close"),
    ],
)
def test_calls_resolve_through_constants_and_values(body: str, target: str) -> None:
    assert target in collect_targets(build_program(body), "calls")


@pytest.mark.parametrize(
    ("body", "members"),
    [
        ("value.close", ""),
        ("close", ""),
        ("total = 1\ntotal", "include Priced"),
        ("value.each { |total| total }", "include Priced"),
        ("Cart.close", ""),
        ("Other::Cart.new.close", ""),
        ("close", "def self.help; close; end"),
        ("self.class.close", ""),
    ],
)
def test_unknown_receivers_and_variables_have_no_certain_edge(body: str, members: str) -> None:
    assert not collect_targets(build_program(body, members), "calls")


def test_methods_of_the_type_and_of_instances_are_distinct() -> None:
    program = {"a.rb": "class A\n  def self.go\n    new.go\n    go\n  end\n  def go; self.class.go; end\nend\n"}
    lines = {node["start_line"]: node for node in build(program).nodes.to_pylist() if node["name"] == "go"}
    assert set(lines) == {2, 6}
    graph = build(program)
    nodes = graph.nodes.to_pylist()
    calls = {
        (edge["line"], nodes[edge["target"]]["start_line"])
        for edge in graph.edges.to_pylist()
        if edge["relation"] == "calls"
    }
    assert calls == {(3, 6), (4, 2), (6, 2)}


def test_bare_names_are_methods_of_the_receiver_or_functions() -> None:
    program = {
        "lib/tools.rb": "def help_me; end\n",
        "main.rb": "require_relative 'lib/tools'\ndef own; end\nmodule Outer\n  def self.hidden; end\n  class A\n"
        "    attr_reader :size\n    def go\n      own\n      help_me\n      size\n      hidden\n"
        "      other unless size\n    end\n    def other; end\n  end\nend\nown\n",
    }
    assert triples(program, "calls", "references") == {
        ("main.rb", "calls", "main.rb:own"),
        ("main.rb:Outer.A.go", "calls", "main.rb:own"),
        ("main.rb:Outer.A.go", "calls", "lib/tools.rb:help_me"),
        ("main.rb:Outer.A.go", "calls", "main.rb:Outer.A.other"),
        ("main.rb:Outer.A.go", "references", "main.rb:Outer.A.size"),
    }


def test_mixins_superclasses_and_overrides() -> None:
    edges = triples(LIBRARY, "inherits", "implements", "overrides")
    assert edges == {
        ("lib/shop/cart.rb:Shop.Cart", "inherits", "lib/shop/base.rb:Shop.Base"),
        ("lib/shop/cart.rb:Shop.Cart", "implements", "lib/shop/priced.rb:Shop.Priced"),
        ("lib/shop/cart.rb:Shop.Cart.initialize", "overrides", "lib/shop/base.rb:Shop.Base.initialize"),
    }
    calls = triples(LIBRARY, "calls", "instantiates")
    assert ("lib/shop/cart.rb:Shop.Cart.initialize", "calls", "lib/shop/base.rb:Shop.Base.initialize") in calls
    assert ("lib/shop/cart.rb:Shop.Cart.open", "instantiates", "lib/shop/cart.rb:Shop.Cart") in calls
    assert ("lib/shop/cart_more.rb:Shop.Cart.more", "calls", "lib/shop/priced.rb:Shop.Priced.total") in calls


def test_prepended_and_later_mixins_come_first() -> None:
    program = {
        "a.rb": "module M\n  def go; end\nend\nmodule N\n  def go; end\nend\nclass B\n  def go; end\nend\n"
        "class A < B\n  include M\n  include N\n  def run; go; end\n  def self.x; end\nend\nclass C < A\n  extend M\n"
        "  def go; super; end\n  go\nend\n",
    }
    assert triples(program, "calls") == {
        ("a.rb:A.run", "calls", "a.rb:N.go"),
        ("a.rb:C.go", "calls", "a.rb:M.go"),
        ("a.rb:C", "calls", "a.rb:M.go"),
    }


def test_mixin_calls_methods_of_its_users_as_candidates() -> None:
    program = {
        "a.rb": "module Greets\n  def greet; say(name_now); end\nend\nclass A\n  include Greets\n  def name_now; end\nend\n"
    }
    [edge] = [edge for edge in link(program) if edge.relation == "calls"]
    assert edge.target == "a.rb:A.name_now"
    assert edge.confidence < 0.5


def test_unique_imported_method_is_a_candidate() -> None:
    program = {
        "a.rb": "require_relative 'b'\ndef run(x)\n  x.price_now()\n  x.each()\n  x.gone()\nend\n",
        "b.rb": "class B\n  def price_now; end\n  def each; end\nend\n",
        "c.rb": "class C\n  def gone; end\nend\n",
    }
    [edge] = [edge for edge in link(program) if edge.relation == "calls"]
    assert edge.target == "b.rb:B.price_now"
    assert edge.resolver == "unique"
    assert edge.confidence < 0.5


def test_assignments_call_setters_or_refer_to_attributes() -> None:
    program = {
        "a.rb": "class A\n  attr_accessor :size\n  attr_reader :name\n  def name=(text); @name = text; end\n"
        "  def go\n    self.size = 1\n    self.name = 'x'\n    A.new.name = 'y'\n    name\n  end\nend\n",
    }
    edges = [edge for edge in link(program) if edge.source == "a.rb:A.go" and edge.relation != "instantiates"]
    assert sorted({(edge.line, edge.relation, edge.target) for edge in edges}) == [
        (6, "references", "a.rb:A.size"),
        (7, "calls", "a.rb:A.name="),
        (8, "calls", "a.rb:A.name="),
        (9, "references", "a.rb:A.name"),
    ]


def test_attribute_is_not_the_method_that_it_is_assigned_from() -> None:
    program = {
        "a.rb": "class A\n  attr_reader :data\n  def initialize; @data = build; end\n  def build; Item.new; end\n"
        "  def go; data.run; end\nend\nclass Item\n  def run; end\nend\n",
    }
    assert {target for source, relation, target in triples(program) if source == "a.rb:A.go"} == {
        "a.rb:A.data",
        "a.rb:Item.run",
    }


@pytest.mark.parametrize(
    ("body", "members", "targets"),
    [
        ("LIMIT", "", {"LIMIT"}),
        ("[Cart, Owner]", "", {"Cart", "Owner"}),
        ("Shop::Priced::RATE", "", {"Priced.RATE"}),
        ("go\nrescue Error, Other => e", "", {"Error"}),
        ("value.map(&method(:total))", "include Priced", {"Priced", "Priced.total"}),
        ("method(:total)", "include Priced", {"Priced", "Priced.total"}),
        ("send(:total, 1)", "include Priced", {"Priced", "Priced.total"}),
        ("cart = Cart.new\ncart.public_send(:close)", "", {"Base.close"}),
        ("", "include Priced\nvalidate :total, if: :rate_now", {"Priced", "Priced.total", "Priced.rate_now"}),
        ("", "include Priced\nrescue_from Error, with: :total", {"Priced", "Error", "Priced.total"}),
        ("", "include Priced\nalias_method :sum, :total", {"Priced", "Priced.total"}),
        ("", "include Priced\nalias sum total", {"Priced", "Priced.total"}),
        ("", "before_action :missing", set()),
        ("lookup(:total)", "", set()),
    ],
)
def test_constants_and_symbols_are_references(body: str, members: str, targets: set[str]) -> None:
    assert collect_targets(build_program(body, members), "references") == targets


def test_callbacks_in_blocks_of_a_type_are_references() -> None:
    program = {
        "a.rb": "module Audits\n  included do\n    after_commit :write\n  end\n  def write\n    log(:write)\n  end\nend\n"
    }
    assert [(edge.source, edge.relation, edge.target, edge.line) for edge in link(program)] == [
        ("a.rb:Audits", "references", "a.rb:Audits.write", 3)
    ]


def test_records_of_an_external_base_are_found_by_the_class() -> None:
    program = {
        "app/user.rb": "class User < ApplicationRecord\n  def go; end\n  def self.run\n    User.find(1).go\n"
        "    where(a: 1).order(:b).first.go\n    all.each { |user| user.go }\n    create!.go\n  end\nend\n",
        "app/plain.rb": "class Plain\n  def go; end\n  def self.run; Plain.find(1).go; end\nend\n"
        "class Own < ApplicationRecord\n  def go; end\n  def self.find(x) = 3\n  def self.run; find(1).go; end\nend\n",
    }
    edges = [edge for edge in link(program) if edge.relation == "calls" and edge.target.endswith("go")]
    assert {(edge.target, edge.line) for edge in edges if edge.confidence >= 0.5} == {
        ("app/user.rb:User.go", line) for line in (4, 5, 6, 7)
    }


def test_included_constants_come_before_those_of_unrelated_scripts() -> None:
    program = {
        **LIBRARY,
        "bench/cart.rb": "class Cart\nend\n",
        "test/helper.rb": "include Shop\n",
        "test/cart_test.rb": "require_relative 'helper'\nCart.new(1).close\n",
    }
    targets = {target for source, _, target in triples(program, "calls", "instantiates") if source.startswith("test/")}
    assert targets == {"lib/shop/cart.rb:Shop.Cart", "lib/shop/base.rb:Shop.Base.close"}


def test_symbols_in_tables_are_less_certain_references() -> None:
    program = {
        "a.rb": "module Hooks\n  HANDLERS = { open: :on_open, all: [:on_close] }.freeze\n  def self.on_open; end\n"
        "  def self.on_close; end\n  def self.run; { open: :on_open }; end\nend\n"
    }
    edges = {(edge.source, edge.target, edge.resolver) for edge in link(program)}
    assert edges == {
        ("a.rb:Hooks.HANDLERS", "a.rb:Hooks.on_open", "string"),
        ("a.rb:Hooks.HANDLERS", "a.rb:Hooks.on_close", "string"),
    }


def test_delegation_refers_to_its_target() -> None:
    program = {"a.rb": "class A\n  attr_reader :owner\n  delegate :name, to: :owner\n  private :owner\nend\n"}
    assert triples(program, "references") == {("a.rb:A", "references", "a.rb:A.owner")}


def test_dynamic_methods_have_edges() -> None:
    program = {"a.rb": "class A\n  define_method(:dyn) { help }\n  def help; end\n  def go; dyn; end\nend\n"}
    assert triples(program, "calls") == {("a.rb:A.dyn", "calls", "a.rb:A.help"), ("a.rb:A.go", "calls", "a.rb:A.dyn")}


def test_requires_lead_to_files_or_packages() -> None:
    program = {
        "lib/shop.rb": "require 'shop/cart'\nrequire_relative 'shop/item'\nrequire 'json'\nautoload :Tax, 'shop/tax'\n"
        "require_relative 'json'\n",
        "lib/shop/cart.rb": "",
        "lib/shop/item.rb": "",
        "lib/shop/tax.rb": "",
        "web/json.js": "",
    }
    assert {target for _, _, target in triples(program, "imports")} == {
        "lib/shop/cart.rb",
        "lib/shop/item.rb",
        "lib/shop/tax.rb",
        "json",
    }


def test_test_classes_of_one_name_are_apart() -> None:
    program = {
        "test/a_test.rb": "class Helper\n  def go; run; end\nend\n",
        "test/b_test.rb": "class Helper\n  def run; end\nend\n",
        "lib/c.rb": "class Used\n  def go; run; end\nend\n",
        "lib/d.rb": "class Used\n  def run; end\nend\n",
    }
    assert triples(program, "calls") == {("lib/c.rb:Used.go", "calls", "lib/d.rb:Used.run")}


def test_specs_and_blocks_of_classes_are_linked() -> None:
    program = {
        **LIBRARY,
        "spec/cart_spec.rb": "include Shop\ndescribe Cart do\n  let(:cart) { Cart.new(1) }\n"
        "  it 'x' do\n    cart.close\n  end\nend\n",
        "test/cart_test.rb": "class CartTest\n  def fresh; Shop::Cart.new(1); end\n  setup do\n    @cart = fresh\n  end\n"
        "  should 'x' do\n    @cart.close\n  end\nend\n",
    }
    edges = triples(program, "calls", "tests")
    assert ("spec/cart_spec.rb:Cart.x", "calls", "lib/shop/base.rb:Shop.Base.close") in edges
    assert ("spec/cart_spec.rb:Cart.x", "tests", "lib/shop/base.rb:Shop.Base.close") in edges
    assert ("test/cart_test.rb:CartTest", "calls", "test/cart_test.rb:CartTest.fresh") in edges
    assert ("test/cart_test.rb:CartTest.x", "calls", "lib/shop/base.rb:Shop.Base.close") in edges


@pytest.mark.parametrize(
    "changed",
    [
        {"lib/shop/owner.rb": "class Shop::Boss\n  def name; end\nend\n"},
        {"lib/shop/base.rb": "module Shop\n  class Base\n    def self.close; end\n  end\nend\n"},
        {"lib/shop/page.rb": "module Shop\n  class Page\n    def later; end\n  end\n  class Late; end\nend\n"},
        {"lib/later.rb": "def later; end\n"},
    ],
)
def test_incremental_linking_equals_full_linking(changed: Program) -> None:
    before = build_program("Cart.new(1).owner.name\nCart.new(1).close\nlater\nLate.new", "require 'later'")
    after = {**before, **changed}
    assert_same_graph(build(after, build(before), before), build(after))
