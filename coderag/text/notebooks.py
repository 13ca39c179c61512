"""Jupyter notebooks as readable text: their cells, without the surrounding JSON.

Line numbers of the text are those of the file. A source line of a cell is decoded, and the line above a cell is a marker
(``# %%``, ``# %% [markdown]``, ``# %% [julia]``). Lines of outputs and metadata are empty.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

NOTEBOOK_SUFFIX: Final = ".ipynb"
CELL_MARKER: Final = "# %%"
"""Prefix of a cell's marker line. The type of the cell follows in brackets: ``markdown``, ``raw`` or
the language of the code, except Python."""

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[][{}]')
_CELL_PATHS = (["cells"], ["worksheets", "", "cells"])  # notebooks of format 4, and of format 3
_SOURCE_KEYS = frozenset({"source", "input"})  # of format 4, and of code in format 3
_LANGUAGE = re.compile(r"[\w+#-]+")


@dataclass(slots=True)
class _CellSource:
    """Offset of the source key of a cell, and its source strings with their offsets."""

    key: int = -1
    sources: list[tuple[int, str]] = field(default_factory=list)


def render_notebook(text: str) -> str:
    """Render the cells of a notebook line by line as in its JSON; return other texts unchanged.

    A notebook with several source lines on a line of JSON is rendered without its line numbers.
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
    return rendered.encode("utf-8", "replace").decode()  # JSON may contain lone surrogates


def _make_markers(notebook: Any) -> list[str]:  # noqa: ANN401  # arbitrary JSON
    """Return the marker line of each cell."""
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
    """Yield the cells of a notebook. The text must be valid JSON."""
    keys: list[str] = []  # last key of each open object, "" for each open array
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
    """Render each line of the cells at the line of its JSON; return an empty text if two lines collide."""
    lines = [""] * (text.count("\n") + 1)
    line = offset = 0
    for cell, marker in zip(cells, markers, strict=True):
        for start, source in ((cell.key, marker), *cell.sources):
            if start < 0:  # no source
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
