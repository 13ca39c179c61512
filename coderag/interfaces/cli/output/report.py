"""Reports as rows of a label and a value: aligned text in a pipe, a table in a terminal."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from coderag.interfaces.cli.output.streams import Output, escape_controls

MAX_LISTED = 10
"""Paths and reasons shown of one sort; JSON has them all."""


@dataclass(frozen=True, slots=True)
class ReportRow:
    """A line of a report. Without a label it continues the one above."""

    label: str
    value: str
    style: str = ""


def print_report(title: str, rows: Sequence[ReportRow], output: Output) -> None:
    """Print the rows below their title."""
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
    """Return ``12 indexed, 3 skipped``, without what is zero."""
    return ", ".join(f"{number:,} {name}" for name, number in numbers.items() if number) or "none"


def make_list_rows(label: str, values: Iterable[str], style: str = "") -> list[ReportRow]:
    """Return a row for each value up to `LISTED`, and one for how many more there are."""
    values = list(values)
    rows = [ReportRow(label if index == 0 else "", value, style) for index, value in enumerate(values[:MAX_LISTED])]
    overflow = (
        [ReportRow("", f"... and {len(values) - MAX_LISTED:,} more (--json lists all)", "dim")]
        if len(values) > MAX_LISTED
        else []
    )
    return rows + overflow


def make_reason_rows(label: str, skipped: Mapping[str, int]) -> list[ReportRow]:
    """Return how many files were left out for which reason, the most frequent first."""
    ordered = sorted(skipped.items(), key=lambda item: (-item[1], item[0]))
    return make_list_rows(label, (f"{number:,} {reason}" for reason, number in ordered))
