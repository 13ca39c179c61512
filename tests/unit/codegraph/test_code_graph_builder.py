"""Building step by step gives the same as building at once, whatever happens to the files."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coderag.codegraph.code_graph_builder import CodeGraphBuilder
from coderag.schema.chunks import FileRecord
from coderag.stores.graph_tables import GraphTables
from tests.support.programs import assert_same_graph, build, edges_of

Program = dict[str, str]

_PYTHON = {
    "app.py": [
        "import pkg\nfrom pkg import make, Base\nfrom pkg.core import *\n\ndef run():\n    make().go()\n"
        "    pkg.core.make()\n",
        "from core import make\nimport pkg.sub.deep as d\n\nclass App(d.Deep):\n    def go(self):\n"
        "        super().go()\n        self.stop()\n",
        "def run(:\n  make()\n",
    ],
    "pkg/__init__.py": [
        "",
        "from .core import make, Base\n",
        "from .sub import *\nfrom .sub.deep import Deep as Base\n",
    ],
    "pkg/core.py": [
        "class Base:\n    def go(self): return self\n    def stop(self): pass\n\ndef make() -> Base: ...\n",
        "from app import run\nfrom .sub.deep import make\nx = make\n\nclass Base:\n    def stop(self): run()\n",
        "\n\n\nclass Base:\n    def go(self): return self\n    def stop(self): pass\n\ndef make() -> Base: ...\n",
        "class Base:\n    def go(self): return self.send()\n\ndef make() -> Base: ...\n",
    ],
    "pkg/users.py": [
        "from .core import Base\nfrom other import Sender\n\nclass One(Base, Sender): pass\nclass Two(One): pass\n",
        "from .core import Base\n\nclass One(Base):\n    def send(self): pass\nclass Two(One): pass\n",
    ],
    "other.py": ["class Sender:\n    def send(self): pass\n", "class Other: pass\n"],
    "pkg/core/__init__.py": ["def make(): return make()\n"],
    "pkg/sub/deep.py": [
        "from ..core import Base\n\nclass Deep(Base):\n    def go(self): pass\n\ndef make(): return Deep()\n",
        "from app import App as Base\nfrom . import deep\n\nclass Deep(Base): pass\n",
        "from ..core import Base\n\nclass Deep(Base):\n    def send(self): pass\n",
    ],
    "pkg/sub/__init__.py": ["from .deep import make\n", ""],
    "src/pkg/core.py": ["class Base:\n    def go(self): pass\n\ndef make(): return Base()\n"],
    "tests/test_core.py": [
        "from pkg.core import make, Base\nimport app\n\ndef test_make():\n    make()\n    app.run()\n    Base().go()\n",
        "import core\n\ndef test_core(x): x.go(); core.make()\n",
    ],
    "pyproject.toml": ["[project]\nname = 'x'\n"],
}
_TYPESCRIPT = {
    "src/main.ts": [
        "import { make, Base } from '@/core';\nimport * as lib from './lib';\n"
        "export function run(b: Base) { make().go(); lib.help(); b.stop(); }\n",
        "import def, { help } from './lib';\nexport class App extends def { go() { super.go(); help(); } }\n",
    ],
    "src/core.ts": [
        "export class Base { go(): Base { return this; } stop() {} }\nexport function make() { return new Base(); }\n",
        "export * from './lib';\nexport { help as make } from './lib';\n",
    ],
    "src/core/index.ts": ["export const make = () => 1;\n"],
    "src/lib/index.ts": [
        "export * from './deep';\nexport { default } from './deep';\n",
        "import { run } from '../main';\nexport function help() { run(); }\n",
    ],
    "src/lib/deep.ts": [
        "import { Base } from '../core';\nexport default class Deep extends Base { go() {} }\n"
        "export function help() { return new Deep(); }\n",
        "export class Base {}\n",
    ],
    "src/main.test.ts": ["import { run } from './main';\ntest('x', () => { run(); });\nfunction t() { run(null); }\n"],
    "tsconfig.json": [
        '{"compilerOptions": {"baseUrl": ".", "paths": {"@/*": ["src/*"]}}}',
        '{"compilerOptions": {"baseUrl": "src", "paths": {"@/*": ["lib/*"]}}}',
    ],
    "package.json": ['{"name": "shop", "main": "src/main.ts"}'],
}
_GO = {
    "go.mod": ["module example.com/shop\n\ngo 1.22\n", "module example.com/other\n\ngo 1.22\n"],
    "main.go": [
        'package main\n\nimport "example.com/shop/store"\n\nfunc main() {\n\ts := store.New()\n\ts.Get()\n\thelp()\n'
        "}\n",
        'package main\n\nimport . "example.com/shop/store"\n\ntype T struct{ Store }\n\n'
        "func (t T) Get() { t.Store.Get() }\n",
    ],
    "help.go": ["package main\n\nfunc help() { main() }\n", "package other\n\nfunc help() {}\n"],
    "store/store.go": [
        "package store\n\ntype Store struct{}\n\ntype Getter interface{ Get() }\n\n"
        "func New() *Store { return &Store{} }\n",
        "package store\n\ntype Base struct{}\n\nfunc (b Base) Get() {}\n\ntype Store struct{ Base }\n\n"
        "func New() Store { return Store{} }\n",
    ],
    "store/more.go": [
        "package store\n\nfunc (s *Store) Get() { New() }\n",
        "package store\n\ntype Getter interface{ Get(x int) }\n",
    ],
}
_OTHERS = {
    "docs/guide.md": ["Call `make` or `pkg.core.make`, then `Base.go()`.\n", "See `Store.Get` and `run`.\n\n`Deep`\n"],
    "a.h": ["int shared(int);\nclass Box { void open(); };\n"],
    "a.cpp": ['#include "a.h"\nvoid Box::open() { shared(1); }\n', '#include "b.h"\nvoid run() { shared(2); }\n'],
    "lib/b.h": ["int shared(int x) { return x; }\n"],
    "lib/a.h": ["int shared(int x) { return 2; }\n"],
    "x/One.kt": ["class One {\n    fun go() { Two().stop() }\n}\n"],
    "x/Two.kt": ["class Two {\n    fun stop() { One().go() }\n}\n", "fun stop() {}\n"],
    "r/a.rb": ["require_relative '../r/b'\nclass A < B\n  def go\n    stop\n  end\nend\n"],
    "r/b.rb": ["class B\n  def stop\n  end\nend\n", ""],
}
_RUST = {
    "Cargo.toml": ["[package]\nname = 'shop'\n", "[package]\nname = 'other'\n"],
    "src/lib.rs": [
        "pub mod store;\nmod util;\npub use store::Item;\nuse util::*;\n"
        "fn run(i: Item) { i.label(); help(); shop::store::make(); }\n",
        "mod util { pub fn help() { super::run(); } }\nfn run() { util::help(); }\n",
        "pub mod store;\nuse store::make;\n#[cfg(test)]\nmod tests { fn made() { crate::store::make(); } }\n",
        "pub mod store;\nuse store::make;\nmod tests { fn made() { crate::store::make(); } }\n",
    ],
    "src/store.rs": [
        "pub struct Item;\nimpl Item { pub fn label(&self) { make(); } }\npub fn make() -> Item { Item }\n",
        "pub trait Named { fn label(&self) {} }\npub struct Item;\nimpl Named for Item {}\n",
        "#![cfg(test)]\npub struct Item;\npub fn make() -> Item { Item }\n",
    ],
    "src/store/mod.rs": ["pub mod deep;\npub use self::deep::Item;\n"],
    "src/store/deep.rs": ["use crate::util::help;\npub struct Item;\nimpl Item { pub fn label(&self) { help(); } }\n"],
    "src/util.rs": [
        "use crate::store::Item;\npub fn help() {}\nimpl Item { fn more(&self) { self.label(); } }\n",
        "pub fn log() {}\n",
    ],
}
_JAVA = {
    "src/shop/Main.java": [
        "package shop;\nimport shop.store.*;\nclass Main extends Base { void run() { new Item().label(); stop(); "
        "help(1); } void help(int x) {} }\n",
        "package shop;\nimport static shop.store.Item.make;\nclass Main { void run() { make().label(); } }\n",
    ],
    "src/shop/Base.java": [
        "package shop;\nclass Base { void stop() {} void help() {} }\n",
        "package shop.store;\npublic class Base {}\n",
    ],
    "src/shop/store/Item.java": [
        "package shop.store;\npublic class Item implements Named { "
        "public void label() {} public static Item make() { return null; } }\n",
        "package shop.store;\npublic class Item extends Base {}\n",
    ],
    "src/shop/store/Named.java": [
        "package shop.store;\ninterface Named { void label(); }\n",
        "package shop;\ninterface Named {}\n",
    ],
    "lib/shop/store/Item.java": ["package shop.store;\npublic class Item { public void label() { } }\n"],
}
_CSHARP = {
    "Shop.csproj": [
        '<Project><ItemGroup><Using Include="Shop.Store" /></ItemGroup></Project>\n',
        "<Project></Project>\n",
    ],
    "Main.cs": [
        "namespace Shop;\nclass Main : Base { void Run() { new Item().Label(); Stop(); 1.Twice(); } }\n",
        "using Shop.Store;\nnamespace Shop { class Main { void Run(Item i) { i.Label(); } } }\n",
    ],
    "Base.cs": [
        "namespace Shop;\npartial class Base { protected void Stop() { More(); } }\n",
        "namespace Shop.Store;\nclass Base {}\n",
    ],
    "More.cs": [
        "namespace Shop;\npartial class Base { void More() {} }\n"
        "static class X { public static void Twice(this int x) {} }\n"
    ],
    "Store/Item.cs": [
        "namespace Shop.Store;\npublic class Item : INamed { public void Label() {} }\n"
        "public interface INamed { void Label(); }\n",
        "global using Shop;\nnamespace Shop.Store;\npublic class Item {}\n",
    ],
}
_KOTLIN = {
    "src/shop/Main.kt": [
        "package shop\nimport shop.store.*\n"
        "class Main : Base() { fun run(item: Item) { item.label(); item.shout(); stop() } }\n",
        "package shop\nimport shop.store.Item.Companion.make\nclass Main { fun run() { make().apply { label() } } }\n",
    ],
    "src/shop/Base.kt": [
        "package shop\nopen class Base { fun stop() { edit { label() } } }\n",
        "package shop.store\nopen class Base\nfun edit(block: Item.() -> Unit) {}\n",
    ],
    "src/shop/store/Item.kt": [
        "package shop.store\nclass Item : Named { override fun label() {} companion object { fun make() = Item() } }\n",
        "package shop.store\nclass Item : Base()\nfun Item.label() {}\n",
    ],
    "src/shop/store/Named.java": [
        "package shop.store;\ninterface Named { void label(); }\n",
        "package shop.store;\nclass Named { void run() { new Item().label(); MoreKt.shout(null); } }\n",
    ],
    "lib/shop/store/More.kt": [
        "package shop.store\nfun Item.shout() = label()\n",
        "package shop\nfun shop.store.Item.shout() {}\nfun edit(block: shop.store.Item.() -> Unit) {}\n",
    ],
}
_SWIFT = {
    "Sources/Shop/Main.swift": [
        "import Store\nclass Main: Base { func run(item: Item) { item.label(); item.shout(); stop() } }\n",
        "class Main { func run() { Item().label() } }\n",
    ],
    "Sources/Shop/Base.swift": [
        "class Base { func stop() { help() } }\nfunc help() {}\n",
        "class Base: Named { func label() { Main().run() } }\nprivate func help() {}\n",
    ],
    "Sources/Store/Item.swift": [
        "struct Item { let kind: Kind = .big }\nenum Kind { case big }\n",
        "struct Item: Named { func label() {} }\n",
    ],
    "Sources/Store/More.swift": [
        "extension Item { func label() { shout() } func shout() {} }\nprotocol Named { func label() }\n",
        "extension Item: Named {}\nextension Named { func label() {} }\nprotocol Named {}\n",
    ],
    "Item.swift": ["struct Item { func shout() {} }\n"],
}
_FAMILIES = {
    "python": _PYTHON, "typescript": _TYPESCRIPT, "go": _GO, "rust": _RUST, "java": _JAVA, "csharp": _CSHARP,
    "kotlin": _KOTLIN, "swift": _SWIFT, "others": _OTHERS,
}  # fmt: skip


def _draw_steps(family: Mapping[str, list[str]]) -> st.SearchStrategy[list[tuple[str, str | None]]]:
    """Return how a program comes to be: files that are written, removed, moved to where another one may be."""
    paths = sorted(family)
    write = st.sampled_from([(path, text) for path in paths for text in family[path]])
    remove = st.sampled_from([(path, None) for path in paths])
    move = st.tuples(st.sampled_from(paths), st.sampled_from(paths)).map(lambda ends: (ends[0], f"->{ends[1]}"))
    return st.lists(write | write | write | remove | move, min_size=1, max_size=6)


def _apply_change(program: Program, path: str, change: str | None) -> Program:
    after = dict(program)
    if change is None:
        after.pop(path, None)
    elif change.startswith("->"):
        if path in after:
            after[change[2:]] = after.pop(path)
    else:
        after[path] = change
    return after


def _build_program(family: Mapping[str, list[str]]) -> Program:
    return {path: texts[0] for path, texts in family.items()}


@pytest.mark.parametrize("language", sorted(_FAMILIES))
def test_each_single_change_equals_a_full_build(language: str) -> None:
    family = _FAMILIES[language]
    before = _build_program(family)
    last = build(before)
    changes = [(path, text) for path, texts in family.items() for text in (*texts[1:], None)]
    for path, change in changes:
        after = _apply_change(before, path, change)
        changed = build(after, last, before)
        assert_same_graph(changed, build(after))
        assert_same_graph(build(before, changed, after), last)


@pytest.mark.slow
@pytest.mark.parametrize("language", sorted(_FAMILIES))
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_any_sequence_of_changes_equals_a_full_build(language: str, data: st.DataObject) -> None:
    family = _FAMILIES[language]
    program: Program = data.draw(st.sampled_from([{}, _build_program(family)]), label="at first")
    graph = build(program)
    for path, change in data.draw(_draw_steps(family), label="changes"):
        after = _apply_change(program, path, change)
        graph = build(after, graph, program)
        program = after
        assert_same_graph(graph, build(program))


_IDENTIFIER = re.compile(r"[^\W\d]\w*")


def _edit(data: st.DataObject, text: str, words: list[str]) -> str:
    """Return a text with a word replaced, once or everywhere, or with a line moved, repeated or removed."""
    lines, inside = text.splitlines(keepends=True), sorted(set(_IDENTIFIER.findall(text)))
    how = data.draw(st.sampled_from(["one", "all", "move", "repeat", "remove"]), label="how")
    if how in ("one", "all") and inside:
        old, new = data.draw(st.sampled_from(inside), label="old"), data.draw(st.sampled_from(words), label="new")
        words_found = list(re.finditer(rf"\b{old}\b", text))
        wanted = words_found if how == "all" else [data.draw(st.sampled_from(words_found), label="place")]
        for place in reversed(wanted):
            text = text[: place.start()] + new + text[place.end() :]
        return text
    if lines:
        first, second = (data.draw(st.integers(0, len(lines) - 1), label="line") for _ in range(2))
        line = lines[first] if how == "repeat" else lines.pop(first)
        if how != "remove":
            lines.insert(second, line)
    return "".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize("language", sorted(_FAMILIES))
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_any_sequence_of_edits_equals_a_full_build(language: str, data: st.DataObject) -> None:
    family = _FAMILIES[language]
    words = sorted({word for texts in family.values() for text in texts for word in _IDENTIFIER.findall(text)})
    program = {path: data.draw(st.sampled_from(texts), label=path) for path, texts in family.items()}
    graph = build(program)
    for path in data.draw(st.lists(st.sampled_from(sorted(program)), min_size=1, max_size=5), label="edited"):
        after = {**program, path: _edit(data, program[path], [*words, "fresh"])}
        graph = build(after, graph, program)
        program = after
        assert_same_graph(graph, build(program))


def _normalize_facts(graph: GraphTables) -> list[dict[str, object]]:
    return graph.facts.to_pylist()  # type: ignore[no-any-return]


def test_overlong_query_chains_resolve_independently_of_order() -> None:
    length = 60
    program = {
        f"m{n:02}.py": f"from m{n + 1:02} import f{n + 1}\ndef f{n}(): return f{n + 1}()\ndef use{n}(): f{n}().go()\n"
        for n in range(length)
    }
    program[f"m{length:02}.py"] = f"class End:\n    def go(self): pass\ndef f{length}(): return End()\n"
    full = build(program)
    assert any(edge.target.endswith("End.go") and edge.confidence > 0.01 for edge in edges_of(full))
    for n in (0, 15, 30, 45, 59):
        changed = {**program, f"m{n:02}.py": program[f"m{n:02}.py"] + "# x\n"}
        assert_same_graph(build(changed, full, program), build(changed))


def test_parallel_edges_have_a_deterministic_order() -> None:
    annotated = "from c import C\n\ndef f(one: C):\n    one.m()\n"
    before = {"a.py": annotated, "b.py": annotated, "c.py": "class C:\n    def m(self): pass\n"}
    after = {**before, "a.py": "from c import C\n\ndef f(one: C):\n    other = C()\n    other.m()\n    one.m()\n"}
    anew = build(after)
    kinds = {edge.resolver for edge in edges_of(anew) if (edge.source, edge.relation) == ("a.py:f", "calls")}
    assert len(kinds) == 2, "there are no two edges to be ordered"
    assert_same_graph(build(after, build(before), before), anew)


def _list_called_lines(graph: GraphTables) -> list[int]:
    starts = [node["start_line"] for node in graph.nodes.to_pylist()]
    return [starts[edge["target"]] for edge in graph.edges.to_pylist() if edge["relation"] == "calls"]


def test_exported_declaration_depends_on_preceding_code() -> None:
    edge, other, exported = "function f() {\n}\n", "function f() {\n}\n", "export { f as g };\n"
    before = {"a.js": edge + exported + other, "b.js": "import { g } from './a';\nfunction use() { g(); }\n"}
    after = {**before, "a.js": edge + other + exported}
    assert _list_called_lines(build(before)) != _list_called_lines(build(after))
    assert_same_graph(build(after, build(before), before), build(after))


def test_broken_import_cycle_becomes_resolvable() -> None:
    program = {
        "a.py": "from b import b\ndef a(): return b()\n",
        "b.py": "from c import c\ndef b(): return c()\n",
        "c.py": "from a import a\ndef c(): return a()\n",
        "use_a.py": "from a import a\na().go()\n",
        "use_b.py": "from b import b\nb().go()\n",
        "use_c.py": "from c import c\nc().go()\n",
    }
    circle = build(program)
    for name in "abc":
        text = "class End:\n    def go(self): pass\n" + f"def {name}(): return End()\n"
        changed = {**program, f"{name}.py": text}
        opened = build(changed, circle, program)
        assert_same_graph(opened, build(changed))
        targets = {(edge.source, edge.target) for edge in edges_of(opened) if edge.relation == "calls"}
        assert {(f"use_{other}.py", f"{name}.py:End.go") for other in "abc"} <= targets


_USED = "class F:\n    def go(self) -> 'Gone': pass\nclass Gone:\n    def back(self): pass\n"
_SHAPE = "package p\ntype Shape interface {\n\tArea() int\n%s}\n"


@pytest.mark.parametrize(
    ("before", "path", "text", "wanted"),
    [
        ({"a.py": "from b import f\nf()\n", "b.py": "def f(): pass\n"}, "b.py", "\n\ndef f(): pass\n", ["b.py"]),
        ({"a.py": "from b import f\nf()\n", "b.py": "def f(): pass\n"}, "b.py", "def g(): pass\n", ["a.py", "b.py"]),
        ({"a.py": "from b import f\nf()\n", "b.py": "def f(): pass\n"}, "b.py", "g = 1\ndef f(): pass\n", ["b.py"]),
        ({"a.py": "from b import *\ng()\n", "b.py": "def f(): pass\n"}, "b.py", "g = 1\ndef f(): pass\n", ["a.py", "b.py"]),
        # Through another name of the file, and through another file, to a name that is written in neither of the two.
        ({"a.py": "from b import F\nF().go().back()\n", "b.py": _USED}, "b.py", _USED.replace("class Gone", "class Away"),
         ["a.py", "b.py"]),
        ({"a.py": "from c import f\nf().go()\n", "b.py": _USED, "c.py": "import b\ndef f(): return b.F()\n"}, "b.py",
         _USED.replace("class F", "class G"), ["a.py", "b.py", "c.py"]),
        ({"a.go": "package p\ntype Dot struct{}\nfunc (d Dot) Area() int { return 0 }\n", "b.go": _SHAPE % ""}, "b.go",
         _SHAPE % "\tEdge() int\n", ["a.go", "b.go"]),
        (
            {"x/A.kt": "fun a() { stop() }\n", "x/B.kt": "fun b() {}\n", "y/C.kt": "fun stop() {}\n"},
            "x/B.kt",
            "fun b() {}\nfun stop() {}\n",
            ["x/A.kt", "x/B.kt"],
        ),
    ],
    ids=[
        "lines", "renamed", "added", "added, all imported", "by a returned type", "by another file", "an interface's method",
        "in one folder",
    ],
)  # fmt: skip
def test_only_possible_users_of_a_changed_name_are_relinked(
    monkeypatch: pytest.MonkeyPatch, before: Program, path: str, text: str, wanted: list[str]
) -> None:
    from coderag.codegraph import incremental_build as building

    linked: list[list[str]] = []
    link_files = building.link_files

    def record_files(program: Any, files: Sequence[int], **arguments: Any) -> Any:
        linked.append([program.rows[file].path for file in files])
        return link_files(program, files, **arguments)

    monkeypatch.setattr(building, "link_files", record_files)
    last, after = build(before), {**before, path: text}
    assert_same_graph(build(after, last, before), build(after))
    assert linked[1] == wanted


def test_changed_role_and_language_are_detected() -> None:
    facts = build({"a.py": "def f(): pass\n"})
    again = CodeGraphBuilder().build(
        facts, [FileRecord("a.py", "indexed", language="python", role="test", lines=1)], {}
    )
    assert {node["role"] for node in again.nodes.to_pylist()} == {"test"}
    assert [node["qualified_name"] for node in again.nodes.to_pylist()] == ["a.py", "f"]


def test_former_test_gains_test_edges() -> None:
    before = {
        "Cargo.toml": "[package]\nname = 'shop'\n",
        "src/lib.rs": "pub mod store;\n#[test]\nfn one() { store::kit::make(); }\n",
        "src/store.rs": "#[cfg(test)]\npub mod kit { pub fn make() {} }\n",
    }
    after = {**before, "src/store.rs": "pub mod kit { pub fn make() {} }\n"}
    last = build(before)
    assert "tests" not in {edge.relation for edge in edges_of(last)}
    changed = build(after, last, before)
    assert_same_graph(changed, build(after))
    tests = [edge[:3] for edge in edges_of(changed) if edge.relation == "tests"]
    assert tests == [("src/lib.rs:one", "tests", "src/store.rs:kit.make")]


def test_name_new_in_a_second_language_is_detected() -> None:
    before = {
        "b.go": "package b\n\nfunc Run() {}\n",
        "c.py": "",
        "a.py": "from c import *\n\ndef f():\n    Run()\n",
    }
    after = {**before, "c.py": "def Run(): pass\n"}
    again = build(after, build(before), before)
    assert_same_graph(again, build(after))
    assert ("a.py:f", "calls", "c.py:Run") in {edge[:3] for edge in edges_of(again)}


def test_centrality_is_reused_only_for_equal_edges() -> None:
    before = {"a.py": "def f(): pass\ndef g(): f()\ndef h(): f()\n"}
    moved = {"a.py": "\n" + before["a.py"]}
    turned = {"a.py": "def f(): pass\ndef g(): f()\ndef h(): g()\n"}
    for after in (moved, turned):
        assert_same_graph(build(after, build(before), before), build(after))


def test_unindexed_files_have_no_nodes() -> None:
    records = [FileRecord("a.py", "skipped", "binary"), FileRecord("b.py", "failed", "timeout")]
    graph = CodeGraphBuilder().build(None, records, {})
    assert [len(table) for table in graph] == [0, 0, 0]


def test_linking_all_again_gives_the_same() -> None:
    program = _build_program(_PYTHON)
    graph = build(program)
    records = [
        FileRecord(row["path"], "indexed", language=row["language"], role=row["role"], lines=row["lines"])
        for row in _normalize_facts(graph)
    ]
    assert_same_graph(CodeGraphBuilder().build(graph, records, {}, relink=True), graph)


def test_most_used_declaration_has_the_highest_centrality() -> None:
    program = {f"m{n}.py": f"from core import shared\ndef f{n}(): shared()\n" for n in range(5)}
    program["core.py"] = "def shared(): pass\ndef lonely(): pass\n"
    ranks = {node["qualified_name"]: node["centrality"] for node in build(program).nodes.to_pylist()}
    assert max(ranks, key=lambda name: ranks[name]) == "shared"
    assert ranks["shared"] == 1
    assert ranks["lonely"] < 0.5
