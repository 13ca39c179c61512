"""Output around the answers of a chat: verdicts, citations, earlier turns."""

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from coderag.interfaces.cli.output.answer import format_verdict, list_notes
from coderag.interfaces.cli.output.cited_files import find_cited_file
from coderag.interfaces.cli.output.streams import escape_controls
from coderag.interfaces.cli.output.verdict import format_evidence, note_unindexed

if TYPE_CHECKING:
    from rich.text import Text

    from coderag.engine.chat import ChatTurn
    from coderag.interfaces.cli.commands.chat.session import ChatSession

_MAX_LISTED_PLACES = 5  # below an answer
_MAX_EARLIER_LINES = 4  # of an earlier answer


def print_verdict(session: "ChatSession") -> None:
    """Print the verdict of the last answer, and its numbered citations if its text does not show them.

    Answers that only show lines have no verdict.
    """
    answer, output = session.answer, session.output
    if answer is None or not session.turns[-2].question:
        return
    evidence = format_evidence(answer) if answer.evidence != "found" else ""
    verdict = " · ".join(filter(None, (format_verdict(answer), evidence)))
    numbered = list(enumerate(session.turns[-1].cited, 1)) if answer.generator == "extractive" else []
    if output.is_terminal:
        is_certain = answer.verified == answer.total and answer.evidence == "found"
        _draw_verdict(session, verdict, numbered, style="green" if is_certain else "yellow")
    else:
        listing = "".join(f"{number}. `{place}`\n" for number, place in numbered)
        if below := "\n".join(filter(None, (f"{verdict}\n" if verdict else "", listing))):
            output.write(f"\n{below}")
    for note in list_notes(answer):
        output.note(note)
    note_unindexed(answer, output)


def _draw_verdict(session: "ChatSession", verdict: str, numbered: Sequence[tuple[int, str]], *, style: str) -> None:
    from rich.columns import Columns
    from rich.text import Text

    console = session.output.make_console()
    if verdict:
        console.print()
        console.print(Text(verdict, style=style))
    if numbered:
        places = [format_place(session, number, place) for number, place in islice(numbered, _MAX_LISTED_PLACES)]
        if len(numbered) > _MAX_LISTED_PLACES:
            places.append(Text(f"… {len(numbered) - _MAX_LISTED_PLACES} more: /show", style="dim"))
        console.print(Columns(places, padding=(0, 2)))


def format_place(session: "ChatSession", number: int, place: str) -> "Text":
    """Format a numbered citation as a link to its file."""
    from rich.style import Style
    from rich.text import Text

    file = find_cited_file(session.rag.root, place)
    link = Style(dim=True, link=file.as_uri() if file else None)
    return Text.assemble((f"[{number}] ", "cyan"), (escape_controls(place), link), no_wrap=True)


def print_last_exchange(session: "ChatSession") -> None:
    """Print a short form of the last exchange."""
    if len(session.turns) < 2:
        return
    from rich.text import Text

    question, answer = session.turns[-2:]
    console = session.output.make_console()
    console.print()
    console.print(
        Text(escape_controls(f"> {_format_first_line(question.text)}"), style="bold"), overflow="ellipsis", no_wrap=True
    )
    for line in shorten_answer(answer):
        console.print(Text(escape_controls(line), style="dim"), overflow="ellipsis", no_wrap=True)


def shorten_answer(answer: "ChatTurn") -> list[str]:
    """Return the first text lines of an answer, and the number of hidden ones."""
    lines = [line for line in answer.text.splitlines() if line.strip() and not line.lstrip().startswith(("```", "~~~"))]
    hidden = len(lines) - _MAX_EARLIER_LINES
    return lines if hidden <= 1 else [*lines[:_MAX_EARLIER_LINES], f"… {hidden} more lines: /last shows all"]


def _format_first_line(text: str) -> str:
    first, _, rest = text.strip().partition("\n")
    return f"{first} …" if rest else first


def print_answer(session: "ChatSession", markdown: str) -> None:
    """Print an existing answer."""
    from coderag.interfaces.cli.output.markdown import LinkedMarkdown

    session.output.make_console().print(LinkedMarkdown(escape_controls(markdown), session.rag.root))
