"""Turns of a conversation in a terminal."""

from typing import TYPE_CHECKING

from coderag.interfaces.cli.commands.chat.transcript import print_last_exchange, print_verdict
from coderag.interfaces.cli.confirmation import confirm

if TYPE_CHECKING:
    from coderag.interfaces.cli.commands.chat.session import ChatSession

_MAX_QUESTION_CHARS = 200  # characters shown of an unanswered question


def answer_question(session: "ChatSession", text: str) -> None:
    """Ask a question and print the answer with its verdict. Ctrl-C ends the answer only.

    Raises:
        CodeRAGError: As `ChatSession.ask`.
    """
    session.output.write("")
    try:
        session.ask(text)
    except KeyboardInterrupt:
        session.output.note("interrupted; /retry asks again")
        return
    print_verdict(session)


def resume_conversation(session: "ChatSession") -> None:
    """Print a short form of the last exchange, and offer to answer an unanswered question."""
    print_last_exchange(session)
    question = session.find_unanswered()
    if not question:
        return
    excerpt = " ".join(question.split())
    if len(excerpt) > _MAX_QUESTION_CHARS:
        excerpt = excerpt[: _MAX_QUESTION_CHARS - 1] + "…"
    session.output.note(f"the last question has no answer: {excerpt}")
    if confirm("Ask it again?", default=True):
        answer_question(session, question)
