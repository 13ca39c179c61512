import json
from pathlib import Path

import pytest

from coderag.ingestion.chunking import parse_file
from coderag.ingestion.declarations import SyntaxUnusableError, line_starts, parse, read_syntax
from coderag.ingestion.languages import LANGUAGES, detect_language

REPOSITORIES = Path(__file__).parents[2] / "fixtures" / "repos"
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
    return [(one.qualified_name, one.kind) for one in syntax.all]


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
        text = path.read_text(encoding="utf-8")
        language = detect_language(name, text.partition("\n")[0])
        if language == folder.name:
            # Without a limit: the texts are sound, and so even a grammar that crashes on others may be used.
            parsed = parse_file(name, text, language, "source", timeout_s=None)
            assert parsed.note == ""
            chunks += [chunk.metadata for chunk in parsed.chunks]
    return chunks


@pytest.mark.parametrize("folder", FIXTURES, ids=lambda path: path.name)
def test_the_symbols_of_a_repository_are_found(folder):
    found = {
        (s["qualified_name"], s["kind"], s["start_line"], s["end_line"])
        for chunk in fixture_chunks(folder)
        for s in chunk["symbols"]
    }
    wanted = {tuple(row) for row in expected(folder)["symbols"]}
    assert sorted(wanted - found) == []
    assert sorted(row for row in found - wanted if row[1] in TOLD_APART) == []


@pytest.mark.parametrize("folder", FIXTURES, ids=lambda path: path.name)
def test_what_is_known_of_declarations_is_right(folder):
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
    assert line_starts(text.encode()) == starts


def test_a_function_in_a_class_is_a_method_and_one_in_a_function_is_not():
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


def test_variables_inside_functions_are_no_symbols():
    assert qualified(read("function f() { const g = () => 1; const x = 2; }\nconst y = 3;", "javascript")) == [
        ("f", "function"), ("f.g", "function"), ("y", "constant")
    ]  # fmt: skip


def test_decorators_and_exports_belong_to_the_declaration_but_not_to_its_lines():
    decorated = read("@cached\n@other(1)\ndef f(): pass\n").all[0]
    assert (decorated.outer_start, decorated.start) == (0, 18)
    exported = read("export default function f() {}", "typescript").all[0]
    assert (exported.outer_start, exported.start) == (0, 15)


def test_one_declaration_may_have_several_names():
    syntax = read("package p\nvar a, b int\n", "go")
    assert [one.names for one in syntax.all] == [["a", "b"]]


def test_a_receiver_qualifies_a_method():
    method = read("package p\nfunc (l *List[T]) Push(x T) {}\n", "go").all[0]
    assert (method.qualified_name, method.kind, method.scope) == ("List.Push", "method", "List")


def test_bases_calls_imports_and_branches_are_found_in_order():
    text = (
        "import a.b as c, d\nfrom . import e\n"
        "class F(g.H, I[int], metaclass=M):\n    x = j(k.l())\n    if x and y: pass\n"
    )
    syntax = read(text)
    assert [source for _, source in syntax.imports] == ["a.b", "d", "."]
    assert syntax.all[0].bases == ["H", "I"]
    assert [text[start:end] for start, end in syntax.calls] == ["j", "l"]
    assert len(syntax.branches) == 2


def test_the_grammar_sees_through_macros_around_items():
    syntax = read(
        "cfg_rt! {\n    cfg_io! {\n        pub fn f() {\n            g()\n        }\n    }\n}\n\nfn h() {}\n", "rust"
    )
    assert qualified(syntax) == [("f", "function"), ("h", "function")]
    assert syntax.note == ""


def test_several_wrappers_and_a_definition_without_a_name_extend_what_they_wrap():
    syntax = read("export const a = 1, b = () => 2;\n", "javascript")
    assert [(one.name, one.outer_start) for one in syntax.all] == [("a", 0), ("b", 20)]


def test_a_docstring_belongs_to_the_declaration_around_it():
    syntax = read('"""Module."""\nclass A:\n    """Class."""\n    def f(self):\n        """Method."""\n')
    assert syntax.documented == (0, 13)
    assert all(one.documented for one in syntax.all)


def test_a_syntax_error_is_noted_and_the_rest_is_used():
    syntax = read("def good():\n    return 1\n\ndef bad(:\n    pass\n\ndef fine():\n    return 2\n")
    assert "syntax error" in syntax.note
    assert {"good", "fine"} <= {one.name for one in syntax.all}


def test_a_text_that_is_no_program_is_refused():
    with pytest.raises(SyntaxUnusableError, match="syntax error at line"):
        read("}}}} ((( :: )) ?? !! " * 40, "java")


def test_parsing_is_bounded_in_time():
    with pytest.raises(SyntaxUnusableError, match="not parsed within"):
        parse(b"a<" * 30_000, LANGUAGES["java"], timeout_s=0.05)


def test_a_damaged_file_that_would_keep_the_parser_busy_for_ever_is_given_up():
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
def test_nesting_ten_thousand_deep_is_no_problem(language, text):
    parsed = parse_file("deep", text, language, "source")
    assert "".join(chunk.text for chunk in parsed.chunks) == text
