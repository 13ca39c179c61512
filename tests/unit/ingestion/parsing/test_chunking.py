import base64
import gc
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coderag.ingestion.parsing.chunking import MAX_TOKENS, parse_file
from coderag.ingestion.parsing.declaration_records import Declaration
from coderag.ingestion.parsing.facts import _FactReader
from coderag.ingestion.parsing.languages import LANGUAGES, detect_language
from coderag.ingestion.parsing.long_lines import MAX_LINE_CHUNKS
from coderag.ingestion.parsing.parsed_file import compute_chunk_id, compute_chunk_ids, derive_module_name
from coderag.schema.chunks import LINE_DATA_NOTE, ChunkMetadata
from coderag.text.readable_text import to_readable_text
from coderag.text.token_counts import ESTIMATE_TOLERANCE, count_tokens, estimate_tokens, is_over_limit

REPOSITORIES = Path(__file__).parents[3] / "fixtures" / "repos"
SOURCES = [
    (detect_language(path.name), to_readable_text(path.name, path.read_text(encoding="utf-8")))
    for path in sorted(REPOSITORIES.rglob("*"))
    if path.is_file() and path.name != "expected.json"
]
CALLS = "".join(f"    first_{number} = compute_something(number, {number})\n" for number in range(12))


def chunks(text, language="python", **limits):
    return parse_file("pkg/file.py", text, language, "source", **limits).chunks


def outline(text, language="python", **limits):
    return [
        (c.metadata["kind"], c.metadata["qualified_name"], c.metadata["start_line"], c.metadata["end_line"])
        for c in chunks(text, language, **limits)
    ]


def check_cover(text, language, **limits):
    """Chunks cover the text without overlap and gap, and say truly where they lie."""
    parsed = parse_file("pkg/file", text, language, "source", **limits)
    data = text.encode("utf-8", "surrogatepass")
    position = 0
    for chunk in parsed.chunks:
        metadata = chunk.metadata
        assert set(metadata) == set(ChunkMetadata.__annotations__)
        if metadata["start_byte"] != position:  # behind data of a long line
            assert LINE_DATA_NOTE in parsed.note
            assert data.find(b"\n", position, metadata["start_byte"]) in (-1, metadata["start_byte"] - 1)
        position = metadata["end_byte"]
        assert data[metadata["start_byte"] : position].decode("utf-8", "surrogatepass") == chunk.text
        assert metadata["start_line"] == data.count(b"\n", 0, metadata["start_byte"]) + 1
        assert metadata["end_line"] == data.count(b"\n", 0, max(metadata["start_byte"], position - 1)) + 1
        starts_line = metadata["start_byte"] == 0 or data[metadata["start_byte"] - 1] == ord("\n")
        line_end = data.find(b"\n", metadata["start_byte"])
        assert starts_line or position <= (line_end + 1 if line_end >= 0 else len(data))
        for symbol in metadata["symbols"]:
            assert 1 <= symbol["start_line"] <= symbol["end_line"] <= data.count(b"\n") + 1
            assert metadata["start_line"] <= symbol["start_line"] <= metadata["end_line"]
    assert position == len(data) or LINE_DATA_NOTE in parsed.note
    assert LINE_DATA_NOTE in parsed.note or "".join(chunk.text for chunk in parsed.chunks) == text
    return parsed


# --- Cover


@pytest.mark.parametrize(("language", "text"), SOURCES)
@pytest.mark.parametrize("limits", [{}, {"max_tokens": 40, "min_tokens": 0}, {"max_tokens": 60, "min_tokens": 60}])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_chunks_cover_a_file(language, text, limits, newline):
    check_cover(text.replace("\n", newline), language, **limits)


@given(
    st.text() | st.text("ab(){}[];:#\"'/*\n\r\t =.<>@é字\x0c"),
    st.sampled_from([*LANGUAGES, "klingon"]),
    st.integers(16, 80),
    st.integers(0, 60),
)
@settings(max_examples=300)
def test_chunks_cover_any_text(text, language, max_tokens, min_tokens):
    check_cover(text, language, max_tokens=max_tokens, min_tokens=min_tokens)


@given(st.data())
@settings(max_examples=300)
def test_chunks_cover_a_damaged_file(data):
    language, text = data.draw(st.sampled_from(SOURCES))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 200)))
        text = (
            text[:start]
            + data.draw(
                st.sampled_from(["", "{", "}", "(", "\n", '"', "'''", "/*", "字", "class A:\n", text[end:][:80]])
            )
            + text[end:]
        )
    check_cover(text, language, max_tokens=data.draw(st.integers(16, 300)), min_tokens=data.draw(st.integers(0, 120)))


@pytest.mark.parametrize("language", ["python", "go", "markdown", "rst", "kotlin", "json", "text"])
@pytest.mark.parametrize("text", ["", "\n", "\n\n\n", "\r", "\ufeff"])
def test_an_empty_file_is_one_chunk(language, text):
    assert len(check_cover(text, language).chunks) == 1


@pytest.mark.parametrize("language", ["javascript", "json", "text", "markdown", "scala"])
def test_megabyte_line_is_split_up_to_a_limit(language):
    parsed = check_cover("x = [" + "'word', " * 130_000 + "]\n", language)
    assert len(parsed.chunks) == MAX_LINE_CHUNKS
    assert len({compute_chunk_id("", c.metadata, first_byte_of_line=0) for c in parsed.chunks}) == len(parsed.chunks)


BASE64 = base64.b64encode(random.Random(3).randbytes(30_000)).decode()


@pytest.mark.parametrize(
    "data",
    [BASE64, "M0 0 L1.5 -2.25 " * 3_000, "0x1f, 0xE2, " * 3_000, "1234, " * 6_000, "00ff17" * 6_000],
    ids=["base64", "coordinates", "hexadecimal numbers", "numbers", "hexadecimal digits"],
)
@pytest.mark.parametrize("language", ["python", "javascript", "text", "xml", "json", "sql"])
def test_data_of_a_long_line_is_left_out_but_for_its_beginning(language, data):
    parsed = check_cover(f"first_name = 1\nfont_url = '{data}'\nlast_name = 2\n", language)
    text = "".join(chunk.text for chunk in parsed.chunks)
    assert all(name in text for name in ("first_name", "font_url", "last_name"))
    assert len(text) < 6_000
    assert len(set(compute_chunk_ids("", parsed))) == len(parsed.chunks)


@pytest.mark.parametrize(
    "line",
    [
        "INSERT INTO people VALUES " + "(1, 'Ada Lovelace'), " * 500,
        "これは長い行です。" * 800,
        "a paragraph on one line. " * 500,
    ],
    ids=["rows", "Japanese", "prose"],
)
def test_words_of_a_long_line_are_not_left_out(line):
    parsed = check_cover(f"{line}\n", "text")
    assert parsed.note == ""


def test_carriage_returns_and_form_feeds_do_not_end_lines():
    text = "a = 1\r\nb = 2\rc = 3\x0c\n\ndef f():\r\n    return 1\r\n"
    assert check_cover(text, "python").chunks[-1].metadata["start_line"] == 4


# --- What belongs together


def test_module_code_functions_and_classes_are_separate_chunks():
    method = f"    def g(self):\n{CALLS.replace('    ', '        ')}"
    text = f"import os\n\nLIMIT = 1\n\ndef f():\n{CALLS}\n\nclass A(B):\n    '''Doc.'''\n{method}\nmain()\n"
    assert [row[:2] for row in outline(text)] == [
        ("module", "pkg/file"), ("constant", "LIMIT"), ("function", "f"), ("class", "A"), ("method", "A.g"),
        ("module", "pkg/file"),
    ]  # fmt: skip


def test_method_context_is_the_class_header():
    body = CALLS.replace("    ", "        ")
    text = f"class A(\n    B,\n):\n    '''Doc.'''\n\n    def g(self, x):\n        '''Say it.'''\n{body}"
    header, method = chunks(text)
    assert header.metadata["bases"] == ["B"]
    assert header.metadata["docstring"] == "Doc."
    assert header.metadata["symbols"] == [
        {"name": "A", "qualified_name": "A", "kind": "class", "start_line": 1, "end_line": 19}
    ]
    assert method.metadata["context"] == "class A( B, ):"
    assert method.metadata["parent"] == "A"
    assert method.metadata["signature"] == "def g(self, x):"
    assert method.metadata["docstring"] == "Say it."
    assert method.metadata["calls"] == ["compute_something"]


def test_a_small_class_is_one_chunk_with_its_methods_as_symbols():
    (chunk,) = chunks("class A:\n    def f(self): return 1\n\n    def g(self): return 2\n")
    assert [s["qualified_name"] for s in chunk.metadata["symbols"]] == ["A", "A.f", "A.g"]


@pytest.mark.parametrize(
    ("language", "text", "first"),
    [
        ("python", "import os\n\n# Why.\n# And how.\n@cached\n@other(\n    1,\n)\ndef f():\n    pass\n", "# Why."),
        ("javascript", "import os from 'os';\n\n/**\n * Why.\n */\nexport const f = () => {};\n", "/**"),
        (
            "typescript",
            "import os from 'os';\n\n// Why.\n@Injectable({ a: 1 })\nexport abstract class A {}\n",
            "// Why.",
        ),
        ("tsx", "import os from 'os';\n\n// Why.\nexport default function F() { return <b/>; }\n", "// Why."),
        ("go", 'package p\n\nimport "os"\n\n// Why.\n//go:noinline\nfunc f() {}\n', "// Why."),
    ],
)
def test_comments_decorators_and_exports_belong_to_their_declaration(language, text, first):
    module, declaration = chunks(text, language)
    assert module.metadata["kind"] == "module"
    assert declaration.text.startswith(first)
    assert declaration.metadata["docstring"].startswith("Why.")


def test_comment_between_declarations_joins_the_next_chunk():
    text = f"def f():\n{CALLS}\n# ------\n# Others\n# ------\n\ndef g():\n{CALLS}"
    assert [c.text.split("\n")[0] for c in chunks(text)] == ["def f():", "# ------"]


def test_trailing_comment_stays_on_its_line():
    first, second = chunks(f"x = 1  # of this line\ndef f():\n{CALLS}")
    assert first.text == "x = 1  # of this line\n"
    assert second.metadata["docstring"] == ""


def test_a_nested_function_is_a_symbol_of_the_outer_one():
    (chunk,) = chunks(f"def f():\n    def g():\n        return 1\n{CALLS}    return g\n")
    assert [s["qualified_name"] for s in chunk.metadata["symbols"]] == ["f", "f.g"]


def test_helpers_in_a_callback_stay_in_its_chunk():
    (chunk,) = chunks(
        "register('x', () => {\n  const make = () => 1;\n  run('y', () => { expect(make()).toBe(1); });\n});\n",
        "javascript",
        min_tokens=100,
    )
    assert chunk.metadata["kind"] == "module"
    assert [s["name"] for s in chunk.metadata["symbols"]] == ["make"]


def test_methods_of_a_large_object_are_chunks():
    body = "".join(f"    first{n} = compute(first, {n});\n" for n in range(14))
    text = f"export default {{\n  name: 'x',\n  first() {{\n{body}  }},\n  second: function () {{\n{body}  }},\n}};\n"
    assert [row[:2] for row in outline(text, "javascript")] == [
        ("variable", "default"),
        ("method", "default.first"),
        ("method", "default.second"),
    ]


def test_bare_namespace_header_joins_the_next_chunk():
    body = "".join(f"    first{n} = compute(first, {n});\n" for n in range(16))
    text = f"namespace A {{\n  export function f() {{\n{body}  }}\n  export function g() {{\n{body}  }}\n}}\n"
    assert [row[:2] for row in outline(text, "typescript")] == [("function", "A.f"), ("function", "A.g")]
    assert [s["qualified_name"] for s in chunks(text, "typescript")[0].metadata["symbols"]] == ["A", "A.f"]


def test_declarations_on_one_line_share_a_chunk():
    (chunk,) = chunks("function a() {} function b() {}\n", "javascript")
    assert [s["name"] for s in chunk.metadata["symbols"]] == ["a", "b"]


# --- Limits


def test_tiny_neighbours_are_merged_and_keep_their_lines():
    (chunk,) = chunks("def a():\n    return 1\n\n\ndef b():\n    return other(2, 3, 4, 5)\n", min_tokens=100)
    assert chunk.metadata["name"] == "b"
    assert [(s["name"], s["start_line"], s["end_line"]) for s in chunk.metadata["symbols"]] == [
        ("a", 1, 2),
        ("b", 5, 6),
    ]


def test_declarations_of_min_tokens_are_not_merged():
    text = f"def a():\n    return 1\n\n\ndef b():\n{CALLS}\n\ndef c():\n    return 3\n"
    assert [row[1] for row in outline(text, min_tokens=100)] == ["a", "b", "c"]


def test_classes_with_bases_are_not_merged():
    parsed = chunks("class A(X):\n    pass\n\n\nclass B(Y):\n    pass\n", min_tokens=100)
    assert [(c.metadata["name"], c.metadata["bases"]) for c in parsed] == [("A", ["X"]), ("B", ["Y"])]


def test_tiny_declarations_are_chunks_of_their_own_by_default():
    text = "import os\n\nLIMIT = 1\n\n\ndef a(): return LIMIT\ndef b(): return os\n\n\nclass C:\n    x = 1\n"
    rows = [("pkg/file", 1, 2), ("LIMIT", 3, 5), ("a", 6, 6), ("b", 7, 9), ("C", 10, 11)]
    assert [row[1:] for row in outline(text)] == rows
    assert len(outline(text, min_tokens=100)) == 3


def test_large_function_is_split_at_statements_and_named_in_each_part():
    statement = "    if value:\n        total = compute_something(value, 1)\n        other = total\n"
    parts = chunks(f"def large(value):\n    '''Doc.'''\n{statement * 60}    return total\n", max_tokens=200)
    assert len(parts) > 4
    assert {c.metadata["qualified_name"] for c in parts} == {"large"}
    assert {c.metadata["complexity"] for c in parts} == {61}
    assert [len(c.metadata["symbols"]) for c in parts] == [1] + [0] * (len(parts) - 1)
    assert parts[1].metadata["context"] == "def large(value):"
    assert all(c.text.startswith("    if value:") or c.text.startswith("    return") for c in parts[1:])


@given(st.integers(20, 300), st.integers(1, 60))
@settings(max_examples=40)
def test_no_chunk_exceeds_the_limit(max_tokens, statements):
    text = "".join(
        f"def f{n}(a, b):\n    '''Say {n}.'''\n"
        + "    a = a.method(b, [1, 2, 3], name='text') or 字\n" * (n % 30)
        + "    return a\n\n"
        for n in range(statements)
    )
    for chunk in chunks(text, max_tokens=max_tokens, min_tokens=10):
        assert count_tokens(chunk.text) <= max_tokens * (1 + ESTIMATE_TOLERANCE)


@pytest.mark.parametrize(("language", "text"), SOURCES)
def test_estimates_are_within_the_tolerance_for_code(language, text):
    if len(text) > 500 and language != "jupyter":  # runs of empty lines are estimated too high
        assert abs(estimate_tokens(text.encode()) - count_tokens(text)) <= ESTIMATE_TOLERANCE * count_tokens(text)


def test_close_to_the_limit_tokens_are_counted():
    text = "value = compute(other)\n" * 40
    exact = count_tokens(text)
    assert not is_over_limit(text.encode(), exact)
    assert is_over_limit(text.encode(), exact - 1)


# --- Metadata


def test_complexity_is_branches_plus_one():
    (chunk,) = chunks(
        "def f(a, b):\n    if a and b:\n        return 1\n    for x in a: pass\n    return [y for y in b if y]\n"
    )
    assert chunk.metadata["complexity"] == 6


def test_calls_are_distinct_in_order_and_bounded():
    (chunk,) = chunks("def f():\n    b()\n    a.c()\n    b()\n")
    assert chunk.metadata["calls"] == ["b", "c"]
    many = chunks("".join(f"f{n}()\n" for n in range(100)))
    assert max(len(c.metadata["calls"]) for c in many) == 64


def test_long_signature_is_truncated_without_comments():
    (chunk,) = chunks("def f(\n    a,  # first\n    b=1,\n):\n    pass\n")
    assert chunk.metadata["signature"] == "def f( a, b=1, ):"
    (chunk,) = chunks(f"VALUE = [{'1, ' * 300}]\n")
    assert len(chunk.metadata["signature"]) == 300


def test_module_code_has_the_file_name():
    (chunk,) = parse_file("requests/sessions.py", '"""Sessions."""\nimport os\n', "python", "test").chunks
    metadata = chunk.metadata
    assert (metadata["kind"], metadata["name"], metadata["qualified_name"]) == (
        "module",
        "sessions",
        "requests/sessions",
    )
    assert (metadata["docstring"], metadata["imports"], metadata["role"], metadata["summary"]) == (
        "Sessions.",
        ["os"],
        "test",
        "",
    )
    assert derive_module_name(".bashrc") == (".bashrc", ".bashrc")


def test_chunk_id_depends_on_location_and_content_only():
    item, two = (parse_file("a.py", text, "python", "source").chunks[0].metadata for text in ("x = 1\n", "x = 2\n"))
    assert compute_chunk_id("r", item) == compute_chunk_id("r", dict(item, role="test"))
    assert (
        len(
            {
                compute_chunk_id("r", item),
                compute_chunk_id("q", item),
                compute_chunk_id("r", two),
                compute_chunk_id("r", item, first_byte_of_line=0),
            }
        )
        == 4
    )


# --- Files that are no programs of a language with a query


def test_unparsable_file_is_split_by_lines_with_a_note():
    text = "}}}} ((( :: )) ?? !! class Odd\n" * 400
    parsed = check_cover(text, "java")
    assert "cut by lines" in parsed.note
    assert len(parsed.chunks) > 3
    assert {c.metadata["kind"] for c in parsed.chunks} == {"block"}


def test_parse_timeout_splits_by_lines_with_a_note():
    parsed = check_cover("a<" * 20_000, "java", timeout_s=0.05)
    assert "not parsed within 0.05 s" in parsed.note
    assert "not parsed" in check_cover("a<" * 20_000, "groovy", timeout_s=0.0).note


@pytest.mark.parametrize(
    ("language", "text", "ends"),
    [
        ("lua", "function f()\n  return g(1)\nend\n\nreturn M\n", ["function"]),
        ("haskell", "f :: Int -> Int\nf x = x\n{-# INLINE f #-}\n\nx = 1\n", ["function", "constant"]),
    ],
)
def test_closers_alone_are_not_a_chunk(language, text, ends):
    assert [c.metadata["kind"] for c in check_cover(text, language, min_tokens=0).chunks] == ends


def test_named_end_stays_with_its_declaration():
    body = "".join(f"  def f{number}(x: Int): Int =\n    compute(x, {number})\n" for number in range(12))
    text = f"object A:\n{body}end A\n\nobject B:\n{body}end B\n"
    parsed = check_cover(text, "scala")
    assert [c.text.endswith("end A\n\n") for c in parsed.chunks].count(True) == 1
    assert {c.metadata["kind"] for c in parsed.chunks} <= {"class", "method"}


def test_a_declaration_on_the_last_line_of_another_shares_its_chunk():
    text = (
        f"class A {{\n  f() {{ return [{'1, ' * 80}]; }}\n  g() {{ return [{'1, ' * 80}];\n}} }} function b() {{\n}}\n"
    )
    assert [c.metadata["name"] for c in check_cover(text, "javascript").chunks] == ["A", "f", "g"]


def test_preprocessor_conditions_stay_with_the_declaration_above():
    text = "int f(int a) {\n" + "  a = compute(a, 1);\n" * 20 + "}\n#endif\n\n#ifdef B\nint g(int a) {\n"
    text += "  a = compute(a, 1);\n" * 20 + "}\n#endif\n"
    assert [row[:2] for row in outline(text, "c")] == [("function", "f"), ("function", "g")]


@pytest.mark.parametrize(
    ("language", "text", "symbols"),
    [
        ("zig", "pub fn run(x: u8) u8 {\n    return x;\n}\n", [("run", "function", 1, 3)]),
        ("shell", "#!/bin/sh\nrun() {\n  echo 1\n}\n", [("run", "function", 2, 2)]),
        ("sql", "CREATE TABLE users (\n  id int\n);\n", [("users", "table", 1, 3)]),
    ],
)
def test_symbols_are_found_without_a_query(language, text, symbols):
    chunks_found = [
        (s["qualified_name"], s["kind"], s["start_line"], s["end_line"])
        for c in check_cover(text, language).chunks
        for s in c.metadata["symbols"]
    ]
    assert set(symbols) <= set(chunks_found)


def test_blocks_follow_the_tree_and_have_parents():
    method = "  int run{}(int x) {\n" + "    var value = compute(x, 1);\n" * 24 + "    return value;\n  }\n\n"
    parsed = check_cover(
        "class Runner {\n" + "".join(method.replace("{}", str(n), 1) for n in range(5)) + "}\n", "dart"
    )
    assert len(parsed.chunks) >= 5
    last = parsed.chunks[-1].metadata
    assert (last["kind"], last["parent"], last["context"]) == ("block", "Runner", "class Runner")


def test_data_is_split_at_blank_lines_within_the_limit():
    text = "\n".join(f"section{n}:\n  key: value\n  other: [1, 2, 3]\n" for n in range(200))
    parsed = check_cover(text, "yaml")
    assert all(count_tokens(c.text) <= MAX_TOKENS for c in parsed.chunks)
    assert all(c.metadata["complexity"] == 0 for c in parsed.chunks)
    assert all(c.text.startswith("section") for c in parsed.chunks)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", "class Cart:\n    def pay(self) -> int:\n        return self.total()\n"),
        ("haskell", "module Cart where\n\npay :: Int -> Int\npay 0 = 1\npay n = n\n"),
        ("vue", "<template><p/></template>\n<script>\nclass Cart { pay() { return 1; } }\n</script>\n"),
    ],
)
def test_parsing_leaves_no_reference_cycles(language, text):
    gc.collect()
    gc.disable()
    try:
        parsed = parse_file("cart", text, language, "source")
        remaining = [item for item in gc.get_objects() if isinstance(item, (Declaration, _FactReader))]
    finally:
        gc.enable()
    assert any(chunk.metadata["symbols"] for chunk in parsed.chunks)
    assert remaining == []


def test_failed_file_is_split_by_lines_without_parsing(monkeypatch):
    for tried in ("read_text_facts", "read_syntax", "lay_out_sections"):
        monkeypatch.setattr(f"coderag.ingestion.parsing.chunking.{tried}", None)
    for language in ("markdown", "json", "python", "objective_c"):
        parsed = parse_file("a", "one\ntwo\n", language, "source", failure="parsing took too long")
        assert "".join(chunk.text for chunk in parsed.chunks) == "one\ntwo\n"
        assert parsed.note == "parsing took too long; cut by lines"
