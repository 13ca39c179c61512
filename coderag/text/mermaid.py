"""Labels of Mermaid diagrams. Names and paths come from repositories and may contain any character."""

import re
from typing import Final

_SPECIAL_CHARACTERS: Final = re.compile(r"[^\w ./,:()-]|(?<![^\W_])_|_(?![^\W_])")
"""Characters with a meaning in labels, such as underscores at the ends of words, as in Markdown."""

_PAIRED_CHARACTERS: Final = frozenset("\\$")
_ZERO_WIDTH_SPACE: Final = "#8203;"
"""Mermaid 11 interprets ``\\n`` and ``$$`` even if encoded as entities: a zero-width space separates their characters."""


def escape_label(text: str, max_chars: int) -> str:
    """Return a text as one line of a label, with special characters encoded as entities."""
    return _SPECIAL_CHARACTERS.sub(_encode_entity, to_printable(text, max_chars))


def to_printable(text: str, max_chars: int) -> str:
    """Return a text truncated to a length, with unprintable characters spelled out."""
    truncated = text if len(text) <= max_chars else text[: max_chars - 3] + "..."
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in truncated)


def _encode_entity(match: re.Match[str]) -> str:
    return f"#{ord(match[0])};{_ZERO_WIDTH_SPACE if match[0] in _PAIRED_CHARACTERS else ''}"
