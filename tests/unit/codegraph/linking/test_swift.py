"""Swift: edges of small programs."""

import pytest

from tests.support.programs import Program, assert_same_graph, build, link, triples

CORE_FILE, MORE_FILE, MAIN_FILE = "Sources/Core/Shop.swift", "Sources/Core/More.swift", "Sources/App/Main.swift"
CORE = """import Foundation

public protocol Listener: AnyObject {
    associatedtype Token
    var name: String { get }
    func onOpen(_ item: Item)
    func onClose(after seconds: Int)
}

public class Base {
    func help() {}
    func load(id: String) -> Item { Item(label: id) }
}

public final class Store<Kind: Listener>: Base {
    static let shared = Store()
    let items: [Item] = []
    var byName: [String: Item] = [:]
    weak var listener: Kind?
    var first: Item? { items.first }
    override func load(id: String) -> Item { super.load(id: id) }
    func each(_ body: (Item) -> Void) {}
    init(count: Int = 0) {}
    convenience init(name: String, twice: Bool) { self.init(count: 2) }
}

public struct Item {
    var label: String
    var mode: Mode = .open
    func run() {}
    func callAsFunction() {}
}

public enum Mode { case open, closed(Int); func enter() {} }

private func hidden() {}
func visible() {}
typealias Shop = Store
@propertyWrapper struct Clamped { var wrappedValue: Int }
"""
MORE = """extension Item: CustomStringConvertible {
    var description: String { label.shouted() }
    func print(copies: Int) { run() }
    struct Part { func fix() {} }
}

extension String { func shouted() -> String { self } }
extension Listener { func onClose(after seconds: Int) { onOpen(Item(label: name)) } }
extension Store { func count(of kind: Kind) { kind.onClose(after: 1) } }
"""
LIBRARY = {CORE_FILE: CORE, MORE_FILE: MORE}


def collect_targets(program: Program, scope: str, *relations: str) -> set[str]:
    """Return the targets of the edges from a declaration of the main file."""
    source = f"{MAIN_FILE}:{scope}"
    return {target for origin, _, target in triples(program, *relations) if origin == source}


def build_function_program(body: str, head: str = "import Core", members: str = "") -> Program:
    """Return the library with a class that has a method with a body."""
    text = f"{head}\nfinal class Main: Base {{\nlet item: Item\n{members}\nfunc start(it: Item?) {{\n{body}\n}}\n}}\n"
    return {**LIBRARY, MAIN_FILE: text}


@pytest.mark.parametrize(
    ("body", "target"),
    [
        ("_ = Item(label: \"a\")", f"{CORE_FILE}:Item"),
        ("_ = Item.init(label: \"a\").run()", f"{CORE_FILE}:Item.run"),
        ("_ = Core.Item(label: \"a\")", f"{CORE_FILE}:Item"),
        ("_ = Store<Some>(count: 1)", f"{CORE_FILE}:Store"),
        ("Store.shared.load(id: \"a\").run()", f"{CORE_FILE}:Item.run"),
        ("_ = Shop.shared.load(id: \"a\")", f"{CORE_FILE}:Store.load"),
        ("visible()", f"{CORE_FILE}:visible"),
        ("item.run()", f"{CORE_FILE}:Item.run"),
        ("self.item.run()", f"{CORE_FILE}:Item.run"),
        ("it?.run()", f"{CORE_FILE}:Item.run"),
        ("it!.run()", f"{CORE_FILE}:Item.run"),
        ("help()", f"{CORE_FILE}:Base.help"),
        ("super.help()", f"{CORE_FILE}:Base.help"),
        ("if let it { it.run() }", f"{CORE_FILE}:Item.run"),
        ("if let x = it { x.run() }", f"{CORE_FILE}:Item.run"),
        ("guard let x = Store.shared.first else { return }\nx.run()", f"{CORE_FILE}:Item.run"),
        ("let x = any as? Item\nx?.run()", f"{CORE_FILE}:Item.run"),
        ("for x in Store.shared.items { x.run() }", f"{CORE_FILE}:Item.run"),
        ("Store.shared.items[0].run()", f"{CORE_FILE}:Item.run"),
        ("Store.shared.byName[\"a\"]?.run()", f"{CORE_FILE}:Item.run"),
        ("Store.shared.items.forEach { $0.run() }", f"{CORE_FILE}:Item.run"),
        ("Store.shared.items.filter { x in x.run() }", f"{CORE_FILE}:Item.run"),
        ("Store.shared.each { $0.run() }", f"{CORE_FILE}:Item.run"),
        ("Store.shared.each({ x in x.run() })", f"{CORE_FILE}:Item.run"),
        ("let all = [Item]()\nall.first?.run()", f"{CORE_FILE}:Item.run"),
        ("let f = { (x: Item) in x.run() }", f"{CORE_FILE}:Item.run"),
        ("switch any { case let x as Item: x.run()\ndefault: break }", f"{CORE_FILE}:Item.run"),
        ("do { try go() } catch let x as Item { x.run() }", f"{CORE_FILE}:Item.run"),
        ("item.mode.enter()", f"{CORE_FILE}:Mode.enter"),
        ("Mode.open.enter()", f"{CORE_FILE}:Mode.enter"),
        ("try! await item.run()", f"{CORE_FILE}:Item.run"),
        ("item()", f"{CORE_FILE}:Item.callAsFunction"),
        ("item.print(copies: 2)", f"{MORE_FILE}:Item.print"),
        ("Item.Part().fix()", f"{MORE_FILE}:Item.Part.fix"),
        ("\"a\".shouted()", f"{MORE_FILE}:String.shouted"),
        ("item.label.shouted()", f"{MORE_FILE}:String.shouted"),
    ],
)  # fmt: skip
def test_calls_resolve_through_modules_types_and_extensions(body: str, target: str) -> None:
    assert target in collect_targets(build_function_program(body), "Main.start", "calls", "instantiates")


@pytest.mark.parametrize(
    ("body", "target"),
    [
        ("items.map(helper)", f"{MAIN_FILE}:Main.helper"),
        ("items.map(self.helper)", f"{MAIN_FILE}:Main.helper"),
        ("button.add(action: #selector(helper))", f"{MAIN_FILE}:Main.helper"),
        ("button.add(action: #selector(Main.helper))", f"{MAIN_FILE}:Main.helper"),
        ("let x = \\Item.label", f"{CORE_FILE}:Item.label"),
        ("use(Item.self)", f"{CORE_FILE}:Item"),
        ("let x: [String: Mode]? = nil", f"{CORE_FILE}:Mode"),
        ("let x: Mode = .open", f"{CORE_FILE}:Mode.open"),
        ("switch item.mode { case .closed(let n): use(n)\ncase .open: break }", f"{CORE_FILE}:Mode.closed"),
        ("if item.mode == .open { }", f"{CORE_FILE}:Mode.open"),
        ("use(.closed(1))", f"{CORE_FILE}:Mode.closed"),
        ("use(item.label)", f"{CORE_FILE}:Item.label"),
        ("func inner<T: Listener>(_ x: T) {}", f"{CORE_FILE}:Listener"),
    ],
)
def test_values_and_types_are_references(body: str, target: str) -> None:
    program = build_function_program(body, members="@objc func helper() {}\n@Clamped var size: Int = 0")
    targets = collect_targets(program, "Main.start", "references") | collect_targets(
        program, "Main.start.inner", "references"
    )
    assert target in targets
    assert f"{CORE_FILE}:Clamped" in collect_targets(program, "Main.size", "references")


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("", '_ = Item(label: "a")'),
        ("import Other", "visible()"),
        ("import Core", "hidden()"),
        ("import Core", "unknown().run()"),
        ("import Core", "1.shouted()"),
        ("import Core", "Store.shared.run()"),
        ("import Core", "item.run(1)"),
        ("import Core", "func inner(visible: (Int) -> Void) { visible(1) }"),
    ],
)
def test_unresolvable_calls_have_no_edge(head: str, body: str) -> None:
    targets = collect_targets(build_function_program(body, head), "Main.start", "calls", "instantiates")
    assert targets <= {f"{CORE_FILE}:Store"}


def test_weak_evidence_gives_no_certain_edge() -> None:
    program = {
        "Sources/Core/Result.swift": "public struct Result2 { func mapped() {} }\n",
        "Sources/Core/Stream.swift": "extension Stream { func mapped() { flat { $0.mapped() } } }\n",
    }
    assert triples(program, "calls") == set()


def test_type_parameters_hide_associated_types_of_the_same_name() -> None:
    program = {
        "A.swift": "protocol P { associatedtype Value }\nstruct Box<Value>: P {}\n",
        "B.swift": "extension Box { func put(_ x: Value) {} }\n",
    }
    assert "A.swift:P.Value" not in {target for _, _, target in triples(program, "references")}


def test_types_extend_implement_and_override() -> None:
    program = {
        **LIBRARY,
        MAIN_FILE: "import Core\nclass Main: Base {\n  override func help() {}\n}\n"
        'extension Main: Listener {\n  var name: String { "" }\n  func onOpen(_ item: Item) { help() }\n'
        "  func onClose(before seconds: Int) {}\n}\n",
    }
    main = f"{MAIN_FILE}:Main"
    edges = triples(program, "inherits", "implements", "overrides")
    assert edges >= {
        (main, "inherits", f"{CORE_FILE}:Base"),
        (main, "implements", f"{CORE_FILE}:Listener"),
        (f"{main}.help", "overrides", f"{CORE_FILE}:Base.help"),
        (f"{main}.name", "overrides", f"{CORE_FILE}:Listener.name"),
        (f"{main}.onOpen", "overrides", f"{CORE_FILE}:Listener.onOpen"),
        (f"{CORE_FILE}:Store.load", "overrides", f"{CORE_FILE}:Base.load"),
    }
    assert f"{main}.onClose" not in {source for source, _, _ in edges}, "the labels differ"
    assert f"{main}.help" in collect_targets(program, "Main.onOpen", "calls")


def test_extensions_use_members_of_their_type() -> None:
    edges = triples(LIBRARY, "calls", "references")
    assert edges >= {
        (f"{MORE_FILE}:Item.description", "references", f"{CORE_FILE}:Item.label"),
        (f"{MORE_FILE}:Item.description", "calls", f"{MORE_FILE}:String.shouted"),
        (f"{MORE_FILE}:Item.print", "calls", f"{CORE_FILE}:Item.run"),
        (f"{MORE_FILE}:Listener.onClose", "calls", f"{CORE_FILE}:Listener.onOpen"),
        (f"{MORE_FILE}:Store.count", "calls", f"{CORE_FILE}:Listener.onClose"),
        (f"{CORE_FILE}:Store.init", "calls", f"{CORE_FILE}:Store.init"),
    }


def test_method_has_precedence_over_a_property_of_its_name() -> None:
    program = {
        "A.swift": "struct A {\n  let sum: Int\n  func go() { sum(of: 1) }\n}\n",
        "B.swift": "extension A {\n  func sum(of x: Int) {}\n}\n",
    }
    assert ("A.swift:A.go", "calls", "B.swift:A.sum") in triples(program)


def test_files_without_targets_see_one_another() -> None:
    program = {
        "App/Main.swift": "class Main { func start() { Helper().assist() } }\n",
        "App/Parts/Helper.swift": "class Helper { func assist() {} }\n",
    }
    assert ("App/Main.swift:Main.start", "calls", "App/Parts/Helper.swift:Helper.assist") in triples(program)


def test_tests_reach_what_they_import() -> None:
    program = {
        **LIBRARY,
        "Tests/CoreTests/ItemTests.swift": "import XCTest\n@testable import Core\n"
        'final class ItemTests: XCTestCase {\n  func testRun() { XCTAssertNil(Item(label: "a").run()) }\n}\n',
    }
    test = "Tests/CoreTests/ItemTests.swift:ItemTests.testRun"
    assert (test, "tests", f"{CORE_FILE}:Item.run") in triples(program, "tests")


def test_trailing_closure_is_an_argument_of_the_call() -> None:
    body = "let x = Store.shared.each { _ in }\nlet y = pick(1) { _ in }"
    edges = link(build_function_program(body, members="func pick(_ x: Int, _ f: (Int) -> Void) {}"))
    assert {edge.target for edge in edges if edge.relation == "calls"} >= {
        f"{CORE_FILE}:Store.each",
        f"{MAIN_FILE}:Main.pick",
    }


INCREMENTAL: Program = {
    **LIBRARY,
    **build_function_program('item.print(copies: 1)\n"a".shouted()\nStore.shared.each { $0.run() }'),
}


@pytest.mark.parametrize("path", sorted(INCREMENTAL))
def test_incremental_build_equals_full_build(path: str) -> None:
    without = {name: text for name, text in INCREMENTAL.items() if name != path}
    changed = {**INCREMENTAL, path: INCREMENTAL[path].replace("print", "show").replace("class Base", "class Root")}
    steps = [without, INCREMENTAL, changed, INCREMENTAL, without]
    last, previous = build(steps[0]), steps[0]
    for program in steps[1:]:
        last, previous = build(program, last, previous), program
        assert_same_graph(last, build(program))
