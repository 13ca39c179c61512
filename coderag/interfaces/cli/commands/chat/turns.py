"""Answer questions in a terminal, and pick up a conversation where it ended."""

from typing import TYPE_CHECKING

from coderag.interfaces.cli.commands.chat.transcript import print_last_exchange, print_verdict
from coderag.interfaces.cli.confirmation import confirm

if TYPE_CHECKING:
    from coderag.interfaces.cli.commands.chat.session import ChatSession

_MAX_QUESTION_CHARS = 200  # characters of it in a question about it


def answer_question(session: "ChatSession", text: str) -> None:
    """Ask a question; print the answer and what is to be told of it. Ctrl-C ends the answer only.

    Raises:
        CodeRAGError: As `ChatSession.ask`.
    """
    session.output.write("")
    try:
        session.ask(text)
    except KeyboardInterrupt:
        session.output.note("ended; /retry asks it again")
        return
    print_verdict(session)


def resume_conversation(session: "ChatSession") -> None:
    """Show the last exchange of a conversation in short, and offer to answer a question that has no answer."""
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
