"""Declarations of C# 14."""

from coderag.ingestion.parsing.declarations import read_syntax
from coderag.ingestion.parsing.languages import LANGUAGES


def read(text: str) -> list[tuple[str, str]]:
    syntax = read_syntax(text.encode(), LANGUAGES["c_sharp"], timeout_s=5)
    assert syntax.note == ""
    return [(item.qualified_name, item.kind) for item in syntax.declarations]


def test_members_of_extension_blocks_belong_to_the_class_around():
    text = """public static class Words
{
    extension(string text)
    {
        public int Count() => text.Length;
        public bool IsBlank => text.Trim() == "";
        public static string Blank(int n) => new string(' ', n);
    }

    extension<T>(IEnumerable<T> items) where T : class
    {
        public T Second() => items.Skip(1).First();
    }

    public static int Old(this string text) => text.Length;
}
"""
    assert read(text) == [
        ("Words", "class"), ("Words.Count", "method"), ("Words.IsBlank", "field"), ("Words.Blank", "method"),
        ("Words.Second", "method"), ("Words.Old", "method"),
    ]  # fmt: skip


def test_the_word_extension_elsewhere_stays_a_name():
    text = "class A { void extension(int n) { } void Run() { extension(1); var extension = 2; } }\n"
    assert read(text) == [("A", "class"), ("A.extension", "method"), ("A.Run", "method")]


def test_conditional_assignment_and_compound_operators():
    text = """class Cart
{
    void Run(Cart other) { other?.Total = 3; other?.Next?.Total += 1; if (other?.Total == 3) { } }
    public void operator +=(int n) { Total += n; }
    void After() { }
}
"""
    assert read(text) == [("Cart", "class"), ("Cart.Run", "method"), ("Cart.+", "method"), ("Cart.After", "method")]
