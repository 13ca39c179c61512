"""Kotlin: edges of small programs, some of them with Java."""

import pytest

from tests.support.programs import Program, assert_same_graph, build, link, triples

SHOP_FILE, ITEM_FILE, TOOLS_FILE = "src/shop/Shop.kt", "src/shop/Item.kt", "src/tools/Tools.kt"
SHOP = """package shop

interface Listener {
    fun onOpen(item: Item)
    fun onClose() {}
    val name: String
}

open class Store(protected val items: List<Item>) {
    val first: Item get() = items.first()
    open fun load(id: String, retries: Int = 3): Item = items[0]
    open fun load(): Item = first
    fun each(block: (Item) -> Unit) { }
    fun edit(block: Editor.() -> Unit) { }
    companion object {
        const val LIMIT = 3
        fun create() = Store(emptyList())
    }
}

class Editor {
    fun rename(text: String) {}
}

object Registry {
    fun register(listener: Listener) {}
}

enum class Mode { OPEN { override fun enter() { help() } }, CLOSED; open fun enter() {}; fun help() {} }

typealias Edits = Editor.() -> Unit
"""
ITEM = """package shop

data class Item(val label: String, val next: Item?) {
    fun run() {}
    operator fun invoke() {}
}

private fun hidden() {}
fun visible() {}
"""
TOOLS = """package tools

import shop.Editor
import shop.Edits
import shop.Item

fun Item.print(copies: Int = 1) { run() }
fun String.shout() = this
fun <T> T.log(): T = this
fun edit(edits: Edits) {}
infix fun Item.joins(other: Item): Item = other
val Item.size: Int get() = label.length
"""
LIBRARY = {SHOP_FILE: SHOP, ITEM_FILE: ITEM, TOOLS_FILE: TOOLS}
IMPORTS = "package app\nimport shop.*\nimport tools.*\n"


def collect_targets(program: Program, scope: str, *relations: str) -> set[str]:
    """Return the targets of the edges from a declaration of ``src/app/Main.kt``."""
    source = f"src/app/Main.kt:{scope}"
    return {target for origin, _, target in triples(program, *relations) if origin == source}


def build_function_program(body: str, head: str = IMPORTS) -> Program:
    """Return the library with a class that has a method with a body."""
    text = f"{head}\nclass Main(val store: Store, val item: Item?) {{\n    fun run(it2: Item) {{\n{body}\n    }}\n}}\n"
    return {**LIBRARY, "src/app/Main.kt": text}


@pytest.mark.parametrize(
    ("head", "body", "target"),
    [
        (IMPORTS, "Item(\"a\", null)", f"{ITEM_FILE}:Item"),
        ("package app\nimport shop.Item", "Item(\"a\", null)", f"{ITEM_FILE}:Item"),
        ("package app\nimport shop.Item as Thing", "Thing(\"a\", null).run()", f"{ITEM_FILE}:Item.run"),
        ("package shop", "visible()", f"{ITEM_FILE}:visible"),
        ("package app", "shop.Item(\"a\", null)", f"{ITEM_FILE}:Item"),
        (IMPORTS, "Store.create().load()", f"{SHOP_FILE}:Store.load"),
        (IMPORTS, "Store.Companion.create()", f"{SHOP_FILE}:Store.create"),
        ("package app\nimport shop.*\nimport shop.Store.Companion.create", "create()", f"{SHOP_FILE}:Store.create"),
        (IMPORTS, "item?.run()", f"{ITEM_FILE}:Item.run"),
        (IMPORTS, "item!!.next?.run()", f"{ITEM_FILE}:Item.run"),
        (IMPORTS, "store.first.run()", f"{ITEM_FILE}:Item.run"),
        (IMPORTS, "val other = store.load(\"a\")\nother.run()", f"{ITEM_FILE}:Item.run"),
        (IMPORTS, "val other by lazy { store.load() }\nother.run()", f"{ITEM_FILE}:Item.run"),
        (IMPORTS, "store.each { it.run() }", f"{ITEM_FILE}:Item.run"),
        (IMPORTS, "store.each { each -> each.run() }", f"{ITEM_FILE}:Item.run"),
        (IMPORTS, "store.edit { rename(\"a\") }", f"{SHOP_FILE}:Editor.rename"),
        (IMPORTS, "edit { rename(\"a\") }", f"{SHOP_FILE}:Editor.rename"),
        (IMPORTS, "edit {\n store.edit {\n this.rename(\"a\") } }", f"{SHOP_FILE}:Editor.rename"),
        (IMPORTS, "item?.let { it.run() }", f"{ITEM_FILE}:Item.run"),
        (IMPORTS, "item?.also { new -> new.run() }", f"{ITEM_FILE}:Item.run"),
        (IMPORTS, "it2.apply { run() }", f"{ITEM_FILE}:Item.run"),
        (IMPORTS, "with(it2) { run() }", f"{ITEM_FILE}:Item.run"),
        (IMPORTS, "Item(\"a\", null).apply { }.run()", f"{ITEM_FILE}:Item.run"),
        (IMPORTS, "listOf<Item>()\nval all: List<Item> = listOf()\nall.filter { it.run() }", f"{ITEM_FILE}:Item.run"),
        (IMPORTS, "val all: Map<String, Item> = mapOf()\nfor (each in all.values) each.run()", f"{ITEM_FILE}:Item.run"),
        (IMPORTS, "val any: Any = 1\nif (any is Item) any.run()", f"{ITEM_FILE}:Item.run"),
        (IMPORTS, "val any: Any = 1\nwhen (any) {\n is Item -> any.run()\n else -> 1 }", f"{ITEM_FILE}:Item.run"),
        (IMPORTS, "(store as Store).load()", f"{SHOP_FILE}:Store.load"),
        (IMPORTS, "it2()", f"{ITEM_FILE}:Item.invoke"),
        (IMPORTS, "it2.print()", f"{TOOLS_FILE}:Item.print"),
        ("package app\nimport shop.*\nimport tools.print as show", "it2.show()", f"{TOOLS_FILE}:Item.print"),
        (IMPORTS, "\"a\".shout()", f"{TOOLS_FILE}:String.shout"),
        (IMPORTS, "it2.log()", f"{TOOLS_FILE}:T.log"),
        (IMPORTS, "(it2 joins it2).run()", f"{ITEM_FILE}:Item.run"),
        (IMPORTS, "it2 joins it2", f"{TOOLS_FILE}:Item.joins"),
        (IMPORTS, "val made: Item = Item(\"a\", null)", f"{ITEM_FILE}:Item"),
        (IMPORTS, "Registry.register(object : Listener { })", f"{SHOP_FILE}:Registry.register"),
        (IMPORTS, "Mode.OPEN.enter()", f"{SHOP_FILE}:Mode.enter"),
        (IMPORTS, "Mode.valueOf(\"OPEN\").enter()", f"{SHOP_FILE}:Mode.enter"),
    ],
)  # fmt: skip
def test_calls_resolve_through_packages_types_and_receivers(head: str, body: str, target: str) -> None:
    assert target in collect_targets(build_function_program(body, head), "Main.run", "calls", "instantiates")


@pytest.mark.parametrize(
    ("body", "target"),
    [
        ("register(::helper)", "src/app/Main.kt:Main.helper"),
        ("register(this::helper)", "src/app/Main.kt:Main.helper"),
        ("register(Item::run)", f"{ITEM_FILE}:Item.run"),
        ("register(Item::print)", f"{TOOLS_FILE}:Item.print"),
        ("register(item::run)", f"{ITEM_FILE}:Item.run"),
        ("register(Item::class)", f"{ITEM_FILE}:Item"),
        ("register(Mode.OPEN)", f"{SHOP_FILE}:Mode.OPEN"),
        ("register(Registry)", f"{SHOP_FILE}:Registry"),
        ("register(item.label)", f"{ITEM_FILE}:Item.label"),
        ("register(item.size)", f"{TOOLS_FILE}:Item.size"),
        ("register(Store.LIMIT)", f"{SHOP_FILE}:Store.LIMIT"),
        ("@Suppress val x: Listener? = null", f"{SHOP_FILE}:Listener"),
        ("val x: Map<String, List<Mode>>? = null", f"{SHOP_FILE}:Mode"),
        ("register(1 as? Mode)", f"{SHOP_FILE}:Mode"),
    ],
)
def test_values_and_types_are_references(body: str, target: str) -> None:
    text = f"{IMPORTS}\nclass Main(val item: Item) {{\n    fun helper() {{}}\n    fun run() {{\n{body}\n    }}\n}}\n"
    assert target in collect_targets({**LIBRARY, "src/app/Main.kt": text}, "Main.run", "references")


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("package app", "Item(\"a\", null)"),
        ("package app\nimport other.Item", "Item(\"a\", null)"),
        (IMPORTS, "hidden()"),
        ("package app\nimport shop.*", "it2.print()"),
        (IMPORTS, "1.shout()"),
        (IMPORTS, "unknown().run()"),
        (IMPORTS, "unknown { rename(\"a\") }"),
        (IMPORTS, "store.run()"),
        (IMPORTS, "item?.run(1)"),
        ("package app\nimport shop.*\nimport other.create", "create()"),
        (IMPORTS, "fun inner(rename: (Int) -> Unit) { rename(1) }"),
        (IMPORTS, "val any: Any = 1\nif (any is Item) { }\nany.run()"),
    ],
)  # fmt: skip
def test_unresolvable_calls_have_no_edge(head: str, body: str) -> None:
    program = build_function_program(body, head)
    assert collect_targets(program, "Main.run", "calls", "instantiates") == set()


def test_overloads_resolve_by_number_of_arguments_and_closures() -> None:
    body = 'store.load()\nstore.load("a")\nstore.load("a", 2)'
    lines = {
        (edge.line, edge.target)
        for edge in link(build_function_program(body))
        if edge.relation == "calls" and edge.source.endswith("Main.run")
    }
    assert {line for line, _ in lines} == {7, 8, 9}
    tables = build(build_function_program(body))
    starts = {row["start_line"] for row in tables.nodes.to_pylist() if row["qualified_name"] == "Store.load"}
    assert starts == {11, 12}


@pytest.mark.parametrize(
    ("tools", "body"),
    [
        ("infix fun Int.and(other: Long) = other", "1 and 2"),
        ("class Rare { fun seldom() {} }", "unknown().seldom()"),
        ("fun Item.put() {}\nfun Editor.put() {}", "put()"),
        ("fun Item.put(x: Int) {}", "put()"),
    ],
)
def test_weak_evidence_gives_no_certain_edge(tools: str, body: str) -> None:
    program = {
        **build_function_program(
            body, "package app\nimport shop.*\nimport extra.put\nimport extra.and\nimport extra.Rare"
        ),
        "src/extra/Extra.kt": f"package extra\nimport shop.*\n{tools}\n",
    }
    assert collect_targets(program, "Main.run", "calls") == set()


def test_extension_of_an_external_base_is_visible() -> None:
    program = {
        "src/Window.kt": "package ui\nimport toolkit.Window\nfun Window.show() {}\n",
        "src/Main.kt": "package app\nimport toolkit.Window\nimport ui.show\nclass Main : Window() {\n"
        "    fun run() { show() }\n}\n",
    }
    assert ("src/Main.kt:Main.run", "calls", "src/Window.kt:Window.show") in triples(program)


def test_initializer_of_the_same_name_calls_the_function() -> None:
    body = 'val edit = edit { rename("a") }'
    assert collect_targets(build_function_program(body), "Main.run", "calls") == {
        f"{TOOLS_FILE}:edit",
        f"{SHOP_FILE}:Editor.rename",
    }


def test_types_extend_and_implement() -> None:
    program = {
        **LIBRARY,
        "src/app/Main.kt": f"{IMPORTS}\nclass Cached(items: List<Item>, l: Listener) : Store(items), Listener by l {{\n"
        '    override fun load(): Item = super.load()\n    override val name = ""\n    fun onClose() {}\n}\n',
    }
    main = "src/app/Main.kt:Cached"
    assert triples(program, "inherits", "implements", "overrides") >= {
        (main, "inherits", f"{SHOP_FILE}:Store"),
        (main, "implements", f"{SHOP_FILE}:Listener"),
        (f"{main}.load", "overrides", f"{SHOP_FILE}:Store.load"),
        (f"{main}.name", "overrides", f"{SHOP_FILE}:Listener.name"),
    }
    assert f"{main}.onClose" not in {source for source, _, _ in triples(program, "overrides")}
    assert f"{SHOP_FILE}:Store.load" in collect_targets(program, "Cached.load", "calls")


def test_anonymous_object_implements_its_supertypes() -> None:
    program = build_function_program(
        "val l = object : Listener, Runnable {\n    override fun onOpen(item: Item) { onClose() }\n}\nl.onOpen(it2)"
    )
    main = "src/app/Main.kt:Main.run"
    assert triples(program) >= {
        (main, "implements", f"{SHOP_FILE}:Listener"),
        (f"{main}.onOpen", "overrides", f"{SHOP_FILE}:Listener.onOpen"),
        (f"{main}.onOpen", "calls", f"{SHOP_FILE}:Listener.onClose"),
        (main, "calls", f"{SHOP_FILE}:Listener.onOpen"),
    }


def test_enum_entry_overrides_members_of_its_enum() -> None:
    entry = f"{SHOP_FILE}:Mode.OPEN.enter"
    assert triples(LIBRARY) >= {
        (entry, "overrides", f"{SHOP_FILE}:Mode.enter"),
        (entry, "calls", f"{SHOP_FILE}:Mode.help"),
    }


def test_receiver_of_an_extension_is_no_member_of_the_class_around_it() -> None:
    program = build_function_program("}\nfun load() {}\nfun String.go() { this.load()\n shout()")
    assert collect_targets(program, "Main.String.go", "calls") == {f"{TOOLS_FILE}:String.shout"}


def test_platform_declarations_are_parts_of_one_type() -> None:
    program = {
        "core/src/commonMain/kotlin/Clock.kt": "package core\nexpect class Clock {\n    fun now(): Long\n}\n"
        "fun use(clock: Clock) { clock.now() }\n",
        "core/src/jsMain/kotlin/Clock.kt": "package core\nactual class Clock {\n    actual fun now() = 1L\n}\n",
        "core/src/jvmMain/kotlin/Clock.kt": "package core\nactual class Clock {\n    actual fun now() = 2L\n"
        "    fun nanos() = 3L\n}\n",
        "core/src/jvmTest/kotlin/ClockTest.kt": "package core\nfun check(clock: Clock) { clock.now()\n clock.nanos() }\n",
    }
    assert triples(program, "calls") >= {
        ("core/src/commonMain/kotlin/Clock.kt:use", "calls", "core/src/commonMain/kotlin/Clock.kt:Clock.now"),
        ("core/src/jvmTest/kotlin/ClockTest.kt:check", "calls", "core/src/jvmMain/kotlin/Clock.kt:Clock.now"),
        ("core/src/jvmTest/kotlin/ClockTest.kt:check", "calls", "core/src/jvmMain/kotlin/Clock.kt:Clock.nanos"),
    }


MIXED: Program = {
    "src/User.java": """package model;
        public class User {
            public static User of(String name) { return new User(); }
            public String getName() { return ""; }
            public User getParent() { return this; }
            void greet() { Strings.INSTANCE.clean(""); NamesKt.join("a"); new Names().getTitle(); Names.make(); }
        }
    """,
    "src/Names.kt": """package model

class Names {
    val title = ""
    fun all(user: User) = User.of("a").parent.name
    companion object {
        @JvmStatic fun make() = Names()
    }
}

object Strings { fun clean(text: String) {} }

fun join(text: String) {}
""",
}


def test_kotlin_and_java_refer_to_each_other() -> None:
    java, kotlin = "src/User.java:User", "src/Names.kt"
    assert triples(MIXED, "calls", "instantiates", "references") >= {
        (f"{kotlin}:Names.all", "references", java),
        (f"{kotlin}:Names.all", "calls", f"{java}.of"),
        (f"{kotlin}:Names.all", "references", f"{java}.getName"),
        (f"{java}.greet", "calls", f"{kotlin}:Strings.clean"),
        (f"{java}.greet", "calls", f"{kotlin}:join"),
        (f"{java}.greet", "instantiates", f"{kotlin}:Names"),
        (f"{java}.greet", "calls", f"{kotlin}:Names.make"),
    }


INCREMENTAL: Program = {**LIBRARY, **MIXED, **build_function_program('it2.print()\nstore.edit { rename("a") }')}


@pytest.mark.parametrize("path", sorted(INCREMENTAL))
def test_incremental_build_equals_full_build(path: str) -> None:
    without = {name: text for name, text in INCREMENTAL.items() if name != path}
    changed = {**INCREMENTAL, path: INCREMENTAL[path].replace("print", "show").replace("class Editor", "class Edit")}
    steps = [without, INCREMENTAL, changed, INCREMENTAL, without]
    last, previous = build(steps[0]), steps[0]
    for program in steps[1:]:
        last, previous = build(program, last, previous), program
        assert_same_graph(last, build(program))
