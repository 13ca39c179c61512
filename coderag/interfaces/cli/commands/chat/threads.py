"""Listing, export and deletion of conversations."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from coderag.errors import InvalidQueryError, StoreError
from coderag.interfaces.cli.confirmation import confirm
from coderag.interfaces.cli.output.output_errors import OutputError
from coderag.interfaces.cli.output.streams import Output, escape_controls, escape_json

if TYPE_CHECKING:
    from coderag.engine.chat import ChatThreads, ThreadInfo


def find_last_thread(threads: "ChatThreads") -> str:
    """Return the id of the most recently used conversation.

    Raises:
        InvalidQueryError: There is none.
    """
    infos = threads.list()
    if not infos:
        raise InvalidQueryError("no conversation to continue", hint="Start one with `coderag chat`.")
    return infos[0].id


def find_thread(threads: "ChatThreads", prefix: str) -> str:
    """Return the id of the conversation with a prefix.

    Raises:
        InvalidQueryError: None or several match.
    """
    folded = prefix.lower()
    ids = [info.id for info in threads.list()]
    matches = [folded] if folded in ids else [thread_id for thread_id in ids if thread_id.startswith(folded)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise InvalidQueryError(f"{len(matches)} conversations match {prefix!r}", hint=", ".join(matches))
    raise InvalidQueryError(f"no conversation {prefix!r}", hint="/threads lists them.")


def print_threads(threads: "ChatThreads", output: Output, current: str = "") -> None:
    """Print all conversations, most recently used first, with the current one marked."""
    infos = threads.list()
    if output.as_json:
        output.write_json({"threads": infos})
        return
    if not infos:
        output.note("no conversations yet: start one with `coderag chat`")
        return
    if not output.is_terminal:
        output.write(escape_controls("\n".join("\t".join(_format_columns(info)) for info in infos)))
        return
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    for style in ("bold cyan", "dim", "dim"):
        table.add_column(style=style, no_wrap=True)
    table.add_column(no_wrap=True, overflow="ellipsis")
    for info in infos:
        columns = _format_columns(info)
        mark = " *" if info.id == current else ""
        table.add_row(*(Text(escape_controls(text)) for text in (columns[0] + mark, *columns[1:])))
    output.make_console().print(table)


def export_thread(
    threads: "ChatThreads",
    thread: str,
    export_format: Literal["markdown", "json"],
    file: Path | None,
    output: Output,
) -> None:
    """Write a conversation to a file or to standard output.

    Raises:
        OutputError: It cannot be written.
    """
    text = threads.export(thread, export_format)
    if file is None:
        escape = escape_json if export_format == "json" else escape_controls
        output.write(escape(text) if output.is_terminal else text)
        return
    from coderag.stores.disk import write_chunks

    try:
        size = write_chunks(file, [text.encode("utf-8", "replace")])
    except StoreError as error:
        raise OutputError(str(error)) from error
    output.note(f"wrote {file}: {size:,} bytes")


def delete_thread(threads: "ChatThreads", thread: str, output: Output, *, yes: bool) -> bool:
    """Delete a conversation after confirmation; return whether it was deleted.

    Raises:
        InvalidQueryError: The id does not exist, or confirmation is impossible.
    """
    info = next((candidate for candidate in threads.list() if candidate.id == thread.lower()), None)
    if info is None:
        raise InvalidQueryError(f"no conversation {thread!r}", hint="`coderag chat --list` shows them.")
    if not yes and not confirm(
        f"Delete {info.id} ({format_turn_count(info.turns)}, {escape_controls(info.title)!r}) permanently?"
    ):
        output.note("nothing deleted")
        return False
    deleted = threads.delete(info.id)
    if output.as_json:
        output.write_json({"thread": info.id, "deleted": deleted})
    else:
        output.note(f"deleted {info.id}")
    return deleted


def format_turn_count(turns: int) -> str:
    """Format a number of turns, as in ``3 turns``."""
    return f"{turns:,} turn{'' if turns == 1 else 's'}"


def _format_columns(info: "ThreadInfo") -> tuple[str, str, str, str]:
    updated = datetime.fromisoformat(info.updated).astimezone().strftime("%Y-%m-%d %H:%M")
    return info.id, updated, format_turn_count(info.turns), info.title
