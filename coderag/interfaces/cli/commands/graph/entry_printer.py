"""Printing of graph entries: tree or columns in a terminal, indented text in a pipe."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from coderag.interfaces.cli.commands.graph.entries import GraphEntry
from coderag.interfaces.cli.output.streams import Output, escape_line

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

_MAX_COLUMN_CHARS = 60
"""Maximum width of an aligned column."""


def print_entries(title: str, entries: Sequence[GraphEntry], root: Path, output: Output) -> None:
    """Print entries, one a line, with their title in a terminal only."""
    if not entries:
        return
    if not output.is_terminal:
        output.write("\n".join(_format_lines(entries, depth=0)))
        return
    from rich.text import Text

    console = output.make_console()
    heading = Text(escape_line(title), "bold")
    for view in (
        [_build_tree(heading, entries, root)] if _is_nested(entries) else [heading, *_align_columns(entries, root)]
    ):
        console.print(view, soft_wrap=True)  # unbroken, for copying


def _is_nested(entries: Sequence[GraphEntry]) -> bool:
    return any(entry.children for entry in entries)


def _format_place(entry: GraphEntry) -> str:
    return escape_line(f"{entry.path}:{entry.line}") if entry.path else ""


def _format_lines(entries: Sequence[GraphEntry], depth: int) -> Iterator[str]:
    """Yield ``path:line  kind name  detail``, nested entries indented."""
    for entry in entries:
        title = f"{entry.kind} {escape_line(entry.name)}".strip()
        yield "    " * depth + "  ".join(
            part for part in (_format_place(entry), title, escape_line(entry.detail)) if part
        )
        yield from _format_lines(entry.children, depth + 1)


def _align_columns(entries: Sequence[GraphEntry], root: Path) -> "Iterator[Text]":
    """Yield entries in aligned columns; overlong parts do not widen them."""
    from rich.text import Text

    rows = [(_link_place(entry, root), _format_title(entry), _format_detail(entry)) for entry in entries]
    widths = [min(max(row[column].cell_len for row in rows), _MAX_COLUMN_CHARS) for column in (0, 1)]
    for *leading, detail in rows:
        for part, width in zip(leading, widths, strict=True):
            part.pad_right(max(width - part.cell_len, 0))
        yield Text("  ").join([Text(), *leading, detail])


def _build_tree(title: "Text", entries: Sequence[GraphEntry], root: Path) -> "Tree":
    from rich.text import Text
    from rich.tree import Tree

    tree = Tree(title, guide_style="dim")
    for entry in entries:
        parts = [part for part in (_format_title(entry), _link_place(entry, root), _format_detail(entry)) if part]
        tree.add(_build_tree(Text("  ").join(parts), entry.children, root))
    return tree


def _link_place(entry: GraphEntry, root: Path) -> "Text":
    from rich.style import Style
    from rich.text import Text

    link = (root.absolute() / entry.path).as_uri()
    return Text(_format_place(entry), Style(color="cyan", link=link) if entry.path else "")


def _format_title(entry: GraphEntry) -> "Text":
    from rich.text import Text

    title = Text.assemble((entry.kind, "dim"), (" " if entry.kind else ""), (escape_line(entry.name), "bold"))
    title.rstrip()
    return title


def _format_detail(entry: GraphEntry) -> "Text":
    from rich.text import Text

    return Text(escape_line(entry.detail), "yellow" if entry.is_candidate else "dim")
