"""Labels of Mermaid diagrams, whatever the names of a repository are."""

import pytest

from coderag.text.mermaid import escape_label, to_printable


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Cart.add (src/cart.py:3-4)", "Cart.add (src/cart.py:3-4)"),
        ("snake_case", "snake_case"),
        ("__init__", "#95;#95;init#95;#95;"),
        ('a"b`c', "a#34;b#96;c"),
        ("x<br/>y", "x#60;br/#62;y"),
        ("a#35;b", "a#35;35#59;b"),
        ("$$", "#36;#8203;#36;#8203;"),
        ("\\n", "#92;#8203;n"),
        ("\n", "#92;#8203;n"),  # a real line break is spelt out
    ],
)
def test_special_characters_become_entities(text, expected):
    assert escape_label(text, 100) == expected


def test_long_text_is_truncated_before_escaping():
    assert escape_label("$" * 50, 10) == "#36;#8203;" * 7 + "..."
    assert to_printable("x" * 10, 10) == "x" * 10
