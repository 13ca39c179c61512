"""Print lines of an answer: as a tree or in columns in a terminal, indented in a pipe."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from coderag.interfaces.cli._graph_entries import Entry
from coderag.interfaces.cli._streams import Output, visible_line

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

_WIDEST_COLUMN = 60
"""Characters up to which a column is as wide as its longest part."""


def print_entries(title: str, entries: Sequence[Entry], root: Path, output: Output) -> None:
    """Print the entries, one a line: below their title in a terminal, by themselves in a pipe."""
    if not entries:
        return
    if not output.for_people:
        output.write("\n".join(_plain_lines(entries, depth=0)))
        return
    from rich.text import Text

    console = output.console()
    heading = Text(visible_line(title), "bold")
    for view in [_tree(heading, entries, root)] if _is_nested(entries) else [heading, *_columns(entries, root)]:
        console.print(view, soft_wrap=True)  # lines stay whole, so that they can be copied


def _is_nested(entries: Sequence[Entry]) -> bool:
    return any(entry.below for entry in entries)


def _place(entry: Entry) -> str:
    return visible_line(f"{entry.path}:{entry.line}") if entry.path else ""


def _plain_lines(entries: Sequence[Entry], depth: int) -> Iterator[str]:
    """Yield ``path:line  kind name  how``, what is below an entry indented."""
    for entry in entries:
        title = f"{entry.kind} {visible_line(entry.name)}".strip()
        yield "    " * depth + "  ".join(part for part in (_place(entry), title, visible_line(entry.how)) if part)
        yield from _plain_lines(entry.below, depth + 1)


def _columns(entries: Sequence[Entry], root: Path) -> "Iterator[Text]":
    """Yield each entry, its parts below those of the others; one that is very long does not move them."""
    from rich.text import Text

    rows = [(_linked(entry, root), _title(entry), _how(entry)) for entry in entries]
    widths = [min(max(row[column].cell_len for row in rows), _WIDEST_COLUMN) for column in (0, 1)]
    for *leading, how in rows:
        for part, width in zip(leading, widths, strict=True):
            part.pad_right(max(width - part.cell_len, 0))
        yield Text("  ").join([Text(), *leading, how])


def _tree(title: "Text", entries: Sequence[Entry], root: Path) -> "Tree":
    from rich.text import Text
    from rich.tree import Tree

    tree = Tree(title, guide_style="dim")
    for entry in entries:
        parts = [part for part in (_title(entry), _linked(entry, root), _how(entry)) if part]
        tree.add(_tree(Text("  ").join(parts), entry.below, root))
    return tree


def _linked(entry: Entry, root: Path) -> "Text":
    from rich.style import Style
    from rich.text import Text

    link = (root.absolute() / entry.path).as_uri()
    return Text(_place(entry), Style(color="cyan", link=link) if entry.path else "")


def _title(entry: Entry) -> "Text":
    from rich.text import Text

    title = Text.assemble((entry.kind, "dim"), (" " if entry.kind else ""), (visible_line(entry.name), "bold"))
    title.rstrip()
    return title


def _how(entry: Entry) -> "Text":
    from rich.text import Text

    return Text(visible_line(entry.how), "yellow" if entry.unsure else "dim")
