"""Multi-line chat prompt with history, completion and toolbar."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import has_focus
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.styles import Style

from coderag.interfaces.cli.commands.chat.completion import ChatCompleter
from coderag.interfaces.cli.commands.chat.threads import format_turn_count
from coderag.interfaces.cli.output.streams import escape_controls
from coderag.stores.index_locations import find_index_folder

if TYPE_CHECKING:
    from coderag.interfaces.cli.commands.chat.session import ChatSession

_HISTORY_FILE: Final = "chat_history"
_MAX_HISTORY_BYTES = 1 << 20  # the older half of a larger file is dropped
_STYLE = Style.from_dict(
    {"prompt": "bold ansicyan", "continuation": "ansibrightblack", "bottom-toolbar": "noreverse dim"}
)


class ChatPrompt:
    """Reader of chat input.

    Args:
        session: The chat session, for the toolbar and the completion.
    """

    def __init__(self, session: "ChatSession") -> None:
        self._chat_session = session
        self._prompt_session: PromptSession[str] = PromptSession(
            [("class:prompt", "> ")],
            prompt_continuation=[("class:continuation", "… ")],
            style=_STYLE,
            history=make_history(session),
            key_bindings=_bind_keys(),
            completer=ChatCompleter(session),
            complete_in_thread=True,
            bottom_toolbar=self._format_toolbar,
            reserve_space_for_menu=6,
        )

    def read(self) -> str:
        """Return the typed text as valid Unicode, stripped.

        Raises:
            EOFError: Ctrl-D.
            KeyboardInterrupt: Ctrl-C at an empty prompt.
        """
        text = self._prompt_session.prompt()
        return text.encode("utf-8", "replace").decode("utf-8").strip()

    def _format_toolbar(self) -> str:
        session = self._chat_session
        parts = [
            session.chat.thread,
            format_turn_count(len(session.turns) // 2),
            session.model or "no model",
            session.rag.root.name,
        ]
        return join_fitting(parts, get_app().output.get_size().columns)


def join_fitting(parts: Iterable[str], width: int) -> str:
    """Join as many parts as fit the width; the first is always included."""
    text = ""
    for part in parts:
        longer = f"{text} · {part}" if text else part
        if text and len(longer) > width:
            break
        text = longer
    return escape_controls(text[:width])


def _bind_keys() -> KeyBindings:
    keys = KeyBindings()
    typing = has_focus(DEFAULT_BUFFER)  # not a history search

    @keys.add("enter", filter=typing)
    def _enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.is_cursor_at_the_end and buffer.text.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.newline(copy_margin=False)
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter", filter=typing)
    def _insert_newline(event: KeyPressEvent) -> None:
        event.current_buffer.newline(copy_margin=False)

    @keys.add("c-c", filter=typing)
    def _clear_or_end(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            event.app.exit(exception=KeyboardInterrupt, style="class:aborting")

    return keys


class _FileHistory(FileHistory):
    """A history that tolerates an unwritable file."""

    def store_string(self, string: str) -> None:
        """Append a typed text."""
        with suppress(OSError):
            super().store_string(string.encode("utf-8", "replace").decode("utf-8"))


def make_history(session: "ChatSession") -> History:
    """Return the input history stored with the index; in memory if chats are not stored or the file is unwritable."""
    if session.rag.settings.chat.memory == "none":
        return InMemoryHistory()
    file = find_index_folder(session.rag.root, session.rag.settings.storage) / _HISTORY_FILE
    try:
        prepare_history_file(file)
    except OSError:
        return InMemoryHistory()
    return _FileHistory(file)


def prepare_history_file(file: Path) -> None:
    """Create the history file with owner-only permissions, and cut a long one to its newer half.

    Raises:
        OSError: It cannot be written.
    """
    os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
    with suppress(OSError):  # Windows, and files of another owner
        file.chmod(0o600)
    if file.stat().st_size > _MAX_HISTORY_BYTES:
        _, begin, newer = file.read_bytes()[-_MAX_HISTORY_BYTES // 2 :].partition(b"\n# ")
        file.write_bytes(begin + newer)
