"""What is told around the answers of a conversation."""

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from coderag.interfaces.cli._answer import file_of, notes, verdict_text
from coderag.interfaces.cli._evidence import evidence_text, note_missing
from coderag.interfaces.cli._streams import visible

if TYPE_CHECKING:
    from rich.text import Text

    from coderag.engine.chat import ChatTurn
    from coderag.interfaces.cli._chat_talk import Talk

_LISTED = 12  # places below an answer
_SHORT = 4  # lines of an earlier answer


def print_verdict(talk: "Talk") -> None:
    """Print how well the last answer holds, and the numbers of what it cites, where its text does not show them.

    Of lines that were shown, or could not be, there is no more to tell.
    """
    answer, output = talk.answer, talk.output
    if answer is None or not talk.turns[-2].question:
        return
    verdict = verdict_text(answer)
    if answer.evidence != "found":
        verdict = f"{verdict} · {evidence_text(answer)}"
    numbered = list(enumerate(talk.turns[-1].cited, 1)) if answer.generator == "extractive" else []
    if output.for_people:
        sure = answer.verified == answer.total and answer.evidence == "found"
        _draw_verdict(talk, verdict, numbered, style="green" if sure else "yellow")
    else:
        shown = "".join(f"{number}. `{place}`\n" for number, place in numbered)
        output.write(f"\n{verdict}\n" + (f"\n{shown}" if shown else ""))
    for note in notes(answer):
        output.note(note)
    note_missing(answer, output)


def _draw_verdict(talk: "Talk", verdict: str, numbered: Sequence[tuple[int, str]], *, style: str) -> None:
    from rich.columns import Columns
    from rich.text import Text

    console = talk.output.console()
    console.print()
    console.print(Text(verdict, style=style))
    if numbered:
        shown = [place_text(talk, number, place) for number, place in islice(numbered, _LISTED)]
        if len(numbered) > _LISTED:
            shown.append(Text(f"… {len(numbered) - _LISTED} more: /show", style="dim"))
        console.print(Columns(shown, padding=(0, 2)))


def place_text(talk: "Talk", number: int, place: str) -> "Text":
    """Return a cited place with its number, as a link to its file."""
    from rich.style import Style
    from rich.text import Text

    file = file_of(talk.rag.root, place)
    link = Style(dim=True, link=file.as_uri() if file else None)
    return Text.assemble((f"[{number}] ", "cyan"), (visible(place), link), no_wrap=True)


def print_earlier(talk: "Talk") -> None:
    """Print the last exchange of a conversation that goes on, in short."""
    if len(talk.turns) < 2:
        return
    from rich.text import Text

    asked, answered = talk.turns[-2:]
    console = talk.output.console()
    console.print()
    console.print(Text(visible(f"> {_first_line(asked.text)}"), style="bold"), overflow="ellipsis", no_wrap=True)
    for line in shortened(answered):
        console.print(Text(visible(line), style="dim"), overflow="ellipsis", no_wrap=True)


def shortened(answered: "ChatTurn") -> list[str]:
    """Return the first lines of an answer that say something, and how many more there are."""
    lines = [
        line for line in answered.text.splitlines() if line.strip() and not line.lstrip().startswith(("```", "~~~"))
    ]
    left = len(lines) - _SHORT
    return lines if left <= 1 else [*lines[:_SHORT], f"… {left} more lines: /last shows all"]


def _first_line(text: str) -> str:
    first, _, rest = text.strip().partition("\n")
    return f"{first} …" if rest else first


def print_answer(talk: "Talk", markdown: str) -> None:
    """Print an answer that is there already."""
    from coderag.interfaces.cli._markdown import LinkedMarkdown

    talk.output.console().print(LinkedMarkdown(visible(markdown), talk.rag.root))
