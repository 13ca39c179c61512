"""Conditional compilation that cuts through declarations of C and C++."""

import pytest

from coderag.ingestion.parsing.declarations import read_syntax
from coderag.ingestion.parsing.languages import LANGUAGES


def lines(text: str, language: str = "cpp") -> list[tuple[str, int, int]]:
    """Return each declaration with its first and last line."""
    data = text.encode()
    return [
        (item.qualified_name, data.count(b"\n", 0, item.start) + 1, data.count(b"\n", 0, item.end - 1) + 1)
        for item in read_syntax(data, LANGUAGES[language], timeout_s=5).declarations
    ]


AFTER = "int after(int n) { return n; }\n"


def test_two_heads_of_a_class_with_one_body():
    text = (
        "#ifdef WIDE\nclass Panel : public Wide {\n#else\nclass Panel : public Narrow {\n#endif\n  void show();\n};\n"
    )
    assert lines(text + AFTER) == [("Panel", 2, 7), ("Panel.show", 6, 6), ("after", 8, 8)]


@pytest.mark.parametrize("language", ["c", "cpp"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#ifdef A\nint run(int n) {\n#else\nint run(void) {\n#endif\n  return go();\n}\n", [("run", 2, 7)]),
        ("#ifdef A\nint run(int n)\n#else\nint run(void)\n#endif\n{\n  return go();\n}\n", [("run", 2, 8)]),
        ("#if 0\nint run(int n) {\n#else\nint run(void) {\n#endif\n  return go();\n}\n", [("run", 4, 7)]),
        (
            "#ifdef _WIN32\nint wide(int n) {\n#else\nint run(int n) {\n#endif\n  return go();\n}\n",
            [("wide", 2, 2), ("run", 4, 7)],
        ),
        (
            "#ifdef A\nstatic int wide(int n)\n#else\nstatic int run(int n)\n#endif\n{\n  return go();\n}\n",
            [("wide", 2, 3), ("run", 4, 8)],
        ),
        (
            "int run(int n) {\n#ifdef A\n  if (n) {\n#else\n  if (!n) {\n#endif\n    go();\n  }\n  return n;\n}\n",
            [("run", 1, 10)],
        ),
        (
            "int run(int n) {\n#ifdef A\n  if (n > 1)\n#else\n  if (n)\n#endif\n    go();\n  return n;\n}\n",
            [("run", 1, 9)],
        ),
        (
            "int run(int n) {\n  if (n) { go(); }\n#ifdef A\n  else if (n > 2) { stop(); }\n#endif\n  return n;\n}\n",
            [("run", 1, 7)],
        ),
    ],
)
def test_function_with_divided_head_or_body(text, expected, language):
    count = text.count("\n") + 1
    assert lines(text + AFTER, language) == [*expected, ("after", count, count)]


def test_conditional_bases_and_initializers():
    text = "class Panel\n#ifdef A\n  : public Wide\n#endif\n{\n  void show();\n};\n"
    assert lines(text + AFTER) == [("Panel", 1, 7), ("Panel.show", 6, 6), ("after", 8, 8)]
    text = "Panel::Panel()\n  : width(1)\n#ifdef A\n  , height(2)\n#endif\n{\n  show();\n}\n"
    assert lines(text + AFTER) == [("Panel.Panel", 1, 8), ("after", 9, 9)]


@pytest.mark.parametrize("language", ["c", "cpp"])
def test_conditional_linkage(language):
    text = '#ifdef __cplusplus\nextern "C" {\n#endif\nint run(int n);\n#ifdef __cplusplus\n}\n#endif\n'
    assert lines(text + AFTER, language) == [("run", 4, 4), ("after", 8, 8)]


def test_both_branches_of_complete_declarations_stay():
    text = "#ifdef A\nint wide(void) { return 1; }\n#else\nint run(void) { return 2; }\n#endif\n"
    assert lines(text + AFTER) == [("wide", 2, 2), ("run", 4, 4), ("after", 6, 6)]


def test_macros_defined_in_an_erased_branch_stay():
    text = "#ifdef A\nclass Panel : Wide {\n#else\n#define LIMIT 3\nclass Panel {\n#endif\n  void show();\n};\n"
    assert [name for name, _, _ in lines(text)] == ["Panel", "Panel.LIMIT", "Panel.show"]
