"""Slash commands of a chat."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from coderag.errors import InvalidQueryError
from coderag.interfaces.cli.commands.chat.citations import open_citation, print_citations, print_context
from coderag.interfaces.cli.commands.chat.threads import delete_thread, export_thread, find_thread, print_threads
from coderag.interfaces.cli.commands.chat.transcript import print_answer
from coderag.interfaces.cli.commands.chat.turns import answer_question, resume_conversation
from coderag.interfaces.cli.confirmation import confirm

if TYPE_CHECKING:
    from coderag.interfaces.cli.commands.chat.session import ChatSession

_COMMAND_PATTERN: Final = re.compile(r"/[A-Za-z?]*(?=\s|$)")
ChoiceLister = Callable[["ChatSession"], Iterable[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A slash command.

    Attributes:
        argument: Its argument as shown in the help; empty if it takes none.
        run: Runs it with the text after its name.
        list_choices: Lists possible arguments with descriptions.
    """

    name: str
    argument: str
    help: str
    run: "Callable[[ChatSession, str], None]"
    list_choices: ChoiceLister | None = None


def is_command(text: str) -> bool:
    """Return whether a text is a command, unlike ``/src/app.py`` and multi-line text."""
    return "\n" not in text.strip() and _COMMAND_PATTERN.match(text.strip()) is not None


def run_command(session: "ChatSession", text: str) -> None:
    """Run a slash command.

    Raises:
        InvalidQueryError: The command does not exist.
        CodeRAGError: It failed.
    """
    name, _, argument = text.strip().partition(" ")
    name = name.lower()
    command = COMMANDS.get(_ALIASES.get(name, name))
    if command is None:
        matches = get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
        hint = f"Did you mean {matches[0]}?" if matches else "/help lists the commands."
        raise InvalidQueryError(f"unknown command {name}", hint=hint)
    argument = argument.strip()
    if argument and not command.argument:
        raise InvalidQueryError(f"{name} takes no argument", hint=f"Type {name} alone.")
    session.read_turns()  # another process may have continued the thread
    command.run(session, argument)


def _show_help(session: "ChatSession", _: str) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    for command in COMMANDS.values():
        table.add_row(Text.assemble((command.name, "bold cyan"), f" {command.argument}"), Text(command.help))
    console = session.output.make_console()
    console.print(table)
    console.print()
    keys = Table.grid(padding=(0, 2))
    for key, meaning in _KEY_HELP:
        keys.add_row(Text(key, style="bold"), Text(meaning))
    console.print(keys)


def _start_thread(session: "ChatSession", name: str) -> None:
    session.switch_to(session.rag.chat(name or None))
    session.output.note(f"conversation {session.chat.thread}")


def _print_threads(session: "ChatSession", _: str) -> None:
    print_threads(session.rag.open_chat_threads(), session.output, session.chat.thread)


def _resume_thread(session: "ChatSession", prefix: str) -> None:
    threads = session.rag.open_chat_threads()
    other_ids = [info.id for info in threads.list() if info.id != session.chat.thread]
    if not (prefix or other_ids):
        raise InvalidQueryError("no other conversation exists")
    thread = find_thread(threads, prefix) if prefix else other_ids[0]
    session.switch_to(session.rag.chat(thread))
    session.output.note(f"conversation {thread}")
    resume_conversation(session)


def _print_last_answer(session: "ChatSession", _: str) -> None:
    if not session.turns:
        raise InvalidQueryError("no answer yet")
    print_answer(session, session.turns[-1].text)


def _retry_question(session: "ChatSession", _: str) -> None:
    question = session.find_unanswered()
    if not question and session.turns:
        question = session.turns[-2].question or session.turns[-2].text  # pronouns would now refer to something else
    if not question:
        raise InvalidQueryError("no question yet")
    session.output.note(f"> {question}")
    answer_question(session, question)


def _export_thread(session: "ChatSession", name: str) -> None:
    file = Path(name or f"chat-{session.chat.thread}.md").expanduser()
    if file.exists() and not confirm(f"{file} exists. Overwrite it?"):
        return
    export_format: Literal["markdown", "json"] = "json" if file.suffix.lower() == ".json" else "markdown"
    export_thread(session.rag.open_chat_threads(), session.chat.thread, export_format, file, session.output)


def _delete_thread(session: "ChatSession", prefix: str) -> None:
    threads = session.rag.open_chat_threads()
    thread = find_thread(threads, prefix or session.chat.thread)
    if delete_thread(threads, thread, session.output, yes=session.yes) and thread == session.chat.thread:
        _start_thread(session, "")


def _end_session(session: "ChatSession", _: str) -> None:
    session.is_finished = True


def _list_other_threads(session: "ChatSession") -> Sequence[tuple[str, str]]:
    return [(info.id, info.title) for info in session.rag.open_chat_threads().list() if info.id != session.chat.thread]


def _list_numbers(session: "ChatSession") -> Sequence[tuple[str, str]]:
    return [(str(number), location) for number, location in enumerate(session.cited_places, 1)]


_COMMAND_LIST: Final = (
    SlashCommand("/help", "", "Show this.", _show_help),
    SlashCommand("/show", "[N]", "Print citation [N], or lines such as src/app.py:10-42; without argument, list citations.",
            print_citations, _list_numbers),
    SlashCommand("/open", "N", "Open citation [N], or a location, in your editor (VISUAL, EDITOR).", open_citation,
            _list_numbers),
    SlashCommand("/context", "", "Show the context of the last answer, in tokens.", print_context),
    SlashCommand("/last", "", "Print the last answer again.", _print_last_answer),
    SlashCommand("/retry", "", "Ask the last question again.", _retry_question),
    SlashCommand("/new", "[NAME]", "Start another conversation.", _start_thread),
    SlashCommand("/threads", "", "List all conversations.", _print_threads),
    SlashCommand("/resume", "[ID]", "Continue another conversation, by default the most recent.", _resume_thread,
            _list_other_threads),
    SlashCommand("/export", "[FILE]", "Write this conversation to a file, .md or .json.", _export_thread),
    SlashCommand("/delete", "[ID]", "Delete this conversation, or another one, permanently.", _delete_thread,
            _list_other_threads),
    SlashCommand("/quit", "", "Exit, like Ctrl-D.", _end_session),
)  # fmt: skip
COMMANDS: Final = {command.name: command for command in _COMMAND_LIST}
_ALIASES: Final = {"/cite": "/show", "/exit": "/quit", "/q": "/quit", "/?": "/help", "/": "/help"}
_KEY_HELP: Final = (
    ("Alt+Enter, or \\ Enter", "insert a newline"),
    ("Tab", "complete an indexed name or path"),
    ("Ctrl-C", "interrupt the answer; twice at an empty prompt, exit"),
    ("Ctrl-R", "search the input history"),
)
