"""Reports as labelled rows: aligned text in a pipe, a table in a terminal."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from coderag.interfaces.cli.output.streams import Output, escape_controls

MAX_LISTED = 10
"""Maximum number of listed items; JSON has them all."""


@dataclass(frozen=True, slots=True)
class ReportRow:
    """A row of a report; without a label it continues the row above."""

    label: str
    value: str
    style: str = ""


def print_report(title: str, rows: Sequence[ReportRow], output: Output) -> None:
    """Print a title and its rows."""
    if not output.is_terminal:
        width = max(len(row.label) for row in rows)
        lines = [title, *(f"  {row.label:<{width}}  {row.value}" for row in rows)]
        output.write(escape_controls("\n".join(lines)))
        return
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(Text(f"  {row.label}"), Text(escape_controls(row.value), style=row.style))
    console = output.make_console()
    console.print(Text(escape_controls(title), style="bold"), soft_wrap=True)
    console.print(table)


def format_counts(numbers: Mapping[str, int]) -> str:
    """Format counts as ``12 indexed, 3 skipped``, without zeros."""
    return ", ".join(f"{number:,} {name}" for name, number in numbers.items() if number) or "none"


def make_list_rows(label: str, values: Iterable[str], style: str = "") -> list[ReportRow]:
    """Return a row for each value up to `MAX_LISTED`, and one with the number of omitted values."""
    values = list(values)
    rows = [ReportRow(label if index == 0 else "", value, style) for index, value in enumerate(values[:MAX_LISTED])]
    overflow = (
        [ReportRow("", f"... and {len(values) - MAX_LISTED:,} more (--json lists all)", "dim")]
        if len(values) > MAX_LISTED
        else []
    )
    return rows + overflow


def make_reason_rows(label: str, skipped: Mapping[str, int]) -> list[ReportRow]:
    """Return the numbers of skipped files by reason, most frequent first."""
    ordered = sorted(skipped.items(), key=lambda item: (-item[1], item[0]))
    return make_list_rows(label, (f"{number:,} {reason}" for reason, number in ordered))
