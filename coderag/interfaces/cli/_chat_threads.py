"""List, export and delete conversations."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from coderag.errors import InvalidQueryError, StoreError
from coderag.interfaces.cli._chat_asking import agrees
from coderag.interfaces.cli._streams import Output, OutputError, visible

if TYPE_CHECKING:
    from coderag.engine.chat import ChatThreads, ThreadInfo


def last_thread(threads: "ChatThreads") -> str:
    """Return the id of the conversation that was used last.

    Raises:
        InvalidQueryError: There is none.
    """
    kept = threads.list()
    if not kept:
        raise InvalidQueryError("there is no conversation to go on with", hint="`coderag chat` begins one.")
    return kept[0].id


def find_thread(threads: "ChatThreads", beginning: str) -> str:
    """Return the id of a conversation by its beginning.

    Raises:
        InvalidQueryError: None begins so, or several do.
    """
    wanted = beginning.lower()
    ids = [info.id for info in threads.list()]
    found = [wanted] if wanted in ids else [one for one in ids if one.startswith(wanted)]
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidQueryError(f"{len(found)} conversations begin with {beginning!r}", hint=", ".join(found))
    raise InvalidQueryError(f"there is no conversation {beginning!r}", hint="/threads lists them.")


def print_threads(threads: "ChatThreads", output: Output, current: str = "") -> None:
    """Print all conversations, the one that was used last first; the current one is marked."""
    kept = threads.list()
    if output.as_json:
        output.result({"threads": kept})
        return
    if not kept:
        output.note("there are no conversations yet: `coderag chat` begins one")
        return
    if not output.for_people:
        output.write(visible("\n".join("\t".join(_columns(info)) for info in kept)))
        return
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    for style in ("bold cyan", "dim", "dim"):
        table.add_column(style=style, no_wrap=True)
    table.add_column(no_wrap=True, overflow="ellipsis")
    for info in kept:
        columns = _columns(info)
        mark = " *" if info.id == current else ""
        table.add_row(*(Text(visible(text)) for text in (columns[0] + mark, *columns[1:])))
    output.console().print(table)


def export_thread(
    threads: "ChatThreads",
    thread: str,
    form: Literal["markdown", "json"],
    file: Path | None,
    output: Output,
) -> None:
    """Write a whole conversation to a file, or to standard output.

    Raises:
        OutputError: It cannot be written.
    """
    text = threads.export(thread, form)
    if file is None:
        output.write(visible(text) if output.for_people else text)
        return
    from coderag.stores.disk import write_chunks

    try:
        size = write_chunks(file, [text.encode("utf-8", "replace")])
    except StoreError as error:
        raise OutputError(str(error)) from error
    output.note(f"wrote {file}: {size:,} bytes")


def delete_thread(threads: "ChatThreads", thread: str, output: Output, *, yes: bool) -> bool:
    """Delete a conversation if the person agrees; return whether it is gone.

    Raises:
        InvalidQueryError: There is none of that id, or nobody can be asked.
    """
    info = next((one for one in threads.list() if one.id == thread.lower()), None)
    if info is None:
        raise InvalidQueryError(f"there is no conversation {thread!r}", hint="`coderag chat --list` shows them.")
    if not yes and not agrees(f"Delete {info.id} ({turns_text(info.turns)}, {visible(info.title)!r}) for good?"):
        output.note("nothing was deleted")
        return False
    deleted = threads.delete(info.id)
    if output.as_json:
        output.result({"thread": info.id, "deleted": deleted})
    else:
        output.note(f"deleted {info.id}")
    return deleted


def turns_text(turns: int) -> str:
    """Return ``3 turns``."""
    return f"{turns:,} turn{'' if turns == 1 else 's'}"


def _columns(info: "ThreadInfo") -> tuple[str, str, str, str]:
    when = datetime.fromisoformat(info.updated).astimezone().strftime("%Y-%m-%d %H:%M")
    return info.id, when, turns_text(info.turns), info.title
