"""Text for the labels of Mermaid diagrams. Names and paths come from repositories and may hold anything."""

import re
from typing import Final

_SPECIAL_CHARACTERS: Final = re.compile(r"[^\w ./,:()-]|(?<![^\W_])_|_(?![^\W_])")
"""What may mean something in a label; underscores do at the ends of words, as in Markdown."""

_PAIRED_CHARACTERS: Final = frozenset("\\$")
_ZERO_WIDTH_SPACE: Final = "#8203;"
"""Mermaid 11 reads ``\\n`` as the end of a line and ``$$`` as mathematics even as entities: a space of no width parts them."""


def escape_label(text: str, max_chars: int) -> str:
    """Return a text as a line of a label: every sign that may mean something to Mermaid is an entity."""
    return _SPECIAL_CHARACTERS.sub(_encode_entity, to_printable(text, max_chars))


def to_printable(text: str, max_chars: int) -> str:
    """Return a text cut to so many characters, with what cannot be printed spelt out."""
    truncated = text if len(text) <= max_chars else text[: max_chars - 3] + "..."
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in truncated)


def _encode_entity(match: re.Match[str]) -> str:
    return f"#{ord(match[0])};{_ZERO_WIDTH_SPACE if match[0] in _PAIRED_CHARACTERS else ''}"
