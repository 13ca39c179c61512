"""Evaluation tables as aligned text."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evals.tables import Table

_MAX_CELL_CHARS = 60


def format_text(parts: "Sequence[str | Table]") -> str:
    """Format lines and tables, each table after an empty line."""
    return "\n".join(part if isinstance(part, str) else f"\n{_format_table(part)}" for part in parts) + "\n"


def format_question_count(number: int) -> str:
    """Format a number of questions."""
    return f"{number:,} question{'' if number == 1 else 's'}"


def _format_table(table: "Table") -> str:
    rows = [[_shorten(cell) for cell in row] for row in table.rows]
    header = [_shorten(cell) for cell in table.header]
    columns = [
        _align_column(name, [row[index] for row in rows], is_name=index == 0) for index, name in enumerate(header)
    ]
    lines = ("  ".join(cells).rstrip() for cells in zip(*columns, strict=True))
    return "\n".join([table.title, *(f"  {line}" for line in lines)])


def _align_column(name: str, cells: list[str], *, is_name: bool) -> list[str]:
    """Pad the cells of a column: text left-aligned, numbers right-aligned."""
    width = max(map(len, (name, *cells)))
    is_number = not is_name and all(cell[:1] in "+-.0123456789" for cell in cells)  # an empty cell counts as a number
    return [cell.rjust(width) if is_number else cell.ljust(width) for cell in (name, *cells)]


def _shorten(cell: str) -> str:
    line = " ".join(cell.split())
    return line if len(line) <= _MAX_CELL_CHARS else f"{line[: _MAX_CELL_CHARS - 1]}…"
