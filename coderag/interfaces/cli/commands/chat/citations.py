"""Citations of a conversation: printing, opening, and the context of the last answer."""

from pathlib import Path
from typing import TYPE_CHECKING

from coderag.errors import CodeRAGError, InvalidQueryError
from coderag.interfaces.cli.output.cited_files import find_cited_file
from coderag.interfaces.cli.output.streams import escape_controls, escape_line

if TYPE_CHECKING:
    from coderag.interfaces.cli.commands.chat.session import ChatSession

_MAX_LINES = 200  # printed of one citation


def print_citations(session: "ChatSession", references: str) -> None:
    """Print cited or given locations from disk with line numbers; without references, list the citations.

    Args:
        talk: The conversation.
        references: Citation numbers, or locations as ``path:start-end``.

    Raises:
        InvalidQueryError: A location does not exist.
    """
    from coderag.interfaces.cli.commands.chat.transcript import format_place

    console = session.output.make_console()
    if not references:
        _require_citations(session)
        for number, location in enumerate(session.cited_places, 1):
            console.print(format_place(session, number, location), soft_wrap=True)
        return
    places = [_parse_reference(session, reference) for reference in references.split()]
    for index, (path, start_line, end_line) in enumerate(places):
        if index:
            console.print()
        _print_lines(session, path, start_line, end_line)


def open_citation(session: "ChatSession", reference: str) -> None:
    """Open a place in the editor. Raises as `print_citations`, and `ConfigurationError`."""
    from coderag.interfaces.cli.commands.chat.editor import open_in_editor

    if not reference and len(session.cited_places) != 1:
        _require_citations(session)
        raise InvalidQueryError(
            "several places are cited", hint=f"Give a number from 1 to {len(session.cited_places)}, as in /open 1."
        )
    path, start_line, _ = _parse_reference(session, reference or "1")
    open_in_editor(session.rag.root / path, start_line)


def print_context(session: "ChatSession", _: str) -> None:
    """Print the context of the last answer with token counts. Raises `InvalidQueryError` if there is none."""
    from coderag.interfaces.cli.output.report import ReportRow, print_report
    from coderag.text.token_counts import count_tokens

    answer = session.answer
    if answer is None:
        raise InvalidQueryError(
            "the context of an answer is known only in the session that asked", hint="/show lists what it cites."
        )
    sizes = [count_tokens(hit.text) for hit in answer.hits]
    rows = [
        ReportRow(hit.location, f"{hit.kind} {hit.qualified_name}, {size:,} tokens")
        for hit, size in zip(answer.hits, sizes, strict=True)
    ]
    budget = session.rag.settings.search.token_budget
    conversation_tokens = sum(count_tokens(turn.text) for turn in session.turns)
    rows.append(ReportRow("all", f"{sum(sizes):,} tokens in full; a prompt carries at most {budget:,} tokens of code"))
    rows.append(
        ReportRow(
            "conversation",
            f"{conversation_tokens:,} tokens; a prompt carries at most {session.rag.settings.chat.history_tokens:,} of it",
        )
    )
    rows.append(
        ReportRow("written by", session.model or "CodeRAG: no language model is configured, no prompt was sent")
    )
    print_report(f"results for: {answer.query}", rows, session.output)


def _require_citations(session: "ChatSession") -> None:
    if not session.cited_places:
        raise InvalidQueryError("nothing is cited yet", hint="Ask something first.")


def _parse_reference(session: "ChatSession", reference: str) -> tuple[str, int, int]:
    """Return path, first and last line of a citation number or location."""
    from coderag.question.places import parse_location

    number = reference.strip("[]#.,")
    if number.isdecimal():
        _require_citations(session)
        if not 1 <= int(number) <= len(session.cited_places):
            raise InvalidQueryError(
                f"no citation [{number}]", hint=f"Citations are numbered from 1 to {len(session.cited_places)}."
            )
        reference = session.cited_places[int(number) - 1]
    place = parse_location(reference)
    if find_cited_file(session.rag.root, place[0]) is None:
        raise InvalidQueryError(f"there is no file {place[0]} in this repository")
    return place


def _print_lines(session: "ChatSession", path: str, cited_from: int, cited_to: int) -> None:
    """Print a location within its declaration, if that is short."""
    from rich.style import Style
    from rich.syntax import Syntax
    from rich.text import Text

    from coderag.answering.chat.cited_lines import extend_to_declaration

    _, start_line, end_line = extend_to_declaration(session.context.query.corpus, path, cited_from, cited_to)
    file = session.rag.root / path
    lines = _read_text(session, path, file).split("\n")
    last = min(end_line, len(lines), start_line + _MAX_LINES - 1)
    if start_line > last:
        raise InvalidQueryError(f"{path} has only {len(lines):,} lines now", hint="Run `coderag index` to update.")
    console = session.output.make_console()
    console.print(
        Text(f"{escape_line(path)}:{start_line}-{last}", style=Style(bold=True, link=file.as_uri())), soft_wrap=True
    )
    code = escape_controls("\n".join(lines[start_line - 1 : last]))
    lexer = Syntax.guess_lexer(path, code)
    highlighted = set(range(cited_from, cited_to + 1)) if (start_line, end_line) != (cited_from, cited_to) else set()
    console.print(
        Syntax(
            code,
            lexer,
            theme="ansi_dark",
            line_numbers=True,
            start_line=start_line,
            highlight_lines=highlighted,
            word_wrap=True,
        )
    )
    if last < min(end_line, len(lines)):
        console.print(Text(f"… {end_line - last:,} more lines: /open shows them", style="dim"))


def _read_text(session: "ChatSession", path: str, file: Path) -> str:
    from coderag.text.indexed_text import decode_indexed_text

    try:
        data = file.read_bytes()
    except OSError as error:
        raise CodeRAGError(f"{path} cannot be read: {error.strerror or error}") from error
    for record in session.context.query.corpus.snapshot.read_files():
        if record.path == path:
            return decode_indexed_text(record, data)
    return data.decode("utf-8", "replace")
