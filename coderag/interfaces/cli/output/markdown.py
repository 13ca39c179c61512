"""Markdown in a terminal with links to cited locations. Imported only for drawing."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.markdown import Markdown
from rich.segment import Segment
from rich.spinner import Spinner
from rich.style import Style
from rich.text import Text

from coderag.interfaces.cli.output.cited_files import find_cited_file

CODE_THEME: Final = "ansi_dark"
"""Colours of code: the terminal's own."""

_PLACE = re.compile(r"[\w.@+~-]+(?:/[\w.@+~-]+)*:\d+(?:-\d+)?")
_MAX_DRAWN_CHARS = 8_000  # characters
_FREE_LINES = 2  # terminal lines below the redrawn part


class LinkedMarkdown:
    """Markdown in which ``path:10-42`` links to the file, in terminals with links.

    Links of the text are shown with their addresses, so that their targets are visible.
    """

    def __init__(self, text: str, root: Path) -> None:
        self._markdown = Markdown(text, code_theme=CODE_THEME, hyperlinks=False)
        self._root = root

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render the lines."""
        lines = console.render_lines(self._markdown, options.update(height=None), pad=False)
        while lines and _is_blank(lines[0]):  # Rich surrounds lists and code, not paragraphs, with blank lines
            lines.pop(0)
        while lines and _is_blank(lines[-1]):
            lines.pop()
        for line in lines:
            for segment in line:
                yield from self._link_places(segment) if console.is_terminal else [segment]
            yield Segment.line()

    def _link_places(self, segment: Segment) -> Iterator[Segment]:
        text, style = segment.text, segment.style
        position = 0
        for match in _PLACE.finditer(text):
            file = find_cited_file(self._root, match[0])
            if file:
                yield Segment(text[position : match.start()], style)
                yield Segment(match[0], (style or Style()) + Style(link=file.as_uri()))
                position = match.end()
        yield Segment(text[position:], style)


class AnswerTail:
    """The unfinished end of a streamed answer: verified part of the last paragraph, and draft.

    Only the last lines that fit the terminal are shown.
    """

    def __init__(self, checked: str, draft: str, stage: str, root: Path, *, leading_blank: bool) -> None:
        self._checked = checked
        self._draft = draft
        self._root = root
        self._leading_blank = leading_blank
        self._spinner = Spinner("line", Text(f" {stage} ...", style="dim"))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render the lines."""
        parts: list[RenderableType] = []
        if self._checked.strip():
            parts.append(LinkedMarkdown(_cut_end(self._checked), self._root))
        if self._draft.strip():
            parts.append(Text(_cut_end(self._draft).strip("\n"), style="dim"))
        if not parts:
            parts.append(self._spinner)
        lines = [line for part in parts for line in console.render_lines(part, options.update(height=None), pad=False)]
        lines = [[], *lines] if self._leading_blank else lines
        for line in lines[-max(1, console.height - _FREE_LINES) :]:
            yield from line
            yield Segment.line()


def _cut_end(text: str) -> str:
    """Return the last lines of a text that may be visible: rendering a long text takes too long."""
    return (
        text
        if len(text) <= _MAX_DRAWN_CHARS
        else text[-_MAX_DRAWN_CHARS:].partition("\n")[2] or text[-_MAX_DRAWN_CHARS:]
    )


def _is_blank(line: Sequence[Segment]) -> bool:
    return not "".join(segment.text for segment in line).strip()


def make_live(console: Console, tail: AnswerTail) -> Live:
    """Return the live display of a tail, which is erased when stopped."""
    return Live(
        tail, console=console, transient=True, refresh_per_second=12, redirect_stdout=False, redirect_stderr=False
    )
