"""Declarations that differ between two versions of a file."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coderag.ingestion.parsing.chunking import parse_file
from coderag.ingestion.parsing.languages import detect_language
from coderag.ingestion.parsing.outline import read_outline
from coderag.lineage.declaration_diff import diff_declarations
from coderag.lineage.line_diff import diff_lines
from coderag.schema.lineage import Hunk

PYTHON = b'''"""Sessions."""
import time


class Session:
    """A session."""

    @property
    def age(self):
        return time.time() - self.start

    # Closes the session.
    def close(self, force=False):
        def drop(item):
            return item

        return drop(self)


TIMEOUT = 30
'''
GO = b"package p\n\ntype A struct {\n\tx int\n}\n\n// Run runs.\nfunc (a *A) Run() int {\n\treturn a.x\n}\n"
JAVASCRIPT = b"export class A { m() { return 1 } }\nconst f = (a) => a\nlet x = 1, y = 2\n"
YAML = b"server:\n  port: 80\n  host: a\nlog: debug\n"
MARKDOWN = b"# Title\n\nText.\n\n## Setup\n\nRun it.\n"


def summarize(path: str, old: bytes | None, new: bytes | None) -> set[tuple[str, str]]:
    return {(change.qualified_name, change.change) for change in diff_declarations(path, old, new)}


@pytest.mark.parametrize(
    ("path", "source", "before", "after", "expected"),
    [
        ("a/s.py", PYTHON, b"return item", b"return None", {("Session.close.drop", "body")}),
        ("a/s.py", PYTHON, b"force=False", b"force=True", {("Session.close", "signature")}),
        ("a/s.py", PYTHON, b"@property\n", b"@cached_property\n", {("Session.age", "signature")}),
        ("a/s.py", PYTHON, b"# Closes the session", b"# Closes it", {("Session.close", "body")}),
        ("a/s.py", PYTHON, b'"""A session."""', b'"""One."""', {("Session", "body")}),
        ("a/s.py", PYTHON, b"TIMEOUT = 30", b"TIMEOUT = 60", {("TIMEOUT", "body")}),
        ("a/s.py", PYTHON, b"import time", b"import os", {("a/s", "body")}),
        ("a/s.py", PYTHON, b"TIMEOUT = 30\n", b"", {("TIMEOUT", "removed")}),
        ("a/s.py", PYTHON, b"def drop(", b"def lose(", {("Session.close.drop", "removed"), ("Session.close.lose", "added")}),
        ("p.go", GO, b"return a.x", b"return 1", {("A.Run", "body")}),
        ("p.go", GO, b"// Run runs.", b"// Run.", {("A.Run", "body")}),
        ("p.go", GO, b"Run() int", b"Run() string", {("A.Run", "signature")}),
        ("a.js", JAVASCRIPT, b"return 1", b"return 2", {("A", "body"), ("A.m", "body")}),
        ("a.js", JAVASCRIPT, b"x = 1", b"x = 3", {("x", "body"), ("y", "body")}),
        ("c.yaml", YAML, b"port: 80", b"port: 81", {("server", "body")}),
        ("d.md", MARKDOWN, b"Run it", b"Start it", {("Title > Setup", "body")}),
        ("n.txt", b"one\ntwo\n", b"two", b"three", {("n", "body")}),
    ],
)  # fmt: skip
def test_change_is_attributed_to_innermost_declaration(
    path: str, source: bytes, before: bytes, after: bytes, expected: set[tuple[str, str]]
) -> None:
    assert before in source
    assert summarize(path, source, source.replace(before, after)) == expected


def test_renamed_class_renames_its_methods() -> None:
    changes = summarize("s.py", PYTHON, PYTHON.replace(b"class Session", b"class Connection"))
    assert {("Session", "removed"), ("Connection", "added"), ("Session.age", "removed")} <= changes
    assert ("Connection.close.drop", "added") in changes


def test_moved_declaration_is_not_a_signature_change() -> None:
    moved = b"TIMEOUT = 30\n" + PYTHON.replace(b"TIMEOUT = 30\n", b"")
    assert ("TIMEOUT", "body") in summarize("s.py", PYTHON, moved)
    assert "signature" not in {change for _, change in summarize("s.py", PYTHON, moved)}


def test_changed_overload_is_paired_by_signature() -> None:
    old = b"class A {\n void f(int a) { one(); }\n void f(String b) { two(); }\n}\n"
    new = b"class A {\n void f(long c) { zero(); }\n void f(int a) { one(); }\n void f(String b) { three(); }\n}\n"
    changes = diff_declarations("A.java", old, new)
    assert [(change.change, change.new_start_line) for change in changes] == [("added", 2), ("body", 4)]


def test_added_and_deleted_files_list_every_declaration() -> None:
    added = summarize("s.py", None, PYTHON)
    assert {change for _, change in added} == {"added"}
    assert {name for name, _ in added} == {name for name, _ in summarize("s.py", PYTHON, None)}
    assert ("Session.close.drop", "added") in added


def test_lines_and_signatures_of_both_versions_are_reported() -> None:
    new = PYTHON.replace(b"import time\n", b"import os\nimport time\n").replace(b"force=False", b"force: bool")
    change = next(
        change for change in diff_declarations("s.py", PYTHON, new) if change.qualified_name == "Session.close"
    )
    assert (change.old_start_line, change.new_start_line) == (13, 14)
    assert (change.old_signature, change.new_signature) == (
        "def close(self, force=False):",
        "def close(self, force: bool):",
    )


@pytest.mark.parametrize("data", [b"\0\1\2\0\xff" * 40, b""])
def test_binary_and_empty_files_have_no_declarations(data: bytes) -> None:
    assert diff_declarations("a.py", None, data) == []


def test_utf16_text_is_compared_by_its_lines() -> None:
    old, new = "def f():\r\n    return 1\r\n", "def f():\r\n    return 2\r\n"
    assert summarize("a.py", old.encode("utf-16"), new.encode("utf-16")) == {("f", "body")}


def test_unparsable_file_is_attributed_to_the_module() -> None:
    assert summarize("big.py", b"x = 1\n" * 200_000, b"x = 1\n" * 199_999 + b"x = 2\n") == {("big", "body")}


@pytest.mark.parametrize(
    ("path", "source"),
    [("a/s.py", PYTHON), ("p.go", GO), ("a.js", JAVASCRIPT), ("c.yaml", YAML), ("d.md", MARKDOWN),
     ("v.vue", b"<template><p/></template>\n<script>\nexport function f() {\n  return 1\n}\n</script>\n"),
     ("broken.py", b"def f(:\n" + b"((((\n" * 90)],
)  # fmt: skip
def test_outline_has_the_symbols_of_the_index(path: str, source: bytes) -> None:
    parsed = parse_file(path, source.decode(), detect_language(path, source.decode()), "source")
    symbols = {
        (symbol["qualified_name"], symbol["kind"], symbol["start_line"], symbol["end_line"])
        for chunk in parsed.chunks
        for symbol in chunk.metadata["symbols"]
    }
    outline = read_outline(path, source)
    assert outline is not None
    assert symbols == {
        (name, entry.kind, entry.start_line, entry.end_line)
        for entry in outline.entries
        for name in entry.qualified_names
    }


_BLOCKS = [
    "import os\n", "\n", "# note\n", "X = 1\n", "def f(a):\n    return a\n\n", "def f(b):\n    return 2\n",
    "class A:\n    y = 1\n\n    @dec\n    def m(self):\n        pass\n",
    "async def g():\n    def h():\n        return 1\n    return h\n",
    "if True:\n    def k(): pass\n", "class B(A): pass\n", "def broken(:\n",
]  # fmt: skip


@settings(max_examples=30)
@given(st.lists(st.sampled_from(_BLOCKS), max_size=7), st.lists(st.sampled_from(_BLOCKS), max_size=7))
def test_declaration_of_every_changed_line_is_listed(old_blocks: list[str], new_blocks: list[str]) -> None:
    old, new = "".join(old_blocks).encode(), "".join(new_blocks).encode()
    changes = diff_declarations("a.py", old, new)
    hunks = diff_lines(old.splitlines(), new.splitlines())
    for side, data in (("old", old), ("new", new)):
        outline = read_outline("a.py", data)
        assert outline is not None
        listed = {
            (change.qualified_name, getattr(change, f"{side}_start_line"))
            for change in changes
            if change.kind != "module"
        }
        has_module = any(change.kind == "module" for change in changes)
        for hunk in hunks:
            start, count = getattr(hunk, f"{side}_start"), getattr(hunk, f"{side}_count")
            for line in range(start, start + count):
                around = [entry for entry in outline.entries if entry.first_line <= line <= entry.end_line]
                if around:
                    assert (around[-1].qualified_names[0], around[-1].start_line) in listed
                else:
                    assert has_module


@settings(max_examples=50)
@given(st.lists(st.sampled_from("abcdef"), max_size=25), st.lists(st.sampled_from("abcdef"), max_size=25))
def test_line_diff_turns_old_lines_into_new(old: list[str], new: list[str]) -> None:
    old_lines, new_lines = [line.encode() for line in old], [line.encode() for line in new]
    rebuilt: list[bytes] = []
    position = 0
    for hunk in diff_lines(old_lines, new_lines):
        start = hunk.old_start - 1 if hunk.old_count else hunk.old_start
        rebuilt += old_lines[position:start]
        first = hunk.new_start - 1 if hunk.new_count else hunk.new_start
        assert first == len(rebuilt)
        rebuilt += new_lines[first : first + hunk.new_count]
        position = start + hunk.old_count
    assert rebuilt + old_lines[position:] == new_lines


def test_known_hunks_are_used() -> None:
    new = PYTHON.replace(b"return item", b"return None")
    changes = diff_declarations("s.py", PYTHON, new, hunks=[Hunk(20, 1, 20, 1)])
    assert [change.qualified_name for change in changes] == ["TIMEOUT"]
