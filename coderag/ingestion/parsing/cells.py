"""Notebook cells: their code with IPython magics masked, and their headings."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from coderag.ingestion.parsing.languages import LANGUAGES, Language, find_language
from coderag.ingestion.parsing.regions import Region, to_spaces
from coderag.ingestion.parsing.sections import Heading, find_markdown_headings
from coderag.text.notebooks import CELL_MARKER

_CELL_MARKER = re.compile(rf"^{CELL_MARKER}(?: \[([\w+#-]+)\])?\r?$".encode(), re.MULTILINE)
_CELL_MAGIC = re.compile(rb"\s*%%(\w+)")
_FOREIGN_MAGICS: Final = frozenset(
    b"bash sh script html javascript js r sql bigquery cypher latex markdown svg ruby perl cython system sx cmd "
    b"powershell writefile file".lower().split()
)
"""IPython cell magics whose cells are in another language."""
_MAGIC = re.compile(
    rb"^([ \t]*(?:[\w.,\t ]+=[ \t]*)?)((?:!(?!=)|%{1,2}[A-Za-z])(?:[^\n]*\\\r?\n)*[^\n]*)"
    rb"|^([ \t]*)((?:\?{1,2}[\w.]+|[\w.]+\?{1,2})[ \t]*\r?)$",
    re.MULTILINE,
)


def find_cells(data: bytes, starts: Sequence[int], notebook: Language) -> list[Region]:
    """Return the non-empty cells of a notebook, in order."""
    markers = list(_CELL_MARKER.finditer(data))
    ends = [marker.start() for marker in markers[1:]] + [len(data)]
    cells = (_parse_cell(data, starts, marker, end, notebook) for marker, end in zip(markers, ends, strict=False))
    return [cell for cell in cells if cell.code]


def _parse_cell(data: bytes, starts: Sequence[int], marker: re.Match[bytes], end: int, notebook: Language) -> Region:
    first = bisect_right(starts, marker.start()) - 1
    content_end = marker.start() + len(data[marker.start() : end].rstrip())
    last = bisect_right(starts, content_end - 1)
    kind = marker[1].decode() if marker[1] else notebook.cells
    language = find_language(kind)
    begin = starts[min(first + 1, last)]
    code = data[begin : max(begin, content_end)]
    if kind == notebook.cells:
        code = _mask_magics(code)
    return Region(first, last, min(first + 1, last), last, language, begin, code)


def _mask_magics(code: bytes) -> bytes:
    """Replace IPython commands in a cell by ``0`` and spaces; the length stays the same."""
    magic = _CELL_MAGIC.match(code)
    if magic is not None and magic[1].lower() in _FOREIGN_MAGICS:
        return to_spaces(code)
    return _MAGIC.sub(_replace_magic, code)


def _replace_magic(magic: re.Match[bytes]) -> bytes:
    prefix, command = (magic[1], magic[2]) if magic[2] is not None else (magic[3], magic[4])
    return prefix + b"0" + to_spaces(command[1:])


def find_cell_headings(data: bytes, starts: Sequence[int], cells: Sequence[Region]) -> Iterator[Heading]:
    """Yield the headings in Markdown cells. A heading at the top of its cell begins at the cell's marker."""
    for cell in cells:
        if cell.language is LANGUAGES["markdown"]:
            lines = data[cell.offset : starts[cell.end]].split(b"\n")
            for heading in find_markdown_headings(lines):
                is_first = not any(line.strip() for line in lines[: heading.line])
                line = cell.outer_start if is_first else cell.start + heading.line
                yield Heading(line, heading.level, heading.title)
