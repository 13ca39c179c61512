"""Edges of Scala programs."""

import pytest

from tests.support.programs import Program, assert_same_graph, build, link, triples

_SHOP = {
    "src/main/scala/shop/model/Item.scala": """package shop
package model

case class Item(name: String, price: Price) {
  def label: String = name
  def discounted(share: Int): Item = copy(price = price)
}

object Item {
  val free: Item = Item("free", Price(0))
}

class Price private (val cents: Int)

object Price {
  def apply(cents: Int): Price = new Price(cents)
}

sealed trait Event
object Event {
  final case class Sold(item: Item) extends Event
  case object Closed extends Event
}

enum Shelf {
  case Upper, Lower
}
""",
    "src/main/scala/shop/store/Store.scala": """package shop.store

import shop.model.{Item, Price => Cost, Event}
import shop.text._

trait Store[F[_]] {
  def find(name: String): Option[Item]
  def all: List[Item]
  def close(): Unit = ()
}

trait Listener {
  def on(event: Event): Unit
}

class MemoryStore(items: List[Item], audit: Audit) extends Store[Option] with AutoCloseable {
  override def find(name: String): Option[Item] = items.find(item => matches(item))
  override def all: List[Item] = items
  override def close(): Unit = super.close()

  private def matches(item: Item): Boolean = item.label.shout.isEmpty

  def listener(): Listener = new Listener {
    def on(event: Event): Unit = event match {
      case Event.Sold(item) => audit.record(item)
      case Event.Closed     => close()
    }
  }
}

object MemoryStore {
  def empty: MemoryStore = new MemoryStore(Nil, Audit.silent)
}

class Audit {
  def record(item: Item): Unit = ()
  def price(item: Item): Cost = Cost(1)
}

object Audit {
  val silent = new Audit
}
""",
    "src/main/scala/shop/text/package.scala": """package shop

package object text {
  val width = 80
  def clean(value: String): String = value

  implicit class Loud(private val value: String) extends AnyVal {
    def shout: String = clean(value)
  }
}
""",
    "src/main/scala/shop/Main.scala": """package shop

import shop.model._
import shop.store.MemoryStore

object Main extends App {
  val store = MemoryStore.empty

  def run(): Unit = {
    for {
      item <- store.all
      cheap = item.discounted(2)
    } yield cheap.label
    store.all.map(label)
    store.all.headOption.foreach(item => item.discounted(3))
    store find "x"
    shop.text.clean("y")
    Item.free.label
    Shelf.Upper
  }

  def label(item: Item): String = item.label
}
""",
    "src/test/scala/shop/store/MemoryStoreSuite.scala": """package shop.store

import shop.model._

class MemoryStoreSuite extends munit.FunSuite {
  test("finds") {
    val store = new MemoryStore(List(Item("a", Price(1))), Audit.silent)
    assert(store.find("a").isDefined)
  }
}
""",
}


def _collect(relation: str, program: Program = _SHOP) -> set[tuple[str, str]]:
    return {(source.rpartition("/")[2], target.rpartition("/")[2]) for source, _, target in triples(program, relation)}


def test_calls_follow_types_packages_and_companions() -> None:
    """Receivers have the types of parameters, fields, results and elements; a package object belongs to its package."""
    assert _collect("calls") >= {
        ("Main.scala:Main.store", "Store.scala:MemoryStore.empty"),
        ("Main.scala:Main.run", "Store.scala:MemoryStore.all"),
        ("Main.scala:Main.run", "Store.scala:MemoryStore.find"),
        ("Main.scala:Main.run", "Item.scala:Item.discounted"),
        ("Main.scala:Main.run", "Item.scala:Item.label"),
        ("Main.scala:Main.run", "package.scala:text.clean"),
        ("Store.scala:MemoryStore.close", "Store.scala:Store.close"),
        ("Store.scala:MemoryStore.find", "Store.scala:MemoryStore.matches"),
        ("Store.scala:MemoryStore.matches", "Item.scala:Item.label"),
        ("Store.scala:MemoryStore.listener.on", "Store.scala:Audit.record"),
        ("Store.scala:MemoryStore.listener.on", "Store.scala:MemoryStore.close"),
        ("Store.scala:Audit.price", "Item.scala:Price.apply"),
        ("MemoryStoreSuite.scala:MemoryStoreSuite.finds", "Store.scala:MemoryStore.find"),
    }


def test_names_of_case_classes_instantiate_them_and_other_objects_apply() -> None:
    """A call of a companion runs its ``apply`` method; that of a case class makes an instance."""
    program = {
        "a.scala": "case class Point(x: Int)\nobject Point { def apply(): Point = Point(0) }\n"
        "object Maker { def apply(n: Int): Point = Point(n) }\nobject A { def go = Maker(1); def make = Point(2) }\n"
    }
    assert ("a.scala:A.go", "calls", "a.scala:Maker.apply") in triples(program, "calls")
    nodes = build(program).nodes.to_pylist()
    instantiated = {
        (nodes[edge["source"]]["qualified_name"], nodes[edge["target"]]["start_line"])
        for edge in build(program).edges.to_pylist()
        if edge["relation"] == "instantiates"
    }
    assert instantiated == {("Point.apply", 1), ("Maker.apply", 1), ("A.make", 1)}


def test_types_are_extended_and_methods_overridden() -> None:
    """Traits, sealed hierarchies and classes without a name are implemented; the method around a class implements it."""
    assert _collect("implements") >= {
        ("Store.scala:MemoryStore", "Store.scala:Store"),
        ("Store.scala:MemoryStore.listener", "Store.scala:Listener"),
        ("Item.scala:Event.Sold", "Item.scala:Event"),
        ("Item.scala:Event.Closed", "Item.scala:Event"),
    }
    assert _collect("overrides") == {
        ("Store.scala:MemoryStore.find", "Store.scala:Store.find"),
        ("Store.scala:MemoryStore.all", "Store.scala:Store.all"),
        ("Store.scala:MemoryStore.close", "Store.scala:Store.close"),
        ("Store.scala:MemoryStore.listener.on", "Store.scala:Listener.on"),
    }


def test_types_patterns_and_method_values_are_references() -> None:
    """Types in signatures, patterns, renamed imports, enum cases and methods passed as values are uses."""
    assert _collect("references") >= {
        ("Store.scala:Store.find", "Item.scala:Item"),
        ("Store.scala:Audit.price", "Item.scala:Price"),
        ("Store.scala:MemoryStore.listener.on", "Item.scala:Event.Sold"),
        ("Store.scala:MemoryStore.listener.on", "Item.scala:Event.Closed"),
        ("Main.scala:Main.run", "Main.scala:Main.label"),
        ("Main.scala:Main.run", "Item.scala:Shelf.Upper"),
        ("Main.scala:Main.run", "Item.scala:Item.free"),
    }


def test_implicit_classes_and_extensions_give_methods_to_their_types() -> None:
    """A method of an extension is found by the type of its parameter, through a wildcard import or in its package."""
    assert ("Store.scala:MemoryStore.matches", "package.scala:text.Loud.shout") in _collect("calls")
    program = {
        "a/Book.scala": 'package a\nclass Book { def title: String = "" }\n'
        "extension (book: Book) {\n  def short: String = book.title\n}\n",
        "a/Use.scala": "package a\nclass Use { def go(book: Book) = book.short; def other(n: Int) = n.short }\n",
    }
    assert {(source, target) for source, _, target in triples(program, "calls")} == {
        ("a/Book.scala:Book.short", "a/Book.scala:Book.title"),
        ("a/Use.scala:Use.go", "a/Book.scala:Book.short"),
    }


def test_packages_of_outer_clauses_are_visible_and_other_enclosing_ones_are_not() -> None:
    """``package a`` above ``package b`` shows the members of both; ``package a.b`` shows those of ``a.b``."""
    program = {
        "Base.scala": "package a\nobject Base { def go(): Int = 1 }\n",
        "One.scala": "package a\npackage b\nobject One { def run = Base.go() }\n",
        "Two.scala": "package a.b\nobject Two { def run = Base.go() }\n",
    }
    assert triples(program, "calls") == {("One.scala:One.run", "calls", "Base.scala:Base.go")}


def test_files_without_a_package_see_one_another() -> None:
    """A bare name in a class is a member of its base in another file."""
    program = {
        "s/A.scala": "class A extends B { def go() = { halt(1) } }\n",
        "t/B.scala": "class B { def halt(x: Int) = 1 }\n",
    }
    assert triples(program, "inherits", "calls") == {
        ("s/A.scala:A", "inherits", "t/B.scala:B"),
        ("s/A.scala:A.go", "calls", "t/B.scala:B.halt"),
    }


def test_a_root_package_is_not_hidden_by_one_that_ends_in_its_name() -> None:
    """In ``package test.io`` the name ``io`` means the root package."""
    program = {
        "Read.scala": "package io\nobject read { def apply(n: Int): Int = n }\n",
        "Suite.scala": "package test.io\nobject Suite { def go = io.read(1); def root = _root_.io.read(2) }\n",
    }
    assert triples(program, "calls") == {
        ("Suite.scala:Suite.go", "calls", "Read.scala:read.apply"),
        ("Suite.scala:Suite.root", "calls", "Read.scala:read.apply"),
    }


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("def go(x: Any) = x.run()", id="external type"),
        pytest.param("def go(f: Task => Int, t: Int) = f.run()", id="function type"),
        pytest.param("def go[T](x: T) = x.run()", id="type parameter"),
        pytest.param("def go(task: Int) = { val other = task; other.run() }", id="variable of another type"),
    ],
)
def test_receivers_of_other_types_give_no_certain_edge(body: str) -> None:
    """A method of the same name is at most a candidate."""
    program = {"A.scala": f"class Task {{ def run(): Int = 1 }}\nclass A {{ {body} }}\n"}
    assert not triples(program, "calls")


def test_placeholders_are_elements_of_the_receiver() -> None:
    """``_`` in an argument stands for an element, each in its own call."""
    program = {
        "A.scala": "class One { def next: Two = new Two; def ok = true }\nclass Two { def ok = true }\n"
        "class A { def go(xs: List[One], ys: Option[Two]) = { xs.filter(_.ok); ys.exists(_.ok); f(_.ok) } }\n"
    }
    assert {(source, target) for source, _, target in triples(program, "calls")} == {
        ("A.scala:A.go", "A.scala:One.ok"),
        ("A.scala:A.go", "A.scala:Two.ok"),
    }


def test_local_functions_are_those_of_the_block() -> None:
    """Of local functions of one name in several blocks, the one above in the text counts."""
    program = {
        "A.scala": "object A {\n  def go() = {\n    { def check(n: Int) = n; check(1) }\n"
        "    { def check(n: Int) = n + 1; check(2) }\n  }\n}\n"
    }
    nodes = build(program).nodes.to_pylist()
    lines = {
        (edge["line"], nodes[edge["target"]]["start_line"])
        for edge in build(program).edges.to_pylist()
        if edge["relation"] == "calls"
    }
    assert lines == {(3, 3), (4, 4)}


def test_candidates_of_unknown_receivers_stay_below_the_threshold() -> None:
    """The only method of a name in sight is a candidate."""
    program = {"A.scala": "class Task { def launch(): Int = 1 }\nclass A { def go(xs: Any) = unknown(xs).launch() }\n"}
    edges = [edge for edge in link(program) if edge.relation == "calls"]
    assert all(edge.confidence < 0.5 for edge in edges)


def test_incremental_build_equals_a_full_one() -> None:
    """A new object, a changed result type and a moved package object reach the files that use them."""
    path = "src/main/scala/shop/store/Store.scala"
    before = {name: text for name, text in _SHOP.items() if not name.endswith("package.scala")}
    after = {**_SHOP, path: _SHOP[path].replace("def empty: MemoryStore", "def empty: Store[Option]")}
    graph = build(before)
    assert_same_graph(build(after, graph, before), build(after))
    use = "object A { def go = Maker(1) }\n"
    made = {"m.scala": "object Maker { def other(n: Int): Int = n }\n", "u.scala": use}
    applied = {"m.scala": "object Maker { def apply(n: Int): Int = n }\n", "u.scala": use}
    assert_same_graph(build(applied, build(made), made), build(applied))
