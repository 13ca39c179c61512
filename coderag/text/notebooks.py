"""A Jupyter notebook as text that people read: its cells, without the JSON around them.

Whoever reads a file of the repository takes its text from `to_readable_text`, so that all see the same lines. A line of the
text is the line of the file with the same number: a line of a cell's source is decoded, the line above it says that a cell
begins (``# %%``, ``# %% [markdown]``, ``# %% [julia]``), and every other one, of outputs and metadata, is empty.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

NOTEBOOK_SUFFIX: Final = ".ipynb"
CELL_MARKER: Final = "# %%"
"""Begins a line that begins a cell. What is in the cell follows in brackets: ``markdown``, ``raw`` or the language of the
code; nothing follows if that is Python."""

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[][{}]')
_CELL_PATHS = (["cells"], ["worksheets", "", "cells"])  # notebooks of format 4, and of format 3
_SOURCE_KEYS = frozenset({"source", "input"})  # of format 4, and of code in format 3
_LANGUAGE = re.compile(r"[\w+#-]+")


@dataclass(slots=True)
class _CellSource:
    """Where in the JSON the key of a cell's source is, and the strings of that with their offsets."""

    key: int = -1
    sources: list[tuple[int, str]] = field(default_factory=list)


def to_readable_text(path: str, text: str) -> str:
    """Return what to read of a file: its text, or the cells of a notebook."""
    return render_notebook(text) if path.lower().endswith(NOTEBOOK_SUFFIX) else text


def render_notebook(text: str) -> str:
    """Return the cells of a notebook, line by line as in its JSON; the text itself if it is no notebook.

    A notebook that has more than one line of source on a line of JSON is rendered without regard to its lines.
    """
    try:
        notebook = json.loads(text)
        markers = _make_markers(notebook)
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return text
    cells = list(_find_cells(text))
    if len(cells) != len(markers):
        return text
    rendered = _render_by_line(text, cells, markers) or _render_in_sequence(cells, markers)
    return rendered.encode("utf-8", "replace").decode()  # JSON may name half a character


def _make_markers(notebook: Any) -> list[str]:  # noqa: ANN401  # whatever the JSON has
    """Return the line that each cell begins with."""
    cells = notebook["cells"] if "cells" in notebook else [cell for s in notebook["worksheets"] for cell in s["cells"]]
    metadata = notebook.get("metadata") or {}
    language_name = (
        (metadata.get("language_info") or {}).get("name") or (metadata.get("kernelspec") or {}).get("language") or ""
    )
    language = (
        language_name.lower() if _LANGUAGE.fullmatch(language_name) and "python" not in language_name.lower() else ""
    )
    kinds = [language if cell["cell_type"] == "code" else str(cell["cell_type"]) for cell in cells]
    return [f"{CELL_MARKER} [{kind}]" if kind else CELL_MARKER for kind in kinds]


def _find_cells(text: str) -> Iterator[_CellSource]:
    """Yield the cells of a notebook that is known to be JSON."""
    keys: list[str] = []  # in each open object the last key, in each open array ""
    cell: _CellSource | None = None
    depth = 0
    for token in _TOKEN.finditer(text):
        mark, start = token[0], token.start()
        if mark in "{[":
            if mark == "{" and keys[-1:] == [""] and keys[:-1] in _CELL_PATHS:
                cell, depth = _CellSource(), len(keys) + 1
            keys.append("")
        elif mark in "}]":
            keys.pop()
            if cell is not None and len(keys) < depth:
                yield cell
                cell = None
        else:
            is_key = text.startswith(":", _skip_space(text, token.end()))
            if is_key:
                keys[-1] = json.loads(mark)
            if cell is None or keys[depth - 1] not in _SOURCE_KEYS or len(keys) > depth + 1:
                continue
            if not is_key:
                cell.sources.append((start, json.loads(mark)))
            elif len(keys) == depth:
                cell.key = start


def _skip_space(text: str, offset: int) -> int:
    while text[offset : offset + 1].isspace():
        offset += 1
    return offset


def _render_by_line(text: str, cells: Sequence[_CellSource], markers: Sequence[str]) -> str:
    """Return the cells, each line where its JSON is; nothing if two would be on one line."""
    lines = [""] * (text.count("\n") + 1)
    line = offset = 0
    for cell, marker in zip(cells, markers, strict=True):
        for start, source in ((cell.key, marker), *cell.sources):
            if start < 0:  # no source at all
                continue
            line, offset = line + text.count("\n", offset, start), start
            content = source.removesuffix("\n").removesuffix("\r")
            if content and (lines[line] or "\n" in content):
                return ""
            lines[line] = lines[line] or content
    return "\n".join(lines)


def _render_in_sequence(cells: Sequence[_CellSource], markers: Sequence[str]) -> str:
    return "".join(
        f"{marker}\n{''.join(source for _, source in cell.sources).rstrip()}\n\n"
        for cell, marker in zip(cells, markers, strict=True)
    )
