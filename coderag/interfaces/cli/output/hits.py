"""Printing of search results: coloured in a terminal, plain and stable in a pipe."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

from coderag.interfaces.cli.output.streams import Output, escape_controls, escape_line
from coderag.interfaces.excerpt import cut_excerpt
from coderag.schema.search import SearchHit

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_MAX_LINE_CHARS = 240
"""Maximum characters of a code line in a pipe; minified code has lines of a megabyte."""

_MAX_DUPLICATES = 5
"""Maximum number of listed duplicates."""

_THEME = "ansi_dark"
"""Colours of the terminal's palette, which suit its background."""


def print_hits(hits: Sequence[SearchHit], root: Path, lines: int, output: Output, query: str = "") -> None:
    """Print results with `lines` lines of code each, those that match `query` best."""
    if not output.is_terminal:
        if hits:
            output.write("\n".join(_format_hit(hit, lines, query) for hit in hits))
        return
    console = output.make_console()
    for index, hit in enumerate(hits):
        if index:
            console.print()
        _print_hit(console, hit, root, lines, query)


def _format_title(hit: SearchHit) -> str:
    return f"{hit.kind} {escape_controls(hit.qualified_name or hit.name)}".rstrip().replace("\n", " ")


def _format_summary(hit: SearchHit, lines: int) -> str:
    """Return the summary, or the signature if no code is shown, as one line."""
    return " ".join(escape_controls(hit.summary or ("" if lines else hit.signature)).split())


def _format_duplicates(hit: SearchHit) -> str:
    """Format the locations of duplicates as one line."""
    duplicates, hidden = hit.duplicates[:_MAX_DUPLICATES], len(hit.duplicates) - _MAX_DUPLICATES
    listed = ", ".join(map(escape_line, duplicates)) + (f" and {hidden:,} more" if hidden > 0 else "")
    return f"also at {listed}" if duplicates else ""


def _cut_code(hit: SearchHit, lines: int, query: str) -> tuple[int, list[str]]:
    """Return the first line number and `lines` lines, see `cut_excerpt`."""
    skipped, code = cut_excerpt(escape_controls(hit.text), hit.name, lines, query)
    return hit.start_line + skipped, code


def _format_hit(hit: SearchHit, lines: int, query: str) -> str:
    """Format ``path:start-end  kind name  score`` with the indented summary and numbered lines."""
    block = [f"{escape_line(hit.location)}  {_format_title(hit)}  {hit.score:.3f}"]
    if summary := _format_summary(hit, lines):
        block.append(f"    {summary}")
    if duplicates := _format_duplicates(hit):
        block.append(f"    {duplicates}")
    first, code = _cut_code(hit, lines, query)
    width = len(str(first + len(code)))
    for number, line in enumerate(code, first):
        shortened = line if len(line) <= _MAX_LINE_CHARS else line[:_MAX_LINE_CHARS] + " ..."
        block.append(f"    {number:>{width}}  {shortened}".rstrip())
    return "\n".join(block)


def _print_hit(console: "Console", hit: SearchHit, root: Path, lines: int, query: str) -> None:
    from rich.style import Style
    from rich.text import Text

    link = (root.absolute() / hit.path).as_uri()
    head = Text(escape_line(hit.location), Style(color="cyan", bold=True, link=link))
    head.append(f"  {hit.score:.3f}", "dim")
    console.print(head, soft_wrap=True)  # unbroken, for copying
    kind, _, name = _format_title(hit).partition(" ")
    title = Text.assemble("  ", (kind, "dim"), " ", (name, "bold"))
    if summary := _format_summary(hit, lines):
        title.append(f"  {summary}", "italic")
    console.print(title, no_wrap=True, overflow="ellipsis")
    if duplicates := _format_duplicates(hit):
        console.print(Text(f"  {duplicates}", "dim"), soft_wrap=True)
    first, code = _cut_code(hit, lines, query)
    if code:
        console.print(_highlight(hit.path.name, first, code))


def _highlight(file_name: str, first: int, code: list[str]) -> "RenderableType":
    from rich.padding import Padding
    from rich.syntax import Syntax

    text = dedent("\n".join(code))
    lexer = Syntax.guess_lexer(file_name, text)
    view = Syntax(
        text, lexer, theme=_THEME, line_numbers=True, start_line=first, background_color="default", tab_size=4
    )
    return Padding(view, (0, 0, 0, 1))
