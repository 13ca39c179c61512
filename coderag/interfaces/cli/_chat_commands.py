"""The slash commands of a conversation in a terminal."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from coderag.errors import InvalidQueryError
from coderag.interfaces.cli._chat_answering import answer_question, pick_up
from coderag.interfaces.cli._chat_asking import agrees
from coderag.interfaces.cli._chat_places import open_place, show_context, show_places
from coderag.interfaces.cli._chat_text import print_answer
from coderag.interfaces.cli._chat_threads import delete_thread, export_thread, find_thread, print_threads

if TYPE_CHECKING:
    from coderag.interfaces.cli._chat_talk import Talk

_COMMAND: Final = re.compile(r"/[A-Za-z?]*(?=\s|$)")
Choices = Callable[["Talk"], Iterable[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command.

    Attributes:
        argument: What it takes, as the help shows it; empty for nothing.
        run: Does it, given what was typed behind its name.
        choices: What the argument may be, each with its meaning.
    """

    name: str
    argument: str
    help: str
    run: "Callable[[Talk, str], None]"
    choices: Choices | None = None


def is_command(text: str) -> bool:
    """Whether a text is meant as a command; ``/src/app.py`` and what has several lines is not."""
    return "\n" not in text.strip() and _COMMAND.match(text.strip()) is not None


def run_command(talk: "Talk", text: str) -> None:
    """Run a slash command.

    Raises:
        InvalidQueryError: There is no such command.
        CodeRAGError: It failed.
    """
    name, _, argument = text.strip().partition(" ")
    name = name.lower()
    command = COMMANDS.get(_OTHER_NAMES.get(name, name))
    if command is None:
        near = get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
        hint = f"Did you mean {near[0]}?" if near else "/help lists the commands."
        raise InvalidQueryError(f"there is no command {name}", hint=hint)
    argument = argument.strip()
    if argument and not command.argument:
        raise InvalidQueryError(f"{name} takes nothing behind it", hint=f"Type {name} alone.")
    talk.read_turns()  # it may have gone on elsewhere
    command.run(talk, argument)


def _help(talk: "Talk", _: str) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    for command in COMMANDS.values():
        table.add_row(Text.assemble((command.name, "bold cyan"), f" {command.argument}"), Text(command.help))
    console = talk.output.console()
    console.print(table)
    console.print()
    keys = Table.grid(padding=(0, 2))
    for pressed, meaning in _KEYS:
        keys.add_row(Text(pressed, style="bold"), Text(meaning))
    console.print(keys)


def _new(talk: "Talk", name: str) -> None:
    talk.go_on_with(talk.rag.chat(name or None))
    talk.output.note(f"conversation {talk.chat.thread}")


def _threads(talk: "Talk", _: str) -> None:
    print_threads(talk.rag.open_chat_threads(), talk.output, talk.chat.thread)


def _resume(talk: "Talk", beginning: str) -> None:
    threads = talk.rag.open_chat_threads()
    others = [info.id for info in threads.list() if info.id != talk.chat.thread]
    if not (beginning or others):
        raise InvalidQueryError("there is no other conversation")
    thread = find_thread(threads, beginning) if beginning else others[0]
    talk.go_on_with(talk.rag.chat(thread))
    talk.output.note(f"conversation {thread}")
    pick_up(talk)


def _last(talk: "Talk", _: str) -> None:
    if not talk.turns:
        raise InvalidQueryError("there is no answer yet")
    print_answer(talk, talk.turns[-1].text)


def _retry(talk: "Talk", _: str) -> None:
    asked = talk.unanswered()
    if not asked and talk.turns:
        asked = talk.turns[-2].question or talk.turns[-2].text  # "it" would now be something else
    if not asked:
        raise InvalidQueryError("there is no question yet")
    talk.output.note(f"> {asked}")
    answer_question(talk, asked)


def _export(talk: "Talk", name: str) -> None:
    file = Path(name or f"chat-{talk.chat.thread}.md").expanduser()
    if file.exists() and not agrees(f"{file} is there. Overwrite it?"):
        return
    form: Literal["markdown", "json"] = "json" if file.suffix.lower() == ".json" else "markdown"
    export_thread(talk.rag.open_chat_threads(), talk.chat.thread, form, file, talk.output)


def _delete(talk: "Talk", beginning: str) -> None:
    threads = talk.rag.open_chat_threads()
    thread = find_thread(threads, beginning or talk.chat.thread)
    if delete_thread(threads, thread, talk.output, yes=talk.yes) and thread == talk.chat.thread:
        _new(talk, "")


def _quit(talk: "Talk", _: str) -> None:
    talk.ended = True


def _other_threads(talk: "Talk") -> Sequence[tuple[str, str]]:
    return [(info.id, info.title) for info in talk.rag.open_chat_threads().list() if info.id != talk.chat.thread]


def _numbers(talk: "Talk") -> Sequence[tuple[str, str]]:
    return [(str(number), place) for number, place in enumerate(talk.cited, 1)]


_ALL: Final = (
    Command("/help", "", "Show this.", _help),
    Command("/show", "[N]", "Print what is cited as [N], or a place such as src/app.py:10-42; alone, list them.",
            show_places, _numbers),
    Command("/open", "N", "Open what is cited as [N], or a place, in your editor (VISUAL, EDITOR).", open_place, _numbers),
    Command("/context", "", "Show what the last answer rests on, in tokens.", show_context),
    Command("/last", "", "Print the last answer again.", _last),
    Command("/retry", "", "Ask the last question again.", _retry),
    Command("/new", "[NAME]", "Begin another conversation.", _new),
    Command("/threads", "", "List all conversations.", _threads),
    Command("/resume", "[ID]", "Go on with another conversation; alone, with the one used last.", _resume,
            _other_threads),
    Command("/export", "[FILE]", "Write this conversation to a file, .md or .json.", _export),
    Command("/delete", "[ID]", "Delete this conversation, or another one, for good.", _delete, _other_threads),
    Command("/quit", "", "End. Ctrl-D does as well.", _quit),
)  # fmt: skip
COMMANDS: Final = {command.name: command for command in _ALL}
_OTHER_NAMES: Final = {"/cite": "/show", "/exit": "/quit", "/q": "/quit", "/?": "/help", "/": "/help"}
_KEYS: Final = (
    ("Alt+Enter, or \\ Enter", "begin another line"),
    ("Tab", "complete a name or a path of the index"),
    ("Ctrl-C", "end the answer that is being written; twice at an empty prompt, the conversation"),
    ("Ctrl-R", "search in what you typed before"),
)
