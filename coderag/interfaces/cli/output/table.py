"""Tables: aligned text in a pipe, a table in a terminal."""

from collections.abc import Mapping, Sequence

from coderag.interfaces.cli.output.streams import Output, escape_line

_NO_STYLES: Mapping[str, str] = {}


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], output: Output, styles: Mapping[str, str] = _NO_STYLES
) -> None:
    """Print rows below the names of their columns, which a pipe does not get.

    Args:
        columns: Names of the columns.
        rows: Their cells.
        output: Streams of the command.
        styles: Rich style by the text of a cell.
    """
    cells = [[escape_line(cell) for cell in row] for row in rows]
    if not output.is_terminal:
        widths = [max((len(row[index]) for row in cells), default=0) for index in range(len(columns))]
        lines = (
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
        )
        if cells:
            output.write("\n".join(lines))
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, box=None, header_style="dim", pad_edge=False)
    for row in cells:
        table.add_row(*(Text(cell, style=styles.get(cell, ""), overflow="fold") for cell in row))
    output.make_console().print(table)
