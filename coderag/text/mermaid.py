"""Text for the labels of Mermaid diagrams. Names and paths come from repositories and may hold anything."""

import re
from typing import Final

_MEANINGFUL: Final = re.compile(r"[^\w ./,:()-]|(?<![^\W_])_|_(?![^\W_])")
"""What may mean something in a label; underscores do at the ends of words, as in Markdown."""

_PAIRED: Final = frozenset("\\$")
_NO_SPACE: Final = "#8203;"
"""Mermaid 11 reads ``\\n`` as the end of a line and ``$$`` as mathematics even as entities: a space of no width parts them."""


def label(text: str, longest: int) -> str:
    """Return a text as a line of a label: every sign that may mean something to Mermaid is an entity."""
    return _MEANINGFUL.sub(_entity, printable(text, longest))


def printable(text: str, longest: int) -> str:
    """Return a text cut to so many characters, with what cannot be printed spelt out."""
    cut = text if len(text) <= longest else text[: longest - 3] + "..."
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in cut)


def _entity(found: re.Match[str]) -> str:
    return f"#{ord(found[0])};{_NO_SPACE if found[0] in _PAIRED else ''}"
