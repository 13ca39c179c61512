"""Sections of an answer in a terminal: lists with hanging indents, code with line numbers. Imported only for drawing."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.segment import Segment
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from coderag.interfaces.cli.output.markdown import CODE_THEME, LinkedMarkdown
from coderag.interfaces.cli.output.streams import escape_controls
from coderag.schema.answers import AnswerSection, AnswerStatement

_INDENT = 2  # of each level of a list


class AnswerSections:
    """Sections of an answer, the first one above all others; places link to their files.

    Args:
        sections: Sections, whose text is as in the repository.
        root: Repository folder, for file links.
    """

    def __init__(self, sections: Sequence[AnswerSection], root: Path) -> None:
        self._sections = sections
        self._root = root

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render the sections with a blank line between them, without the blanks that fill a line of a table."""
        for line in console.render_lines(Group(*self._draw_sections()), options.update(height=None), pad=False):
            segments = list(line)
            while segments and not segments[-1].text.strip():
                segments.pop()
            if segments:
                last = segments.pop()
                yield from (*segments, Segment(last.text.rstrip(), last.style))
            yield Segment.line()

    def _draw_sections(self) -> Iterator[RenderableType]:
        for position, section in enumerate(self._sections):
            if position:
                yield ""
            if section.title:
                yield self._read(f"**{section.title}**")
            yield from self._draw_section(section)

    def _draw_section(self, section: AnswerSection) -> Iterator[RenderableType]:
        for number, statement in enumerate(section.statements, 1):
            marker = f"{number}." if section.style == "steps" else "•" if section.style == "list" else ""
            is_parted = section.style == "text" or section.statements[max(number - 2, 0)].code
            if number > 1 and is_parted:
                yield ""
            indent = _INDENT * statement.level if marker else 0
            yield Padding(self._draw_statement(statement, marker), (0, 0, 0, indent))

    def _draw_statement(self, statement: AnswerStatement, marker: str) -> RenderableType:
        content = Table.grid(expand=True)
        content.add_row(self._read(statement.text))
        if statement.code:
            content.add_row(Padding(_draw_code(statement), (1, 0, 0, 0)))
        if not marker:
            return content
        row = Table.grid(padding=(0, 1, 0, 0), expand=True)
        row.add_column(style="bold yellow", no_wrap=True)
        row.add_column(ratio=1)
        row.add_row(Text(marker), content)
        return row

    def _read(self, markdown: str) -> RenderableType:
        return LinkedMarkdown(escape_controls(markdown), self._root)


def _draw_code(statement: AnswerStatement) -> RenderableType:
    """Draw lines of code with their numbers, each run highlighted on its own, and dim lines for the gaps."""
    grid = Table.grid(padding=(0, 2, 0, 0), expand=True)
    grid.add_column(justify="right", style="dim", no_wrap=True)
    grid.add_column(ratio=1, overflow="fold")
    numbered = zip(statement.line_numbers, escape_controls(statement.code).split("\n"), strict=True)
    for is_shown, lines in groupby(numbered, key=lambda line: line[0] > 0):
        numbers, texts = zip(*lines, strict=True)
        code = Text("\n".join(texts), style="dim")
        if is_shown:
            syntax = Syntax("", statement.language or "text", theme=CODE_THEME, background_color="default")
            code = syntax.highlight("\n".join(texts))
        for number, line in zip(numbers, code.split("\n", allow_blank=True), strict=False):
            grid.add_row(str(number or ""), line)
    return grid
