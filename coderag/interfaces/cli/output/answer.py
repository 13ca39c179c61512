"""Incremental printing of an answer: verified text as rendered Markdown, the draft dimmed below it."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from coderag.interfaces.cli.output.streams import Output, escape_controls
from coderag.schema.answers import Answer, AnswerEvent

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live


_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})")


_MAX_LEFT_OUT = 5  # statements of a model that are listed

_STAGES = {"budget": "writing"}
"""Progress text after a node of the query graph; ``searching`` after all others."""


class AnswerPrinter:
    """Printer of streamed answers.

    In a terminal, finished paragraphs are printed permanently and only the text below them is redrawn; an answer with
    sections is drawn from these. Other outputs get the Markdown source, once.

    Args:
        output: Destination.
        root: Repository folder, for file links.
    """

    def __init__(self, output: Output, root: Path) -> None:
        self._output = output
        self._root = root
        self._live: Live | None = None
        self._checked = ""  # the unfinished paragraph
        self._draft = ""
        self._held = ""  # the last text, which the answer may have as sections
        self._stage = "searching"
        self._has_printed = False  # whether part of this answer was printed

    def handle_event(self, event: AnswerEvent) -> None:
        """Handle the next event of an answer; the last one completes the output."""
        if event.kind == "answer" and event.answer:
            self._print_answer(event.answer)
        elif self._output.is_terminal:
            self._handle_progress(event)

    def close(self) -> None:
        """Restore the terminal; print the verified part of an interrupted answer."""
        if self._output.is_terminal:
            self._draft = ""
            self._stop_live()
            self._print_markdown(self._checked + self._held)
        self._held = ""
        self._checked, self._stage, self._has_printed = "", "searching", False

    def _handle_progress(self, event: AnswerEvent) -> None:
        if event.kind == "stage":
            self._stage = _STAGES.get(event.text, self._stage)
        elif event.kind == "draft":
            self._take_held()
            self._draft += event.text
        else:
            self._draft = ""
            self._take_held()
            self._held = event.text
        self._draw()

    def _take_held(self) -> None:
        """Print the finished paragraphs of the text so far."""
        finished, self._checked = split_finished_blocks(self._checked + self._held)
        self._held = ""
        self._print_markdown(finished)

    def _print_answer(self, answer: Answer) -> None:
        if self._output.is_terminal:
            if answer.sections:
                self._held = ""
                self._print_sections(answer)
            elif not self._has_printed and not self._checked and not self._held:  # it was not streamed
                self._checked = answer.text
            self.close()
        else:
            self._output.write(escape_controls(answer.text))

    def _print_markdown(self, markdown: str) -> None:
        if not markdown.strip():
            return
        from coderag.interfaces.cli.output.markdown import LinkedMarkdown

        self._print(LinkedMarkdown(escape_controls(markdown), self._root))

    def _print_sections(self, answer: Answer) -> None:
        from coderag.interfaces.cli.output.answer_sections import AnswerSections

        self._print(AnswerSections(answer.sections, self._root))

    def _print(self, part: "RenderableType") -> None:
        self._stop_live()  # otherwise the drawing thread may draw between printed lines
        console = self._output.make_console()
        if self._has_printed:
            console.print()
        console.print(part)
        self._has_printed = True

    def _draw(self) -> None:
        """Draw the unfinished part."""
        from coderag.interfaces.cli.output.markdown import AnswerTail, make_live

        tail = AnswerTail(
            escape_controls(self._checked),
            escape_controls(self._draft),
            self._stage,
            self._root,
            leading_blank=self._has_printed,
        )
        if self._live is None:
            self._live = make_live(self._output.make_console(), tail)
            self._live.start(refresh=not self._has_printed)
        self._live.update(tail)

    def _stop_live(self) -> None:
        if self._live:
            live, self._live = self._live, None
            live.update("")  # otherwise it is drawn once more
            live.stop()


def split_finished_blocks(markdown: str) -> tuple[str, str]:
    """Split Markdown into complete blocks (paragraphs, lists, code) and the remainder."""
    fence, blank, end, position = "", False, 0, 0
    for line in markdown.splitlines(keepends=True):
        if match := _FENCE.match(line):
            if not fence:
                fence = match[1]
            elif match[1].startswith(fence) and not line.strip(" \t>\n").strip(fence[0]):
                fence, blank, position = "", False, position + len(line)
                continue
        if not fence or (match and match[1] == fence):
            if blank and line.strip() and not line[0].isspace():
                end = position
            blank = not line.strip()
        position += len(line)
    return markdown[:end], markdown[end:]


def format_verdict(answer: Answer) -> str:
    """Format what was checked and holds; empty if nothing was."""
    if not answer.total:
        return ""
    is_quoted = answer.generator == "extractive"
    noun = ("quotation" if is_quoted else "statement") + ("" if answer.total == 1 else "s")
    is_single = answer.total == 1
    held = ("matches" if is_single else "match") if is_quoted else ("agrees" if is_single else "agree")
    rest = "the files" if is_quoted else f"with the lines {'it cites' if is_single else 'they cite'}"
    return f"{answer.verified} of {answer.total} {noun} {held} {rest}"


def list_notes(answer: Answer) -> Iterable[str]:
    """Yield notes on an answer: how the question was read, unverified citations, dropped claims, flagged text, redactions."""
    yield from answer.notes
    for citation in answer.citations:
        if not citation.verified:
            yield f"not verified: {citation.location}: {citation.reason}"
    left_out = [claim for claim in answer.claims if not claim.shown]
    for claim in left_out[:_MAX_LEFT_OUT]:
        yield f"left out: {' '.join(claim.text.split())} ({claim.reason})"
    if len(left_out) > _MAX_LEFT_OUT:
        yield f"left out: {len(left_out) - _MAX_LEFT_OUT} more statements"
    for location in answer.flagged:
        yield f"text that addresses a language model: {location}"
    if answer.redacted:
        secrets = "one secret was" if answer.redacted == 1 else f"{answer.redacted} secrets were"
        yield f"{secrets} not shown to the language model"
