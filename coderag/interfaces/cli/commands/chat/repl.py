"""Read-eval-print loop of a chat."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from coderag.errors import CodeRAGError
from coderag.interfaces.cli.commands.chat.prompt import ChatPrompt
from coderag.interfaces.cli.commands.chat.slash_commands import is_command, run_command
from coderag.interfaces.cli.commands.chat.turns import answer_question, resume_conversation
from coderag.interfaces.cli.output.error_report import report_error

if TYPE_CHECKING:
    from coderag.interfaces.cli.commands.chat.session import ChatSession


def run_repl(session: "ChatSession") -> None:
    """Read and answer questions until the user ends the session. An error ends a turn, not the session."""
    prompt = ChatPrompt(session)
    _print_greeting(session)
    _run_guarded(session, partial(resume_conversation, session))
    interrupted = False
    while not session.is_finished:
        try:
            session.output.write("")
            text = prompt.read()
        except EOFError:
            break
        except KeyboardInterrupt:
            if interrupted:
                break
            interrupted = True
            session.output.note("press Ctrl-C again to exit")
            continue
        interrupted = False
        if text:
            _run_guarded(session, partial(_handle_input, session, text))
    if session.turns:
        session.output.note(f"continue this conversation with `coderag chat --thread {session.chat.thread}`")


def _handle_input(session: "ChatSession", text: str) -> None:
    if is_command(text):
        run_command(session, text)
    else:
        answer_question(session, text)


def _run_guarded(session: "ChatSession", action: Callable[[], None]) -> None:
    """Run an action; an error or Ctrl-C ends only the action."""
    try:
        action()
    except CodeRAGError as error:
        report_error(error, as_json=False, debug=session.debug)
    except KeyboardInterrupt:
        session.output.note("ended")


def _print_greeting(session: "ChatSession") -> None:
    from rich.text import Text

    model = f"answers by {session.model}" if session.model else "no language model: answers are extracted from the code"
    console = session.output.make_console()
    console.print(Text.assemble((session.rag.root.name, "bold"), (f" · {model}", "dim")))
    console.print(Text("Ask a question. /help lists the commands, Ctrl-D exits.", style="dim"))
