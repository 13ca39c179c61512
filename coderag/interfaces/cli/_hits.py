"""Search results for people: coloured in a terminal, plain and stable in a pipe."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

from coderag.interfaces._excerpt import excerpt
from coderag.interfaces.cli._streams import Output, visible, visible_line
from coderag.schema.search import SearchHit

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_LONGEST_LINE = 240
"""Characters of a line of code shown in a pipe; minified code has lines of a megabyte."""

_MOST_PLACES = 5
"""Further places of the same code that are named."""

_THEME = "ansi_dark"
"""Colours of the terminal's own palette, so that they suit its background."""


def print_hits(hits: Sequence[SearchHit], root: Path, lines: int, output: Output) -> None:
    """Print each result with `lines` lines of its code."""
    if not output.for_people:
        if hits:
            output.write("\n".join(_plain_hit(hit, lines) for hit in hits))
        return
    console = output.console()
    for place, hit in enumerate(hits):
        if place:
            console.print()
        _print_hit(console, hit, root, lines)


def _title(hit: SearchHit) -> str:
    return f"{hit.kind} {visible(hit.qualified_name or hit.name)}".rstrip().replace("\n", " ")


def _summary(hit: SearchHit, lines: int) -> str:
    """Return one line on what it is: its summary, or its signature where no code shows it."""
    return " ".join(visible(hit.summary or ("" if lines else hit.signature)).split())


def _also_at(hit: SearchHit) -> str:
    """Return one line on where else the same code is."""
    places, more = hit.duplicates[:_MOST_PLACES], len(hit.duplicates) - _MOST_PLACES
    listed = ", ".join(map(visible_line, places)) + (f" and {more:,} more" if more > 0 else "")
    return f"also at {listed}" if places else ""


def _code(hit: SearchHit, lines: int) -> tuple[int, list[str]]:
    """Return the number of a line and `lines` lines from there on, see `excerpt`."""
    above, code = excerpt(visible(hit.text), hit.name, lines)
    return hit.start_line + above, code


def _plain_hit(hit: SearchHit, lines: int) -> str:
    """Return ``path:start-end  kind name  score`` and, indented, the summary and the numbered lines."""
    block = [f"{visible_line(hit.location)}  {_title(hit)}  {hit.score:.3f}"]
    if summary := _summary(hit, lines):
        block.append(f"    {summary}")
    if also_at := _also_at(hit):
        block.append(f"    {also_at}")
    first, code = _code(hit, lines)
    width = len(str(first + len(code)))
    for number, line in enumerate(code, first):
        cut = line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + " ..."
        block.append(f"    {number:>{width}}  {cut}".rstrip())
    return "\n".join(block)


def _print_hit(console: "Console", hit: SearchHit, root: Path, lines: int) -> None:
    from rich.style import Style
    from rich.text import Text

    link = (root.absolute() / hit.path).as_uri()
    head = Text(visible_line(hit.location), Style(color="cyan", bold=True, link=link))
    head.append(f"  {hit.score:.3f}", "dim")
    console.print(head, soft_wrap=True)  # whole, so that it can be copied
    kind, _, name = _title(hit).partition(" ")
    title = Text.assemble("  ", (kind, "dim"), " ", (name, "bold"))
    if summary := _summary(hit, lines):
        title.append(f"  {summary}", "italic")
    console.print(title, no_wrap=True, overflow="ellipsis")
    if also_at := _also_at(hit):
        console.print(Text(f"  {also_at}", "dim"), soft_wrap=True)
    first, code = _code(hit, lines)
    if code:
        console.print(_highlighted(hit.path.name, first, code))


def _highlighted(file_name: str, first: int, code: list[str]) -> "RenderableType":
    from rich.padding import Padding
    from rich.syntax import Syntax

    text = dedent("\n".join(code))
    lexer = Syntax.guess_lexer(file_name, text)
    view = Syntax(
        text, lexer, theme=_THEME, line_numbers=True, start_line=first, background_color="default", tab_size=4
    )
    return Padding(view, (0, 0, 0, 1))
