"""Edges of JavaScript and TypeScript programs."""

import pytest

from tests.support.programs import Program, assert_same_graph, build, link, triples

_SHOP: Program = {
    "src/store/index.ts": (
        'export * from "./memory";\nexport { Item as Thing, default as createStore } from "./item";\n'
    ),
    "src/store/item.ts": """export interface Store { get(id: string): Promise<Item>; close(): void }
export class Item {
  constructor(private readonly owner: Owner) {}
  label(): string { return this.owner.name(); }
  with(): this { return this; }
}
export class Owner { name() { return ""; } }
export default function create(): Store { return new Memory(); }
import { Memory } from "./memory";
""",
    "src/store/memory.ts": """import { Item, Store } from "./item.js";
import type { Logger } from "@log";
export class Base { items = new Map<string, Item>(); close() {} }
export class Memory extends Base implements Store {
  private log: Logger;
  async get(id: string) { this.log.write(id); return this.items.get(id); }
  static of() { return new Memory(); }
}
""",
    "src/log/logger.ts": "export class Logger { write(text: string) {} }\n",
    "src/main.ts": """import createDefault, { Item } from "./store/item";
import * as store from "./store";
import { createStore, Memory as Kept, Thing } from "./store";

export async function main() {
  const kept = createStore();
  const item = await kept.get("1");
  item.with().label();
  Kept.of().close();
  new store.Memory().get("2");
  createDefault();
}

export const names = (items: Item[]) => items.filter((one) => one.label()).map((one) => one.with());
""",
    "tsconfig.json": (
        '{\n  // paths\n  "compilerOptions": {"baseUrl": ".", "paths": {"@log": ["src/log/logger"]},}\n}\n'
    ),
}


def test_names_resolve_through_aliases_barrels_and_types() -> None:
    assert triples(_SHOP, "calls", "instantiates") == {
        ("src/main.ts:main", "calls", "src/store/item.ts:create"),
        ("src/main.ts:main", "calls", "src/store/item.ts:Store.get"),
        ("src/main.ts:main", "calls", "src/store/item.ts:Item.with"),
        ("src/main.ts:main", "calls", "src/store/item.ts:Item.label"),
        ("src/main.ts:main", "calls", "src/store/memory.ts:Memory.of"),
        ("src/main.ts:main", "calls", "src/store/memory.ts:Base.close"),
        ("src/main.ts:main", "instantiates", "src/store/memory.ts:Memory"),
        ("src/main.ts:main", "calls", "src/store/memory.ts:Memory.get"),
        ("src/main.ts:names", "calls", "src/store/item.ts:Item.label"),
        ("src/main.ts:names", "calls", "src/store/item.ts:Item.with"),
        ("src/store/item.ts:Item.label", "calls", "src/store/item.ts:Owner.name"),
        ("src/store/item.ts:create", "instantiates", "src/store/memory.ts:Memory"),
        ("src/store/memory.ts:Memory.get", "calls", "src/log/logger.ts:Logger.write"),
        ("src/store/memory.ts:Memory.of", "instantiates", "src/store/memory.ts:Memory"),
    }


def test_types_inherit_implement_and_override() -> None:
    assert triples(_SHOP, "inherits", "implements", "overrides") == {
        ("src/store/memory.ts:Memory", "inherits", "src/store/memory.ts:Base"),
        ("src/store/memory.ts:Memory", "implements", "src/store/item.ts:Store"),
        ("src/store/memory.ts:Memory.get", "overrides", "src/store/item.ts:Store.get"),
    }


@pytest.mark.parametrize(
    ("text", "source", "methods"),
    [
        ("export const kept: Store = { get() {}, close: () => {} };", "kept", {"get", "close"}),
        ("export const kept = { get() {} } satisfies Store;", "kept", {"get"}),
        ("export const kept = { get() {} } as Store;", "kept", {"get"}),
        ("class Box { kept: Store = { get() {} }; }", "Box.kept", {"get"}),
        ("export function make(): Store { return { get() {} }; }", "make", {"get"}),
        ("export const make = (): Store => ({ get() {} });", "make", {"get"}),
        ("export function use() { const kept: Store = { get() {} }; }", "use", {"get"}),
    ],
)
def test_objects_of_a_declared_type_implement_it(text: str, source: str, methods: set[str]) -> None:
    library = "export interface Store { get(id: string): void; close(): void }\n"
    program = {"lib.ts": library, "main.ts": f'import {{ Store }} from "./lib";\n{text}\n'}
    assert triples(program, "implements", "inherits", "overrides") == {
        (f"main.ts:{source}", "implements", "lib.ts:Store"),
        *((f"main.ts:{source}.{name}", "overrides", f"lib.ts:Store.{name}") for name in methods),
    }


@pytest.mark.parametrize("text", ["const kept: Store = { id: 1 };", "const all: Store[] = [{ get() {} }];"])
def test_objects_without_methods_and_lists_implement_nothing(text: str) -> None:
    program = {"main.ts": f"interface Store {{ get(): void; id: number }}\n{text}\n"}
    assert triples(program, "implements", "inherits") == set()


def test_edges_name_their_resolver_and_line() -> None:
    resolvers = {(edge.target, edge.line): edge.resolver for edge in link(_SHOP) if edge.relation == "calls"}
    assert resolvers["src/store/item.ts:create", 6] == "import"
    assert resolvers["src/store/memory.ts:Base.close", 9] == "inherited"
    assert resolvers["src/store/item.ts:Owner.name", 4] == "self"


_COMMON: Program = {
    "point.js": """function Point(x) { this.x = x; }
Point.prototype.shift = function () { return this.norm(); };
Point.prototype.norm = function () {};
Point.origin = function () { return new Point(0); };
module.exports = Point;
""",
    "tools.js": """const inner = require("./inner");
function pick() {}
exports.trim = function () { pick(); };
exports.pick = pick;
exports.inner = inner;
""",
    "inner.js": "module.exports = { pad, both: pad, run() { return pad(); } };\nfunction pad() {}\n",
    "whole.js": 'module.exports = require("./inner");\n',
    "main.js": """const Point = require("./point");
const tools = require("./tools"), { pick: choose } = require("./tools");
const run = require("./whole").run;
const origin = Point.origin();
function main() {
  new Point(1).shift();
  origin.norm();
  tools.trim();
  choose();
  tools.inner.pad();
  run();
}
""",
}


def test_commonjs_modules_and_prototypes_are_linked() -> None:
    assert triples(_COMMON, "calls", "instantiates") == {
        ("point.js:Point.shift", "calls", "point.js:Point.norm"),
        ("point.js:Point.origin", "calls", "point.js:Point"),
        ("tools.js:trim", "calls", "tools.js:pick"),
        ("inner.js:module.exports.run", "calls", "inner.js:pad"),
        ("main.js:origin", "calls", "point.js:Point.origin"),
        ("main.js:main", "calls", "point.js:Point"),
        ("main.js:main", "calls", "point.js:Point.shift"),
        ("main.js:main", "calls", "point.js:Point.norm"),
        ("main.js:main", "calls", "tools.js:trim"),
        ("main.js:main", "calls", "tools.js:pick"),
        ("main.js:main", "calls", "inner.js:pad"),
        ("main.js:main", "calls", "inner.js:module.exports.run"),
    }


_LIBRARY = """export class Foo {
  run(): Foo { return this; }
  static make() { return new Foo(); }
  get next() { return new Foo(); }
  set next(x) {}
}
export class Bar { run() {} }
export interface Opened { foo: Foo; bars: Bar[]; open(): Bar }
export const api = { foo: Foo.make, bar: new Bar(), plain() {} };
export function make<T extends Foo>(x: T): Foo;
export function make(x: any): any { return x; }
export enum Kind { One = "1" }
export namespace tools { export function trim() {} }
export type Alias = Foo;
export type Both = Opened & { last: Foo };
"""


@pytest.mark.parametrize(
    ("body", "target"),
    [
        ("const x: Foo = get(); x.run();", "Foo.run"),
        ("const x = new Foo(); x.run();", "Foo.run"),
        ("const x = get() as Foo; x.run();", "Foo.run"),
        ("const x = get()!; (x as Bar).run();", "Bar.run"),
        ("const x = cond ? new Bar() : undefined; x?.run();", "Bar.run"),
        ("const x = known ?? new Bar(); x.run();", "Bar.run"),
        ("const xs: Array<Bar> = []; xs[0].run();", "Bar.run"),
        ("const xs: Bar[] = []; for (const x of xs) x.run();", "Bar.run"),
        ("const xs: readonly Bar[] = []; xs.forEach((x) => { x.run(); });", "Bar.run"),
        ("const xs = new Map<string, Bar>(); const ys: Map<string, Bar> = xs; ys.get('a')!.run();", "Bar.run"),
        ("const x: Promise<Bar> = get(); (await x).run();", "Bar.run"),
        ("const x: Promise<Bar> = get(); x.then((one) => one.run());", "Bar.run"),
        ("const { foo } = opened; foo.run();", "Foo.run"),
        ("const { foo: renamed } = opened; renamed.run();", "Foo.run"),
        ("opened.open().run();", "Bar.run"),
        ("opened.bars.find((bar) => bar.run());", "Bar.run"),
        ("const x: Partial<Opened> = opened; x.foo.run();", "Foo.run"),
        ("const x: Alias = get(); x.run();", "Foo.run"),
        ("const x: Both = get(); x.foo.run();", "Foo.run"),
        ("const x: Both = get(); x.last.run();", "Foo.run"),
        ("const x: typeof Foo = get(); x.make();", "Foo.make"),
        ("const x: Foo | null = get(); x.run();", "Foo.run"),
        ("new Foo().next.run();", "Foo.run"),
        ("api.foo().run();", "Foo.run"),
        ("api.bar.run();", "Bar.run"),
        ("api.plain();", "api.plain"),
        ("make(new Foo());", "make"),
        ("tools.trim();", "tools.trim"),
        ("opened.foo.run().run();", "Foo.run"),
    ],
)
def test_receiver_types_are_inferred(body: str, target: str) -> None:
    names = "Foo, Bar, Opened, api, make, Kind, tools, Alias, Both"
    main = (
        f'import {{ {names} }} from "./lib";\nexport async function main(opened: Opened, known?: Bar) {{\n{body}\n}}\n'
    )
    edges = triples({"lib.ts": _LIBRARY, "main.ts": main}, "calls")
    called = {edge[2] for edge in edges if edge[0] == "main.ts:main"}
    assert f"lib.ts:{target}" in called
    assert called <= {f"lib.ts:{target}", "lib.ts:Opened.open", "lib.ts:Foo.make", "lib.ts:Foo.run"}


@pytest.mark.parametrize(
    "body",
    [
        "function f(foo: any) { foo(); }",  # a parameter hides the import
        "function f() { const foo = other; foo(); }",
        "for (const foo of all) { foo(); }",
        "try { run(); } catch (foo) { foo(); }",
        "all.map((foo) => foo());",
        "unknown.foo();",
        "const x = { foo() { return 1; } };",
        "class A { foo() {} bar() { unknown.foo(); } }",
        "import('./lib').then((lib) => lib.missing());",
    ],
)
def test_shadowed_names_are_not_linked(body: str) -> None:
    program = {"lib.ts": "export function foo() {}\n", "main.ts": f'import {{ foo }} from "./lib";\n{body}\n'}
    assert ("lib.ts:foo" in {edge[2] for edge in triples(program, "calls")}) is False


def test_block_scope_ends_shadowing() -> None:
    body = "{\n  const foo = 1;\n}\nall.map((foo) =>\n  foo());\nfoo();\n"
    program = {"lib.ts": "export function foo() {}\n", "main.ts": f'import {{ foo }} from "./lib";\n{body}'}
    assert [edge.line for edge in link(program) if edge.relation == "calls"] == [7]


def test_same_named_classes_in_blocks_are_distinct() -> None:
    block = (
        "it('{0}', () => {{\n"
        "  class A {{ {0}() {{}} }}\n"
        "  class B {{ constructor(private a: A) {{}} go() {{ this.a.{0}(); }} }}\n"
        "}});\n"
    )
    edges = triples({"a.test.ts": block.format("one") + block.format("two")}, "calls")
    assert edges == {("a.test.ts:B.go", "calls", "a.test.ts:A.one"), ("a.test.ts:B.go", "calls", "a.test.ts:A.two")}


def test_star_export_skips_private_names() -> None:
    program = {
        "a.ts": "function same() {}\nexport const other = 1;\n",
        "b.ts": "export function same() {}\n",
        "index.ts": 'export * from "./a";\nexport * from "./b";\nexport * from "./index";\n',
        "main.ts": 'import { same } from ".";\nsame();\n',
    }
    assert triples(program, "calls") == {("main.ts", "calls", "b.ts:same")}


def test_circular_imports_resolve_existing_names() -> None:
    program = {
        "a.ts": (
            'export * from "./b";\n'
            'export { lost } from "./b";\n'
            "export function a() { b(); }\n"
            'import { b, lost } from "./b";\n'
            "lost();\n"
        ),
        "b.ts": (
            'export * from "./a";\n'
            'export { lost } from "./a";\n'
            "export function b() { a(); }\n"
            'import { a } from "./a";\n'
        ),
    }
    assert triples(program, "calls") == {("a.ts:a", "calls", "b.ts:b"), ("b.ts:b", "calls", "a.ts:a")}


def test_same_named_declarations_in_packages_are_distinct() -> None:
    program = {
        "packages/one/package.json": '{"name": "one", "version": "1"}',
        "packages/one/index.ts": "export function run() {}\n",
        "packages/two/package.json": '{"name": "two", "version": "1"}',
        "packages/two/index.ts": "export function run() {}\n",
        "app/main.ts": 'import { run } from "two";\nrun();\n',
    }
    assert triples(program, "calls") == {("app/main.ts", "calls", "packages/two/index.ts:run")}


def test_jsx_components_are_linked() -> None:
    program = {
        "Button.tsx": "export default function Button({ onClick }: Props) { return <button onClick={onClick} />; }\n",
        "Card.jsx": (
            "export class Card extends Component { render() { return null; } }\n"
            "export const Menu = { Item: () => { return null; } };\n"
        ),
        "App.tsx": """import Button from "./Button";
import { Card, Menu } from "./Card";
export const App = () => <Card><Button onClick={save} /><Menu.Item /><div /></Card>;
function save() {}
""",
    }
    assert triples(program, "calls", "instantiates", "references") >= {
        ("App.tsx:App", "calls", "Button.tsx:Button"),
        ("App.tsx:App", "instantiates", "Card.jsx:Card"),
        ("App.tsx:App", "calls", "Card.jsx:Menu.Item"),
        ("App.tsx:App", "references", "App.tsx:save"),
    }


def test_decorators_types_and_values_are_linked() -> None:
    program = {
        "lib.ts": (
            "export function Inject() { return () => {}; }\n"
            "export interface Shape {}\n"
            "export function area() {}\n"
            "export class Odd extends Error {}\n"
        ),
        "main.ts": """import { Inject, Shape, area, Odd } from "./lib";
@Inject()
class Box<T extends Shape> { shapes: Array<Shape>; }
export const all = [area];
export const isOdd = (x: unknown) => { return x instanceof Odd; };
""",
    }
    assert triples(program, "calls", "references") == {
        ("main.ts:Box", "calls", "lib.ts:Inject"),
        ("main.ts:Box", "references", "lib.ts:Shape"),
        ("main.ts:Box.shapes", "references", "lib.ts:Shape"),
        ("main.ts:all", "references", "lib.ts:area"),
        ("main.ts:isOdd", "references", "lib.ts:Odd"),
    }


def test_export_assignment_and_import_require_are_linked() -> None:
    program = {
        "old.ts": "class Old { run() {} }\nexport = Old;\n",
        "main.ts": 'import Old = require("./old");\nnew Old().run();\n',
    }
    assert triples(program, "calls", "instantiates") == {
        ("main.ts", "instantiates", "old.ts:Old"),
        ("main.ts", "calls", "old.ts:Old.run"),
    }


def test_dynamic_imports_resolve_the_module() -> None:
    program = {
        "lib.ts": "export function run() {}\n",
        "main.ts": (
            "export async function go() {\n"
            '  const lib = await import("./lib");\n'
            "  lib.run();\n"
            '  const { run: again } = await import("./lib");\n'
            "  again();\n"
            "}\n"
        ),
    }
    assert [edge.line for edge in link(program) if edge.relation == "calls"] == [3, 5]


def test_method_returning_this_keeps_the_receiver_type() -> None:
    program = {
        "a.ts": (
            "class Base { where(): this { return this; } limit() { return this; } }\n"
            "class Select extends Base { all() {} }\n"
            "new Select().where().limit().all();\n"
        )
    }
    assert ("a.ts", "calls", "a.ts:Select.all") in triples(program, "calls")


def test_super_call_resolves_to_nearest_constructor() -> None:
    program = {
        "a.ts": (
            "class A { constructor(x: number) {} }\n"
            "class B extends A {}\n"
            "class C extends B { constructor() { super(1); } }\n"
        )
    }
    assert triples(program, "calls") == {("a.ts:C.constructor", "calls", "a.ts:A.constructor")}


def test_component_scripts_are_linked() -> None:
    program = {
        "App.vue": (
            "<template><p/></template>\n"
            '<script lang="ts">\n'
            'import { run } from "./lib";\n'
            "export function go() { run(); }\n"
            "</script>\n"
        ),
        "lib.ts": "export function run() {}\n",
    }
    assert triples(program, "calls") == {("App.vue:go", "calls", "lib.ts:run")}


def test_syntax_error_keeps_parsed_edges() -> None:
    program = {"a.ts": "export function f() {}\nfunction g() { f(); }\nclass { %% }\nfunction h() { f( }\n"}
    assert ("a.ts:g", "calls", "a.ts:f") in triples(program, "calls")


_MONOREPO: Program = {
    **_SHOP,
    **_COMMON,
    "packages/util/package.json": '{"name": "util", "version": "1", "main": "dist/index.js"}',
    "packages/util/src/index.ts": 'export { pad } from "./pad";\n',
    "packages/util/src/pad.ts": "export const pad = () => {};\n",
    "app.ts": 'import { pad } from "util";\nimport { Memory } from "./src/store";\npad();\nMemory.of();\n',
}


@pytest.mark.parametrize("path", sorted(_MONOREPO))
def test_incremental_build_equals_full_build(path: str) -> None:
    without = {other: text for other, text in _MONOREPO.items() if other != path}
    changed = {**_MONOREPO, path: f"{_MONOREPO[path]}\n"} | (
        {} if path.endswith("json") else {path: "export function pad() {}\n"}
    )
    for before, after in ((_MONOREPO, without), (without, _MONOREPO), (_MONOREPO, changed), (changed, _MONOREPO)):
        assert_same_graph(build(after, build(before), before), build(after))


@pytest.mark.parametrize(
    "added",
    ["src/store/index.d.ts", "src/store.ts", "src/tsconfig.json", "packages/util/index.ts", "src/main/index.ts"],
)
def test_incremental_build_handles_a_newly_shadowing_file(added: str) -> None:
    text = (
        '{"compilerOptions": {"paths": {}}}' if added.endswith("json") else "export class Memory { static of() {} }\n"
    )
    after = {**_MONOREPO, added: text}
    assert_same_graph(build(after, build(_MONOREPO), _MONOREPO), build(after))


SHARED_NAME_PROGRAM = {
    "make.ts": "export interface maker<T> { init(it: T): void }\nexport function maker<T>(): maker<T> { return null!; }\n",
    "kinds.ts": """import { maker } from "./make";
export interface Kind { name(): string }
export const Kind: maker<Kind> = maker();
export type Sort = Kind;
export function Sort(): Kind { return null!; }
""",
}


@pytest.mark.parametrize(
    ("head", "body", "edge"),
    [
        ('import { Kind } from "./kinds";', "Kind.init(it);", ("calls", "make.ts:maker.init")),
        ('import * as kinds from "./kinds";', "kinds.Kind.init(it);", ("calls", "make.ts:maker.init")),
        ('import { Sort } from "./kinds";', "Sort();", ("calls", "kinds.ts:Sort")),
        ('import { Sort } from "./kinds";', "Sort().name();", ("calls", "kinds.ts:Kind.name")),
    ],
)
def test_call_resolves_to_the_value_with_a_type_of_its_name(head, body, edge):
    program = {**SHARED_NAME_PROGRAM, "main.ts": f"{head}\nfunction run(it: any) {{ {body} }}\n"}
    assert ("main.ts:run", *edge) in triples(program)


def test_type_reference_resolves_to_the_type_with_a_value_of_its_name():
    program = {
        **SHARED_NAME_PROGRAM,
        "main.ts": 'import { Kind } from "./kinds";\nfunction run(it: Kind) { it.name(); }\n',
    }
    edges = [edge for edge in link(program) if edge.source == "main.ts:run"]
    assert {(edge.relation, edge.target) for edge in edges} == {
        ("references", "kinds.ts:Kind"),
        ("calls", "kinds.ts:Kind.name"),
    }


def test_new_on_a_constant_instantiates_the_type_of_its_name():
    program = {
        **SHARED_NAME_PROGRAM,
        "main.ts": 'import { Kind } from "./kinds";\nfunction run() { const it = new Kind(); it.name(); }\n',
    }
    edges = {(edge.relation, edge.target) for edge in link(program) if edge.source == "main.ts:run"}
    assert edges == {("instantiates", "kinds.ts:Kind"), ("calls", "kinds.ts:Kind.name")}


def test_update_links_a_value_added_to_a_type_of_its_name():
    program = {
        **SHARED_NAME_PROGRAM,
        "main.ts": 'import { Kind } from "./kinds";\nfunction run(it: any) { Kind.init(it); }\n',
    }
    before = program | {"kinds.ts": "export interface Kind { name(): string }\n"}
    assert_same_graph(build(program, build(before), before), build(program))


def test_dollar_prefix_makes_a_distinct_type_name():
    program = {
        "core.ts": "export interface $Kind { name(): string }\nexport interface Kind { name(): string }\n",
        "main.ts": 'import * as core from "./core";\nfunction run(it: core.$Kind | null) { it.name(); }\n',
    }
    assert triples(program, "calls", "references") == {
        ("main.ts:run", "references", "core.ts:$Kind"),
        ("main.ts:run", "calls", "core.ts:$Kind.name"),
    }


@pytest.mark.parametrize("extension", ["js", "ts", "tsx"])
@pytest.mark.parametrize(
    ("reexport", "name", "target"),
    [
        ("export { default as Meter } from './meter';", "{ Meter as use }", "read"),
        ("export { tare as default } from './meter';", "use", "tare"),
        ("export { default } from './meter';", "use", "read"),
        ("import { default as gauge } from './meter';\nexport { gauge as default };", "use", "read"),
    ],
)
def test_default_in_braces_is_the_default_export(extension: str, reexport: str, name: str, target: str) -> None:
    program = {
        f"meter.{extension}": "export default function read() {}\nexport function tare() {}\n",
        f"index.{extension}": f"{reexport}\n",
        f"panel.{extension}": f"import {name} from './index';\nexport function show() {{ use(); }}\n",
    }
    assert triples(program, "calls") == {(f"panel.{extension}:show", "calls", f"meter.{extension}:{target}")}
