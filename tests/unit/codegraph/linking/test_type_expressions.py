"""Parsing of type expressions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.codegraph.linking.type_expressions import TypeExpression, parse_type, split_tuple


def _format_alternatives(text: str) -> str:
    """Return the parsed alternatives of a type in one notation."""
    return " or ".join(map(_format_type, parse_type(text)))


def _format_type(expression: TypeExpression) -> str:
    arguments = ", ".join(map(_format_type, expression.arguments))
    return f"{expression.name or 'array'}<{arguments}>" if arguments else expression.name or "array"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Foo", "Foo"),
        ("pkg.Foo", "pkg.Foo"),
        ("pkg::Foo", "pkg.Foo"),
        ("App\\Foo", "App.Foo"),
        ("'Foo'", "Foo"),
        ("Optional[list[Foo]]", "Optional<list<Foo>>"),
        ("dict[str, list[Foo]]", "dict<str, list<Foo>>"),
        ("Foo | None", "Foo"),
        ("Foo | Bar | undefined", "Foo or Bar"),
        ("Map<String, Foo>", "Map<String, Foo>"),
        ("Foo<Bar<Baz>>", "Foo<Bar<Baz>>"),
        ("Foo?", "Foo"),
        ("Foo<Bar>?", "Foo<Bar>"),
        ("List<? extends Foo>", "List<Foo>"),
        ("Foo[]", "array<Foo>"),
        ("Foo[][]", "array<array<Foo>>"),
        ("Foo<Bar>[]", "array<Foo<Bar>>"),
        ("Foo[]?", "array<Foo>"),
        ("readonly Foo[]", "array<Foo>"),
        ("(Foo | Bar)[]", "array<Foo>"),
        ("[]*pkg.Foo", "array<pkg.Foo>"),
        ("[3]Foo", "array<Foo>"),
        ("[][]Foo", "array<array<Foo>>"),
        ("map[string]Foo", "array<Foo>"),
        ("map[string][]Foo", "array<array<Foo>>"),
        ("*Foo", "Foo"),
        ("...Foo", "Foo"),
        ("<-chan Foo", "Foo"),
        ("&mut Vec<Foo>", "Vec<Foo>"),
        ("&'a Foo", "Foo"),
        ("&dyn Foo", "Foo"),
        ("[Foo; 3]", "array<Foo>"),
        ("std::vector<Foo*>", "std.vector<Foo>"),
        ("(Foo)", "Foo"),
        ("(A, B)", "(A, B)"),
        ("typeof x", "typeof<x>"),
        ("{ a: Foo }", ""),
        ("() => Foo", ""),
        ("void", ""),
        ("", ""),
    ],
)
def test_types_of_all_languages_parse(text: str, expected: str) -> None:
    assert _format_alternatives(text) == expected


def test_tuple_splits_into_parts() -> None:
    assert split_tuple("(A, Map<B, C>, (D, E))") == ["A", "Map<B, C>", "(D, E)"]


_SIGNS = st.sampled_from([*"[]<>(),|&*?:; '\"", "::", "Foo", "map[", "typeof ", "None", "mut ", "=>", "\\"])


@given(st.lists(_SIGNS, max_size=60).map("".join) | st.text(max_size=60))
def test_any_text_parses_within_its_nesting_depth(text: str) -> None:
    def compute_depth(expression: TypeExpression) -> int:
        return 1 + max(map(compute_depth, expression.arguments), default=0)

    assert all(compute_depth(expression) <= 7 for expression in parse_type(text))
    split_tuple(text)


@pytest.mark.parametrize("sign", ["[", "<", "(", "a<", "[]", "&", "map[", "(a,"])
def test_deeply_nested_type_terminates(sign: str) -> None:
    parse_type(sign * 5000)
