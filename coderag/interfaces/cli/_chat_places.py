"""Places that a conversation cites: print them, open them, tell what an answer rests on."""

from pathlib import Path
from typing import TYPE_CHECKING

from coderag.errors import CodeRAGError, InvalidQueryError
from coderag.interfaces.cli._answer import file_of
from coderag.interfaces.cli._streams import visible, visible_line

if TYPE_CHECKING:
    from coderag.interfaces.cli._chat_talk import Talk

_MOST_LINES = 200  # printed of one place


def show_places(talk: "Talk", wanted: str) -> None:
    """Print places as they are on disk, with the numbers of their lines; without any wanted, list what has a number.

    Args:
        talk: The conversation.
        wanted: Numbers of citations, or places as ``path:start-end``.

    Raises:
        InvalidQueryError: There is no such place.
    """
    from coderag.interfaces.cli._chat_text import place_text

    console = talk.output.console()
    if not wanted:
        _check_numbers(talk)
        for number, place in enumerate(talk.cited, 1):
            console.print(place_text(talk, number, place), soft_wrap=True)
        return
    places = [_place(talk, one) for one in wanted.split()]
    for at, (path, start_line, end_line) in enumerate(places):
        if at:
            console.print()
        _print_lines(talk, path, start_line, end_line)


def open_place(talk: "Talk", wanted: str) -> None:
    """Open a place in the editor. Raises as `show_places`, and `ConfigurationError`."""
    from coderag.interfaces.cli._chat_editor import open_in_editor

    if not wanted and len(talk.cited) != 1:
        _check_numbers(talk)
        raise InvalidQueryError("say which", hint=f"Give a number from 1 to {len(talk.cited)}, as in /open 1.")
    path, start_line, _ = _place(talk, wanted or "1")
    open_in_editor(talk.rag.root / path, start_line)


def show_context(talk: "Talk", _: str) -> None:
    """Print what the last answer rests on, with tokens. Raises `InvalidQueryError` if there is none."""
    from coderag.interfaces.cli._report import Row, print_report
    from coderag.text.token_counts import count_tokens

    answer = talk.answer
    if answer is None:
        raise InvalidQueryError(
            "what an answer rests on is known only while this command runs", hint="/show lists what it cites."
        )
    sizes = [count_tokens(hit.text) for hit in answer.hits]
    rows = [
        Row(hit.location, f"{hit.kind} {hit.qualified_name}, {size:,} tokens")
        for hit, size in zip(answer.hits, sizes, strict=True)
    ]
    budget = talk.rag.settings.search.token_budget
    said = sum(count_tokens(turn.text) for turn in talk.turns)
    rows.append(Row("all", f"{sum(sizes):,} tokens as they are; a prompt carries at most {budget:,} of code"))
    rows.append(
        Row(
            "conversation", f"{said:,} tokens; a prompt carries at most {talk.rag.settings.chat.history_tokens:,} of it"
        )
    )
    rows.append(Row("written by", talk.model or "CodeRAG: no language model is configured, no prompt was sent"))
    print_report(f"results for: {answer.query}", rows, talk.output)


def _check_numbers(talk: "Talk") -> None:
    if not talk.cited:
        raise InvalidQueryError("nothing is cited yet, so no place has a number", hint="Ask something first.")


def _place(talk: "Talk", wanted: str) -> tuple[str, int, int]:
    """Return path, first and last line of a number, or of a place as typed."""
    from coderag.question.places import parse_location

    number = wanted.strip("[]#.,")
    if number.isdecimal():
        _check_numbers(talk)
        if not 1 <= int(number) <= len(talk.cited):
            raise InvalidQueryError(f"there is no [{number}]", hint=f"The numbers go from 1 to {len(talk.cited)}.")
        wanted = talk.cited[int(number) - 1]
    place = parse_location(wanted)
    if file_of(talk.rag.root, place[0]) is None:
        raise InvalidQueryError(f"there is no file {place[0]} in this repository")
    return place


def _print_lines(talk: "Talk", path: str, cited_from: int, cited_to: int) -> None:
    """Print a place within the declaration that it is in, if that is short."""
    from rich.style import Style
    from rich.syntax import Syntax
    from rich.text import Text

    from coderag.answering.chat.cited_lines import extend_to_declaration

    _, start_line, end_line = extend_to_declaration(talk.context.query.corpus, path, cited_from, cited_to)
    file = talk.rag.root / path
    lines = _text_of(talk, path, file).split("\n")
    last = min(end_line, len(lines), start_line + _MOST_LINES - 1)
    if start_line > last:
        raise InvalidQueryError(f"{path} has only {len(lines):,} lines now", hint="`coderag index` catches up.")
    console = talk.output.console()
    console.print(
        Text(f"{visible_line(path)}:{start_line}-{last}", style=Style(bold=True, link=file.as_uri())), soft_wrap=True
    )
    code = visible("\n".join(lines[start_line - 1 : last]))
    lexer = Syntax.guess_lexer(path, code)
    marked = set(range(cited_from, cited_to + 1)) if (start_line, end_line) != (cited_from, cited_to) else set()
    console.print(
        Syntax(
            code,
            lexer,
            theme="ansi_dark",
            line_numbers=True,
            start_line=start_line,
            highlight_lines=marked,
            word_wrap=True,
        )
    )
    if last < min(end_line, len(lines)):
        console.print(Text(f"… {end_line - last:,} more lines: /open shows them", style="dim"))


def _text_of(talk: "Talk", path: str, file: Path) -> str:
    from coderag.text.indexed_text import indexed_text

    try:
        data = file.read_bytes()
    except OSError as error:
        raise CodeRAGError(f"{path} cannot be read: {error.strerror or error}") from error
    for record in talk.context.query.corpus.snapshot.read_files():
        if record.path == path:
            return indexed_text(record, data)
    return data.decode("utf-8", "replace")
