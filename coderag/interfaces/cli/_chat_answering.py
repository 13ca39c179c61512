"""Answer questions in a terminal, and pick up a conversation where it ended."""

from typing import TYPE_CHECKING

from coderag.interfaces.cli._chat_asking import agrees
from coderag.interfaces.cli._chat_text import print_earlier, print_verdict

if TYPE_CHECKING:
    from coderag.interfaces.cli._chat_talk import Talk

_LONGEST_QUESTION = 200  # characters of it in a question about it


def answer_question(talk: "Talk", text: str) -> None:
    """Ask a question; print the answer and what is to be told of it. Ctrl-C ends the answer only.

    Raises:
        CodeRAGError: As `Talk.ask`.
    """
    talk.output.write("")
    try:
        talk.ask(text)
    except KeyboardInterrupt:
        talk.output.note("ended; /retry asks it again")
        return
    print_verdict(talk)


def pick_up(talk: "Talk") -> None:
    """Show the last exchange of a conversation in short, and offer to answer a question that has no answer."""
    print_earlier(talk)
    asked = talk.unanswered()
    if not asked:
        return
    shown = " ".join(asked.split())
    if len(shown) > _LONGEST_QUESTION:
        shown = shown[: _LONGEST_QUESTION - 1] + "…"
    talk.output.note(f"the last question has no answer: {shown}")
    if agrees("Ask it again?", default=True):
        answer_question(talk, asked)
