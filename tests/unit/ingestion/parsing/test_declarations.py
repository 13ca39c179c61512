import json
from pathlib import Path

import pytest

from coderag.ingestion.parsing.chunking import parse_file
from coderag.ingestion.parsing.declarations import read_syntax
from coderag.ingestion.parsing.languages import LANGUAGES, detect_language
from coderag.ingestion.parsing.trees import SyntaxUnusableError, find_line_starts, parse
from coderag.text.readable_text import to_readable_text

REPOSITORIES = Path(__file__).parents[3] / "fixtures" / "repos"
TOLD_APART = {
    "function",
    "method",
    "class",
    "interface",
    "struct",
    "trait",
    "enum",
    "union",
    "type_alias",
    "impl",
    "namespace",
}


def read(text, language="python"):
    return read_syntax(text.encode(), LANGUAGES[language], timeout_s=5)


def qualified(syntax):
    return [(declaration.qualified_name, declaration.kind) for declaration in syntax.declarations]


def source_files(folder):
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "expected.json"]


FIXTURES = sorted(path.parent for path in REPOSITORIES.glob("*/expected.json"))


def expected(folder):
    """What `expected.json` says of a fixture: ``symbols`` [name, kind, first line, last line], all of them; ``imports``,
    all of them; of some declarations by qualified name ``signatures``, ``docstrings`` (the first line) and ``complexity``.
    """
    return json.loads((folder / "expected.json").read_text(encoding="utf-8"))


def fixture_chunks(folder):
    chunks = []
    for path in source_files(folder):
        name = path.relative_to(folder).as_posix()
        text = to_readable_text(name, path.read_text(encoding="utf-8"))
        language = detect_language(name, text)
        if language == folder.name:
            # Without a limit: the texts are sound, and so even a grammar that crashes on others may be used.
            parsed = parse_file(name, text, language, "source", timeout_s=None)
            assert parsed.note == ""
            chunks += [chunk.metadata for chunk in parsed.chunks]
    return chunks


@pytest.mark.parametrize("folder", FIXTURES, ids=lambda path: path.name)
def test_symbols_of_fixtures_match(folder):
    records = {
        (s["qualified_name"], s["kind"], s["start_line"], s["end_line"])
        for chunk in fixture_chunks(folder)
        for s in chunk["symbols"]
    }
    wanted = {tuple(row) for row in expected(folder)["symbols"]}
    assert sorted(wanted - records) == []
    assert sorted(row for row in records - wanted if row[1] in TOLD_APART) == []


@pytest.mark.parametrize("folder", FIXTURES, ids=lambda path: path.name)
def test_declaration_details_match(folder):
    wanted = expected(folder)
    chunks = fixture_chunks(folder)
    by_name = {chunk["qualified_name"]: chunk for chunk in reversed(chunks)}
    if "imports" in wanted:
        assert sorted({name for chunk in chunks for name in chunk["imports"]}) == sorted(wanted["imports"])
    for name, signature in wanted.get("signatures", {}).items():
        assert (name, by_name[name]["signature"]) == (name, signature)
    for name, docstring in wanted.get("docstrings", {}).items():
        assert (name, by_name[name]["docstring"].partition("\n")[0]) == (name, docstring)
    for name, complexity in wanted.get("complexity", {}).items():
        assert (name, by_name[name]["complexity"]) == (name, complexity)


def test_every_language_with_a_query_has_a_fixture():
    assert {language.name for language in LANGUAGES.values() if language.query} <= {
        path.parent.name for path in REPOSITORIES.glob("*/expected.json")
    }


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("", [0, 0]),
        ("a", [0, 1]),
        ("a\n", [0, 2]),
        ("a\nb", [0, 2, 3]),
        ("\n\n", [0, 1, 2]),
        ("a\r\nb\rc\x0cd\n", [0, 3, 9]),
    ],
)
def test_only_a_newline_ends_a_line(text, starts):
    assert find_line_starts(text.encode()) == starts


def test_function_in_a_class_is_a_method_but_not_in_a_function():
    syntax = read(
        "class A:\n    def b(self):\n        def c(): pass\n        class D:\n            def e(self): pass\n"
    )
    assert qualified(syntax) == [
        ("A", "class"),
        ("A.b", "method"),
        ("A.b.c", "function"),
        ("A.b.D", "class"),
        ("A.b.D.e", "method"),
    ]


def test_local_variables_are_not_symbols():
    assert qualified(read("function f() { const g = () => 1; const x = 2; }\nconst y = 3;", "javascript")) == [
        ("f", "function"), ("f.g", "function"), ("y", "constant")
    ]  # fmt: skip


def test_decorators_and_exports_belong_to_the_declaration_but_not_to_its_lines():
    decorated = read("@cached\n@other(1)\ndef f(): pass\n").declarations[0]
    assert (decorated.outer_start, decorated.start) == (0, 18)
    exported = read("export default function f() {}", "typescript").declarations[0]
    assert (exported.outer_start, exported.start) == (0, 15)


def test_one_declaration_may_have_several_names():
    syntax = read("package p\nvar a, b int\n", "go")
    assert [declaration.names for declaration in syntax.declarations] == [["a", "b"]]


def test_a_receiver_qualifies_a_method():
    method = read("package p\nfunc (l *List[T]) Push(x T) {}\n", "go").declarations[0]
    assert (method.qualified_name, method.kind, method.scope) == ("List.Push", "method", "List")


def test_bases_calls_imports_and_branches_are_found_in_order():
    text = (
        "import a.b as c, d\nfrom . import e\n"
        "class F(g.H, I[int], metaclass=M):\n    x = j(k.l())\n    if x and y: pass\n"
    )
    syntax = read(text)
    assert [source for _, source in syntax.imports] == ["a.b", "d", "."]
    assert syntax.declarations[0].bases == ["H", "I"]
    assert [text[start:end] for start, end in syntax.calls] == ["j", "l"]
    assert len(syntax.branches) == 2


def test_macros_around_items_are_transparent():
    syntax = read(
        "cfg_rt! {\n    cfg_io! {\n        pub fn f() {\n            g()\n        }\n    }\n}\n\nfn h() {}\n", "rust"
    )
    assert qualified(syntax) == [("f", "function"), ("h", "function")]
    assert syntax.note == ""


def test_unsupported_syntax_is_replaced_and_keeps_name_and_position():
    text = 'setup() { :; }\n@test "adds: it\'s fine" {\n  run sum\n}\n'
    syntax = read_syntax(text.encode(), LANGUAGES["shell"], timeout_s=None)
    test = syntax.declarations[1]
    assert (test.name, text[test.outer_start : test.end]) == ("adds: it's fine", text[15:-1])
    assert syntax.note == ""


def test_sql_function_body_is_not_a_syntax_error():
    syntax = read(
        "CREATE FUNCTION f() RETURNS int AS $x$ BEGIN IF a THEN b := 1; END IF; END $x$ LANGUAGE plpgsql;", "sql"
    )
    assert (qualified(syntax), syntax.note) == ([("f", "function")], "")


def test_receivers_are_joined_and_may_be_implicit():
    text = 'data "aws_ami" "linux" {}\nvariable "region" {}\nlocals {\n  tags = {}\n}\n'
    assert qualified(read(text, "terraform")) == [
        ("data.aws_ami.linux", "resource"), ("var.region", "variable"), ("local.tags", "variable")
    ]  # fmt: skip


def test_declaration_start_may_differ_from_its_node():
    described = read('"""Has a name."""\ntype Named {\n  "It."\n  name: String\n}\n', "graphql")
    assert [(declaration.outer_start, declaration.start) for declaration in described.declarations] == [
        (0, 18),
        (33, 41),
    ]
    assert [declaration.docstring_span for declaration in described.declarations] == [(0, 17), (33, 38)]
    public = read("pub const A = struct {\n    pub fn f() void {}\n};\n", "zig")
    assert [(declaration.qualified_name, declaration.kind, declaration.outer_start) for declaration in public.declarations] == [
        ("A", "struct", 0), ("A.f", "method", 27)
    ]  # fmt: skip


def test_alias_name_ends_before_its_value():
    syntax = read_syntax(b"alias ll='ls -l' la=ls\n", LANGUAGES["shell"], timeout_s=None)
    assert qualified(syntax) == [("ll", "macro"), ("la", "macro")]


def test_comment_node_with_trailing_indentation_documents_the_declaration():
    text = "const A = struct {\n    x: u8,\n\n    /// Does it.\n    fn f() void {}\n};\n"
    assert [text[start:end] for start, end in read(text, "zig").comments] == ["/// Does it."]


def test_wrappers_and_unnamed_definitions_extend_their_declaration():
    syntax = read("export const a = 1, b = () => 2;\n", "javascript")
    assert [(declaration.name, declaration.outer_start) for declaration in syntax.declarations] == [("a", 0), ("b", 20)]


def test_a_docstring_belongs_to_the_declaration_around_it():
    syntax = read('"""Module."""\nclass A:\n    """Class."""\n    def f(self):\n        """Method."""\n')
    assert syntax.docstring_span == (0, 13)
    assert all(declaration.docstring_span for declaration in syntax.declarations)


def test_a_docstring_in_an_attribute_belongs_to_the_declaration_below():
    text = 'defmodule A do\n  @moduledoc "A."\n\n  @doc "Adds."\n  def add(x), do: x\n  def sub(x), do: x\nend\n'
    syntax = read(text, "elixir")
    assert [declaration.docstring_span and declaration.docstring_span[0] for declaration in syntax.declarations] == [
        28,
        41,
        None,
    ]


def test_names_in_attributes_are_not_calls():
    text = "defmodule A do\n  @spec add(integer) :: B.t()\n  def add(x), do: sub(x)\nend\n"
    assert [text[start:end] for start, end in read(text, "elixir").calls] == ["sub"]


@pytest.mark.parametrize(
    ("language", "text", "symbols"),
    [
        ("haskell", "f :: Int -> Int\nf 0 = 1\n-- Else\nf n = n\n", [("f", 1, 4)]),
        ("haskell", "a, b :: Int\na = 1\nb = 2\n", [("a", 1, 3)]),
        ("haskell", "f x = x\ng x = x\nf y = y\n", [("f", 1, 1), ("g", 2, 2), ("f", 3, 3)]),
        ("haskell", "f 0 = g 0 where g x = x\nf n = g n where g x = n\n", [("f", 1, 2), ("f.g", 1, 1), ("f.g", 2, 2)]),
        ("elixir", "def f(0), do: 1\ndef f(n) do\n  n\nend\n", [("f", 1, 4)]),
        ("elixir", "def f(n), do: n\n@doc \"Two.\"\ndef f(n, m), do: n\n", [("f", 1, 1), ("f", 3, 3)]),
        ("java", "class A {\n  void f() {}\n  void f(int n) {}\n}\n", [("A", 1, 4), ("A.f", 2, 2), ("A.f", 3, 3)]),
    ],
)  # fmt: skip
def test_consecutive_clauses_are_one_declaration(language, text, symbols):
    chunks = parse_file("a", text, language, "source").chunks
    records = [(s["qualified_name"], s["start_line"], s["end_line"]) for c in chunks for s in c.metadata["symbols"]]
    assert [row for row in records if row[0] != "b"] == symbols


def test_clause_without_body_is_the_signature_and_further_bodies_are_branches():
    (chunk,) = parse_file("a", "f :: Int\n  -> Int\nf 0 = 1\nf 1 = 2\nf n = n\n", "haskell", "source").chunks
    assert chunk.metadata["signature"] == "f :: Int -> Int"
    assert chunk.metadata["complexity"] == 3


def test_a_comment_may_document_the_file():
    (chunk,) = parse_file("a", "-- | Amounts.\n-- All of them.\nmodule A where\nimport B\n", "haskell", "source").chunks
    assert chunk.metadata["docstring"] == "Amounts.\nAll of them."


def test_both_branches_of_a_preprocessor_condition_are_read():
    text = "#if OLD\nf :: Int\nf = 1\n#else\ng :: Int\ng = 2\n#endif\nh = 3\n"
    assert [declaration.name for declaration in read(text, "haskell").declarations] == ["f", "g", "h"]


def test_sibling_nodes_form_one_declaration():
    text = "val Box.area: Int\n    get() = width * height\n\nval other = 1\n"
    area, other = read(text, "kotlin").declarations
    assert (area.qualified_name, area.kind) == ("Box.area", "method")
    assert text[area.start : area.end] == "val Box.area: Int\n    get() = width * height"
    assert (other.qualified_name, other.kind) == ("other", "variable")


def test_import_source_may_span_several_nodes():
    imports = read("import a.b.C, d.e._\nimport f.{g, h}\n", "scala").imports
    assert [source for _, source in imports] == ["a.b.C", "d.e", "f"]


def test_declaration_excludes_trailing_space():
    text = "object A:\n  def f: Int =\n    1\n\n  def g: Int = 2\n"
    assert [text[declaration.start : declaration.end][-1] for declaration in read(text, "scala").declarations] == [
        "2",
        "1",
        "2",
    ]


@pytest.mark.parametrize(
    ("language", "text", "symbols"),
    [
        ("kotlin", "class A\n@Inject\ninternal constructor(val b: Int) : C() {\n    fun f() = 1\n}\n",
         ["A", "A.b", "A.f"]),
        ("kotlin", '@JvmName("shout")\nfun String.cry() = 1\n', ["String.cry"]),
        ("kotlin", "class A(b: B) : C(), B by b {\n    val d = 1\n    fun f() = d\n}\n", ["A", "A.d", "A.f"]),
        ("swift", "class A {\n    #if os(Linux)\n    func f() {}\n    #else\n    func g() {}\n    #endif\n}\n",
         ["A", "A.f", "A.g"]),
        ("swift", "struct A {\n    @Option() var b: Int\n    func f() throws(E) {}\n}\n", ["A", "A.b", "A.f"]),
    ],
)  # fmt: skip
def test_unsupported_syntax_is_blanked(language, text, symbols):
    syntax = read(text, language)
    assert [declaration.qualified_name for declaration in syntax.declarations] == symbols
    assert syntax.note == ""


def test_syntax_error_is_noted_and_the_rest_is_parsed():
    syntax = read("def good():\n    return 1\n\ndef bad(:\n    pass\n\ndef fine():\n    return 2\n")
    assert "syntax error" in syntax.note
    assert {"good", "fine"} <= {declaration.name for declaration in syntax.declarations}


def test_text_that_is_not_a_program_is_rejected():
    with pytest.raises(SyntaxUnusableError, match="syntax error at line"):
        read("}}}} ((( :: )) ?? !! " * 40, "java")


def test_parsing_is_bounded_in_time():
    with pytest.raises(SyntaxUnusableError, match="not parsed within"):
        parse(b"a<" * 30_000, LANGUAGES["java"], timeout_s=0.05)


def test_parser_timeout_stops_on_a_damaged_file():
    with pytest.raises(SyntaxUnusableError, match="not parsed within"):
        parse(b'return(<><n e=/*""/></>}t/b>n> ', LANGUAGES["tsx"], timeout_s=0.2)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", "x = " + "(" * 10_000 + ")" * 10_000),
        ("python", "".join("def f():\n" + " " * (depth + 1) for depth in range(600)) + "pass\n"),
        ("javascript", "function f() {" * 10_000 + "}" * 10_000),
        ("go", "package p\nfunc f() {" + "{" * 10_000 + "}" * 10_000 + "}"),
        ("typescript", "namespace a {" * 10_000 + "}" * 10_000),
    ],
)
def test_nesting_ten_thousand_levels_deep_parses(language, text):
    parsed = parse_file("deep", text, language, "source")
    assert text.startswith("".join(chunk.text for chunk in parsed.chunks))
