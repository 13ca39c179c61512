"""Pieces of code as the budget and the answers get them."""

from dataclasses import replace
from typing import Any

from coderag.stores.snippets import Snippet

BODY = "\n".join(
    [
        "def load_settings(path):",
        '    """Read the settings of a repository from its file."""',
        *(f"    value_{number} = transform(path, {number}, mode='strict', fallback=None)" for number in range(30)),
        "    return Settings(value_0, value_29)",
    ]
)

EXAMPLE = Snippet(
    chunk_id="c0",
    path="src/settings.py",
    start_line=1,
    end_line=33,
    name="load_settings",
    kind="function",
    language="python",
    signature="def load_settings(path):",
    docstring="Read the settings of a repository from its file.",
    summary="Read the settings of a repository from its file.",
    text=BODY,
)


def piece(number: int = 0, **changes: Any) -> Snippet:
    """Return a piece of 33 lines, about 700 tokens, that differs from others by its number and by `changes`."""
    return replace(EXAMPLE, chunk_id=f"c{number}", path=f"src/settings_{number}.py", **changes)


def short_piece(number: int = 0, **changes: Any) -> Snippet:
    """Return a piece of two lines."""
    values = {
        "text": f"def short_{number}():\n    return {number}",
        "end_line": 2,
        "name": f"short_{number}",
        **changes,
    }
    return piece(number, **values)
