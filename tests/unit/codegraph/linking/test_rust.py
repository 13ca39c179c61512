"""Edges of Rust programs."""

import pytest

from coderag.codegraph.graph import CodeGraph
from coderag.codegraph.symbol_graph import SymbolGraph
from tests.support.programs import Program, assert_same_graph, build, triples

_SHOP = {
    "Cargo.toml": '[workspace]\nmembers = ["shop", "tools/text-kit"]\n',
    "shop/Cargo.toml": '[package]\nname = "shop"\n\n[dependencies]\n'
    'kit = { path = "../tools/text-kit", package = "text-kit" }\n',
    "shop/src/lib.rs": """pub mod store;
mod util;
pub mod prelude {
    pub use crate::store::{memory::Memory, Store};
}

use crate::util::{self as helpers, *};

pub fn run(memory: &mut Memory) -> Option<u8> {
    helpers::log("start");
    clean(1);
    let item = memory.find("x")?;
    item.label();
    memory.describe();
    kit::trim::left("x");
    None
}

use prelude::Memory;
""",
    "shop/src/util.rs": "pub fn log(text: &str) {}\npub fn clean(n: u8) -> u8 { n }\n",
    "shop/src/store/mod.rs": """pub mod memory;

pub struct Item { name: String }

impl Item {
    pub fn label(&self) -> &str { &self.name }
}

pub trait Store {
    fn find(&self, id: &str) -> Option<Item>;
    fn describe(&self) -> String { self.find("a"); String::new() }
}
""",
    "shop/src/store/memory.rs": """use super::{Item, Store};
use std::collections::HashMap;

pub struct Memory { items: HashMap<String, Item> }

impl Memory {
    pub fn new() -> Self { Self { items: HashMap::new() } }
    fn get(&self, id: &str) -> Option<&Item> { self.items.get(id) }
}

impl Store for Memory {
    fn find(&self, id: &str) -> Option<Item> { self.get(id); None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds() {
        let memory = Memory::new();
        assert!(memory.find("x").is_none());
        super::helper();
    }
}

fn helper() {}
""",
    "tools/text-kit/Cargo.toml": '[package]\nname = "text-kit"\n',
    "tools/text-kit/src/lib.rs": "pub mod trim;\n",
    "tools/text-kit/src/trim.rs": "pub fn left(text: &str) {}\n",
    "tools/text-kit/tests/whole.rs": 'use text_kit::trim::left;\nmod common;\nfn check() { left("a"); common::set_up(); }\n',
    "tools/text-kit/tests/common/mod.rs": "pub fn set_up() {}\n",
}


def _collect_calls(program: Program) -> set[tuple[str, str]]:
    return {(source, target) for source, _, target in triples(program, "calls")}


def _collect_file_calls(text: str) -> set[tuple[str, str]]:
    """Return the calls of a crate with one file, without its path."""
    prefix = "src/lib.rs:"
    calls = _collect_calls({"Cargo.toml": '[package]\nname = "one"\n', "src/lib.rs": text})
    return {(source.removeprefix(prefix), target.removeprefix(prefix)) for source, target in calls}


def test_calls_resolve_through_modules_crates_and_impls() -> None:
    assert _collect_calls(_SHOP) == {
        ("shop/src/lib.rs:run", "shop/src/util.rs:log"),
        ("shop/src/lib.rs:run", "shop/src/util.rs:clean"),
        ("shop/src/lib.rs:run", "shop/src/store/memory.rs:Memory.find"),
        ("shop/src/lib.rs:run", "shop/src/store/mod.rs:Item.label"),
        ("shop/src/lib.rs:run", "shop/src/store/mod.rs:Store.describe"),
        ("shop/src/lib.rs:run", "tools/text-kit/src/trim.rs:left"),
        ("shop/src/store/mod.rs:Store.describe", "shop/src/store/mod.rs:Store.find"),
        ("shop/src/store/memory.rs:Memory.find", "shop/src/store/memory.rs:Memory.get"),
        ("shop/src/store/memory.rs:tests.finds", "shop/src/store/memory.rs:Memory.new"),
        ("shop/src/store/memory.rs:tests.finds", "shop/src/store/memory.rs:Memory.find"),
        ("shop/src/store/memory.rs:tests.finds", "shop/src/store/memory.rs:helper"),
        ("tools/text-kit/tests/whole.rs:check", "tools/text-kit/src/trim.rs:left"),
        ("tools/text-kit/tests/whole.rs:check", "tools/text-kit/tests/common/mod.rs:set_up"),
    }


def test_impl_blocks_implement_traits() -> None:
    assert ("shop/src/store/memory.rs:Memory", "implements", "shop/src/store/mod.rs:Store") in triples(_SHOP)
    assert triples(_SHOP, "overrides") == {
        ("shop/src/store/memory.rs:Memory.find", "overrides", "shop/src/store/mod.rs:Store.find")
    }


def test_imports_link_files_declarations_and_external_crates() -> None:
    targets = {target for source, _, target in triples(_SHOP, "imports") if source == "shop/src/store/memory.rs"}
    assert targets >= {"shop/src/store/mod.rs", "shop/src/store/mod.rs:Item", "shop/src/store/mod.rs:Store", "std"}


@pytest.mark.parametrize(
    ("body", "target"),
    [
        ("let t = T::new(); t.m();", "T.m"),
        ("let t = T { u: U }; t.m();", "T.m"),
        ("let t: T = make(); t.m();", "T.m"),
        ("let t = make(); t.m();", "T.m"),
        ("make().m();", "T.m"),
        ("make().u.n();", "U.n"),
        ("let t = T::try_new().unwrap(); t.m();", "T.m"),
        ("let t = T::try_new()?; t.m();", "T.m"),
        ("if let Ok(t) = T::try_new() { t.m(); }", "T.m"),
        ("match T::try_new() { Ok(t) => t.m(), Err(e) => e.m() }", "T.m"),
        ("let (a, b) = pair(); b.n();", "U.n"),
        ("for t in list() { t.m(); }", "T.m"),
        ("for t in list().iter().rev() { t.m(); }", "T.m"),
        ("list().iter().map(|t| t.m());", "T.m"),
        ("list().first().unwrap().m();", "T.m"),
        ("let c = |t: &T| t.m();", "T.m"),
        ("let c = |t| t.m();", ""),
        ("T::m(&make());", "T.m"),
        ("<T as Tr>::of();", "T.of"),
        ("make().clone().m();", "T.m"),
        ("make().lock().unwrap().m();", "T.m"),
        ("shared.m();", "T.m"),
        ("dynamic.act();", "Tr.act"),
        ("some.act();", "Tr.act"),
        ("bounded.act();", "Tr.act"),
        ("W(make()).0.m();", "T.m"),
        ("w.0.m();", "T.m"),
        ("make().act();", "Tr.act"),
        ("Alias::new().m();", "T.m"),
        ("unknown.m();", ""),
        ("text.m();", ""),
        ("let T { u } = make(); u.n();", "U.n"),
        ('println!("{}", make().m());', "T.m"),
        ("assert_eq!(1, make().u.n());", "U.n"),
        ("X::from(1);", ""),
        ("outer::inner::deep();", "outer.inner.deep"),
        ("free::<u8>(1).m();", "T.m"),
    ],
)
def test_receiver_types_are_inferred(body: str, target: str) -> None:
    calls = _collect_file_calls(
        "use std::sync::Arc;\n#[derive(Clone)]\npub struct T { u: U }\npub struct U;\npub struct W(T);\ntype Alias = T;\n"
        "impl T {\n fn new() -> Self { T { u: U } }\n fn try_new() -> Result<Self, Error> { todo!() }\n fn m(&self) {}\n}\n"
        "impl U { fn n(&self) {}\n fn m(&self) {} }\n"
        "trait Tr { fn act(&self) {}\n fn of(); }\nimpl Tr for T { fn of() {} }\n"
        "struct X;\nimpl From<u8> for X { fn from(n: u8) -> X { X } }\nimpl From<i8> for X { fn from(n: i8) -> X { X } }\n"
        "mod outer { pub mod inner { pub fn deep() {} } }\n"
        "fn make() -> T { todo!() }\nfn pair() -> (T, U) { todo!() }\nfn list() -> Vec<T> { todo!() }\n"
        "fn free<A>(a: A) -> T { todo!() }\n"
        "fn run<B: Tr>(shared: Arc<T>, dynamic: Box<dyn Tr>, some: impl Tr, bounded: &B, w: W, text: &str) { "
        + body
        + " }\n"
    )
    callees = {callee for caller, callee in calls if caller == "run"}
    assert callees - {"T.new", "T.try_new", "make", "pair", "list", "free"} == ({target} if target else set())


def test_methods_are_not_in_scope_by_bare_name() -> None:
    assert _collect_file_calls(
        "struct T;\nimpl T {\n fn go(&self) { go() }\n fn other() {}\n fn use_it() { other() }\n}\nfn go() {}\n"
    ) == {("T.go", "go")}


def test_impls_in_other_files_are_linked() -> None:
    program = {
        "Cargo.toml": '[package]\nname = "one"\n',
        "src/lib.rs": "mod a;\nmod b;\npub struct T;\nfn run(t: T) { t.go(); }\n",
        "src/a.rs": "use crate::T;\nimpl T { pub fn go(&self) {} }\n",
        "src/b.rs": "struct T;\nimpl T { fn go(&self) {} }\nfn here(t: T) { t.go(); }\n",
    }
    assert _collect_calls(program) == {("src/lib.rs:run", "src/a.rs:T.go"), ("src/b.rs:here", "src/b.rs:T.go")}


def test_macro_calls_are_linked() -> None:
    program = {
        "Cargo.toml": '[package]\nname = "one"\n',
        "src/lib.rs": "#[macro_use]\nmod macros;\nmod a;\n",
        "src/macros.rs": "macro_rules! shout { () => {} }\n",
        "src/a.rs": "fn run() { shout!(); println!(); }\n",
    }
    assert _collect_calls(program) == {("src/a.rs:run", "src/macros.rs:shout")}


def test_glob_reexports_resolve() -> None:
    program = {
        "Cargo.toml": '[package]\nname = "one"\n',
        "src/lib.rs": "mod inner;\npub use inner::*;\nmod user;\n",
        "src/inner.rs": "pub fn deep() {}\n",
        "src/user.rs": "use crate::deep;\nfn run() { deep(); crate::deep(); }\n",
    }
    assert _collect_calls(program) == {("src/user.rs:run", "src/inner.rs:deep")}


def test_mutual_reexports_terminate() -> None:
    program = {
        "Cargo.toml": '[package]\nname = "one"\n',
        "src/lib.rs": "mod a;\nmod b;\n",
        "src/a.rs": "pub use crate::b::*;\npub use crate::b::lost;\npub fn one() {}\n",
        "src/b.rs": "pub use crate::a::*;\npub use crate::a::lost;\nfn run() { one(); lost(); }\n",
    }
    assert _collect_calls(program) == {("src/b.rs:run", "src/a.rs:one")}


@pytest.mark.parametrize(
    "text",
    [
        "fn main() { test::y(); }\nmod test {\n    use crate::test::x;\n    pub fn y() { x(); }\n}\n",
        "mod a {\n    use self::x;\n    fn f() { x() }\n}\n",
        "mod a { pub use crate::b::x; }\nmod b { pub use crate::a::x; }\nfn main() { a::x(); }\n",
        "mod a { pub use super::b::*; }\nmod b { pub use super::a::*; }\nfn main() { a::x(); b::y::z(); }\n",
        "mod a { pub mod b { pub use super::super::a::b::c::d; pub use super::b::c; } }\nfn main() { a::b::c::d(); }\n",
    ],
)
def test_inline_module_with_cyclic_import_terminates(text: str) -> None:
    other = {"Cargo.toml": '[package]\nname = "a"\n', "src/other.rs": "fn g() {}\nfn f() { g() }\n"}
    assert ("src/other.rs:f", "calls", "src/other.rs:g") in triples({**other, "src/main.rs": f"mod other;\n{text}"})


def test_function_and_module_of_one_name_are_distinct() -> None:
    files = {
        "Cargo.toml": '[package]\nname = "shop"\n',
        "src/lib.rs": "pub mod sched;\nuse sched::go;\npub fn outer() { crate::sched::go() }\n"
        "pub fn inner() { crate::sched::go::stop(); go(); }\n",
        "src/sched/mod.rs": "mod go;\npub(crate) use go::go;\npub fn both() { go(); go::stop() }\n",
        "src/sched/go.rs": "pub(crate) fn go() {}\npub fn stop() {}\n",
    }
    go, stop = "src/sched/go.rs:go", "src/sched/go.rs:stop"
    assert _collect_calls(files) == {
        ("src/lib.rs:outer", go),
        ("src/lib.rs:inner", go),
        ("src/lib.rs:inner", stop),
        ("src/sched/mod.rs:both", go),
        ("src/sched/mod.rs:both", stop),
    }


def test_enum_variants_and_methods_are_linked() -> None:
    program = {
        "src/lib.rs": "enum E { A, B(u8) }\nimpl E { fn go(&self) {} }\n"
        "fn run() { E::A.go(); let e = E::B; take(E::A); }\nfn take(e: E) {}\n"
    }
    assert ("src/lib.rs:run", "src/lib.rs:E.go") in _collect_calls(program)
    assert ("src/lib.rs:run", "references", "src/lib.rs:E.A") in triples(program)


def test_syntax_error_keeps_parsed_edges() -> None:
    assert ("run", "go") in _collect_file_calls("fn go() {}\nfn run() { go(); }\nfn broken( {\n")


def _find_role(name: str, text: str, path: str = "src/lib.rs") -> str:
    nodes = build({path: text}).nodes.to_pylist()
    return next(node["role"] for node in nodes if node["qualified_name"] == name)


@pytest.mark.parametrize(
    ("before", "role"),
    [
        ("#[test]", "test"),
        ('#[tokio::test(flavor = "current_thread")]', "test"),
        ("#[rstest]\n#[case(1)]", "test"),
        ("#[test]\n/// What it is for.\n#[ignore]\n// And why.\npub async", "test"),
        ("#[cfg(test)]", "test"),
        ("#[cfg(all(test, unix))]", "test"),
        ("#[cfg(all(not(windows), test))]", "test"),
        ("#[cfg(not(test))]", "source"),
        ("#[cfg(all(not(test), unix))]", "source"),
        ("#[cfg(any(test, unix))]", "source"),  # part of the released code, too
        ('#[cfg(feature = "test")]', "source"),
        ("#[cfg(test)]\nuse other::made;\n", "source"),
        ("#[cfg(test)]\nmod tests { fn other() {} }\n", "source"),
        ("", "source"),
    ],
)
def test_test_attribute_marks_tests(before: str, role: str) -> None:
    assert _find_role("made", f"fn first() {{}}\n{before} fn made() {{}}\n") == role


@pytest.mark.parametrize(
    ("name", "text", "role"),
    [
        ("tests.made", "#[cfg(test)]\nmod tests { fn made() {} }\n", "test"),
        ("tests.Kit.made", "#[cfg(test)]\nmod tests { struct Kit; impl Kit { fn made() {} } }\n", "test"),
        ("Kit.made", "struct Kit;\n#[cfg(test)]\nimpl Kit { fn made() {} }\n", "test"),
        ("kit.made", "mod kit { #![cfg(test)] fn made() {} }\n", "test"),
        ("made", "#![cfg(test)]\nfn first() {}\nfn made() {}\n", "test"),
        ("made", "fn made() { #[cfg(test)] first(); }\n", "source"),
        ("kit", "mod kit { #[cfg(test)] use other::made; }\n", "source"),
    ],
)
def test_cfg_test_module_marks_its_members_as_tests(name: str, text: str, role: str) -> None:
    assert _find_role(name, text) == role


def test_vendored_tests_keep_their_role() -> None:
    assert _find_role("made", "#[test]\nfn made() {}\n", "vendor/kit/src/lib.rs") == "vendored"


def test_inline_tests_link_to_tested_code() -> None:
    assert triples(_SHOP, "tests") >= {
        ("shop/src/store/memory.rs:tests.finds", "tests", "shop/src/store/memory.rs:helper"),
        ("shop/src/store/memory.rs:tests.finds", "tests", "shop/src/store/memory.rs:Memory.find"),
    }
    graph = CodeGraph(SymbolGraph(build(_SHOP)))
    assert [reference.qualified_name for reference in graph.tests("helper")] == ["tests.finds"]
    assert [(reference.qualified_name, reference.role) for reference in graph.callers("helper")] == [
        ("tests.finds", "test")
    ]


def test_test_helpers_are_not_tested() -> None:
    text = "pub fn make() {}\n#[cfg(test)]\nmod tests { fn kit() {}\n #[test]\n fn made() { kit(); super::make(); } }\n"
    edges = triples({"Cargo.toml": '[package]\nname = "one"\n', "src/lib.rs": text}, "tests")
    assert edges == {("src/lib.rs:tests.made", "tests", "src/lib.rs:make")}


@pytest.mark.parametrize("path", list(_SHOP))
def test_incremental_build_equals_full_build(path: str) -> None:
    without = {name: text for name, text in _SHOP.items() if name != path}
    changed = _SHOP | {
        path: _SHOP[path].replace("find", "fetch").replace("Memory", "Kept").replace("name =", "title =")
    }
    for before, after in ((without, _SHOP), (_SHOP, without), (_SHOP, changed), (changed, _SHOP)):
        assert_same_graph(build(after, build(before), before), build(after))


def find_cycles(program: Program) -> list[list[str]]:
    """Return the files of each cycle."""
    return [list(cycle.members) for cycle in CodeGraph(SymbolGraph(build(program))).cycles("files")]


def test_own_module_declaration_is_not_part_of_a_cycle():
    parent = {
        "src/lib.rs": "mod shop;\npub fn price() {}\n",
        "src/shop.rs": "use crate::price;\nfn sell() { price(); }\n",
    }
    assert find_cycles(parent) == []
    both = parent | {"src/lib.rs": "mod shop;\nuse crate::shop::sell;\npub fn price() { sell(); }\n"}
    assert find_cycles(both) == [["src/lib.rs", "src/shop.rs"]]


_MACROS = {
    "Cargo.toml": '[package]\nname = "shop"\n',
    "src/lib.rs": """pub mod cost;
use cost::{price, Item, LIMIT};

fn helper(n: u32) -> u32 { n }
fn callback(n: u32) -> u32 { n }

macro_rules! total {
    ($e:expr) => { $crate::helper($e) + crate::cost::price($e) };
}

pub fn checkout() -> u32 {
    let all = vec![price(1), helper(2)];
    assert_eq!(cost::parse::<u32>(3), 1);
    repeat!(callback, 3);
    let items = vec![Item { n: 1 }; 3];
    println!("{}", LIMIT);
    total!(1)
}

lazy_static! {
    static ref CACHE: u32 = helper(1);
}
""",
    "src/cost.rs": """pub const LIMIT: u32 = 3;
pub struct Item { pub n: u32 }
pub fn price(n: u32) -> u32 { n }
pub fn parse<T>(n: u32) -> u32 { n }
""",
}


def test_calls_in_macros_and_their_arguments_are_linked() -> None:
    calls = {(source.partition(":")[2], target.partition(":")[2]) for source, _, target in triples(_MACROS, "calls")}
    assert calls == {
        ("total", "helper"), ("total", "price"), ("checkout", "price"), ("checkout", "helper"), ("checkout", "parse"),
        ("checkout", "total"), ("CACHE", "helper"),
    }  # fmt: skip


def test_names_in_the_arguments_of_macros_are_references() -> None:
    used = {target for source, _, target in triples(_MACROS, "references") if source == "src/lib.rs:checkout"}
    assert used == {"src/lib.rs:callback", "src/cost.rs:Item", "src/cost.rs:LIMIT"}
