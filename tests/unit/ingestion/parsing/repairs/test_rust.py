"""Declarations and calls of Rust in macro calls around items."""

import pytest

from coderag.ingestion.parsing.declarations import read_syntax
from coderag.ingestion.parsing.languages import LANGUAGES


def read(text: str) -> list[tuple[str, str, int]]:
    data = text.encode()
    syntax = read_syntax(data, LANGUAGES["rust"], timeout_s=5)
    return [(item.qualified_name, item.kind, data.count(b"\n", 0, item.start) + 1) for item in syntax.declarations]


def test_items_in_branches_of_conditional_compilation():
    text = """cfg_if::cfg_if! {
    if #[cfg(unix)] {
        mod system { pub fn open() { go(); } }
    } else if #[cfg(all(windows, feature = "x"))] {
        pub struct Handle { raw: u32 }
    } else {
        fn open() {}
    }
}
fn after() {}
"""
    assert read(text) == [
        ("system", "namespace", 3), ("system.open", "function", 3), ("Handle", "struct", 5), ("open", "function", 7),
        ("after", "function", 10),
    ]  # fmt: skip


def test_lazy_and_thread_local_statics():
    text = """lazy_static! {
    /// Words that are never indexed.
    static ref WORDS: Vec<String> = load("}");
    pub static ref LIMIT: u32 = compute(r#"}"#, '}');
}
thread_local! {
    static DEPTH: Cell<u32> = Cell::new(0);
}
"""
    assert read(text) == [("WORDS", "variable", 3), ("LIMIT", "variable", 4), ("DEPTH", "variable", 7)]


def test_macro_call_stays_a_call_of_the_macro():
    text = "define_items! {\n    pub enum Mood { Calm, Wild }\n    impl Mood { fn rank(&self) -> u8 { order() } }\n}\n"
    assert [name for name, _, _ in read(text)] == ["Mood", "Mood.Calm", "Mood.Wild", "Mood", "Mood.rank"]
    syntax = read_syntax(text.encode(), LANGUAGES["rust"], timeout_s=5)
    assert [text[start:end] for start, end in syntax.calls] == ["define_items", "order"]


@pytest.mark.parametrize(
    "text",
    [
        "fn run() {\n    quote! {\n        pub fn generated() {}\n    }\n}\n",
        "fn run() {\n    select! {\n        value = receive() => handle(value),\n    }\n}\n",
        "fn run() {\n    spawn! {\n        async move { go() }\n    }\n}\n",
    ],
)
def test_code_in_other_macro_calls_declares_nothing_new(text):
    assert [item for item in read(text) if item[0] not in ("run", "run.generated")] == []
