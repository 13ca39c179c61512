"""A conversation in a terminal: read, answer, go on."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from coderag.errors import CodeRAGError
from coderag.interfaces.cli._chat_answering import answer_question, pick_up
from coderag.interfaces.cli._chat_commands import is_command, run_command
from coderag.interfaces.cli._chat_prompt import ChatPrompt
from coderag.interfaces.cli._faults import report

if TYPE_CHECKING:
    from coderag.interfaces.cli._chat_talk import Talk


def talk_in_terminal(talk: "Talk") -> None:
    """Read and answer questions until the person ends it. An error ends a turn, not the conversation."""
    prompt = ChatPrompt(talk)
    _greet(talk)
    _try(talk, partial(pick_up, talk))
    interrupted = False
    while not talk.ended:
        try:
            talk.output.write("")
            text = prompt.read()
        except EOFError:
            break
        except KeyboardInterrupt:
            if interrupted:
                break
            interrupted = True
            talk.output.note("Ctrl-C again ends the conversation")
            continue
        interrupted = False
        if text:
            _try(talk, partial(_step, talk, text))
    if talk.turns:
        talk.output.note(f"`coderag chat --thread {talk.chat.thread}` goes on with this conversation")


def _step(talk: "Talk", text: str) -> None:
    if is_command(text):
        run_command(talk, text)
    else:
        answer_question(talk, text)


def _try(talk: "Talk", step: Callable[[], None]) -> None:
    """Do something; an error, or Ctrl-C, ends it and no more."""
    try:
        step()
    except CodeRAGError as error:
        report(error, as_json=False, debug=talk.debug)
    except KeyboardInterrupt:
        talk.output.note("ended")


def _greet(talk: "Talk") -> None:
    from rich.text import Text

    model = f"answers by {talk.model}" if talk.model else "no language model: answers are put together from the code"
    console = talk.output.console()
    console.print(Text.assemble((talk.rag.root.name, "bold"), (f" · {model}", "dim")))
    console.print(Text("Ask a question. /help lists the commands, Ctrl-D ends.", style="dim"))
