"""``coderag repos``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coderag.errors import UnknownNameError
from coderag.interfaces.cli.options import DebugOption, JsonOption
from coderag.interfaces.cli.output.streams import Output, escape_controls

if TYPE_CHECKING:
    from coderag.workspace.registry import Registry, RegistryEntry

_FORGET_HELP = "Remove a repository, by name or folder, from the list. Its index is kept."

ForgetOption = Annotated[str | None, typer.Option("--forget", metavar="NAME", help=_FORGET_HELP, show_default=False)]


def repos(*, forget: ForgetOption = None, as_json: JsonOption = False, debug: DebugOption = False) -> None:
    """List the repositories indexed or opened on this machine, most recently used first.

    Agents and programs that use the service may refer to them by name.
    """
    del debug  # read in main, before anything can fail
    from coderag.workspace.registry import Registry

    registry, output = Registry(), Output(as_json)
    if forget is not None:
        forgotten = _forget(registry, forget)
        if as_json:
            output.write_json({"forgotten": forgotten.root, "name": forgotten.name})
        else:
            output.write(
                f"forgot {escape_controls(forgotten.name)} ({escape_controls(forgotten.root)}); its index stays"
            )
        return
    entries = registry.read_entries()
    if as_json:
        output.write_json({"repositories": [_to_record(entry) for entry in entries]})
    elif not entries:
        output.note("no known repositories: run 'coderag index' in one")
    else:
        _print_table(entries, output)


def _forget(registry: "Registry", name: str) -> "RegistryEntry":
    """Remove a repository from the list and return its entry."""
    entry = registry.find(name) or next(
        (candidate for candidate in registry.read_entries() if candidate.root == _resolve_folder(name)), None
    )
    if entry is None:
        raise UnknownNameError(f"no repository named {name!r}", hint="`coderag repos` lists them.")
    registry.forget(entry.root)
    return entry


def _resolve_folder(name: str) -> str:
    try:
        return str(Path(name).expanduser().resolve())
    except (OSError, RuntimeError, ValueError):  # not a path
        return name


def _format_state(entry: "RegistryEntry") -> str:
    if not entry.is_there:
        return "gone"
    return "indexed" if entry.is_indexed else "not indexed"


def _to_record(entry: "RegistryEntry") -> dict[str, object]:
    return {
        "name": entry.name,
        "root": entry.root,
        "used": entry.used,
        "indexed": entry.is_indexed,
        "there": entry.is_there,
    }


def _print_table(entries: "list[RegistryEntry]", output: Output) -> None:
    """Print a line for each repository: aligned in a pipe, coloured in a terminal."""
    rows = [(entry.name, _format_state(entry), entry.used[:10], entry.root) for entry in entries]
    if not output.is_terminal:
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        lines = (
            "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]) for row in rows
        )
        output.write(escape_controls("\n".join(lines)))
        return
    from rich.table import Table
    from rich.text import Text

    table = Table("name", "state", "last used", "folder", box=None, header_style="dim", pad_edge=False)
    styles = {"indexed": "green", "not indexed": "yellow", "gone": "red"}
    for name, state, used, root in rows:
        table.add_row(
            Text(escape_controls(name)),
            Text(state, style=styles[state]),
            used,
            Text(escape_controls(root), overflow="fold"),
        )
    output.make_console().print(table)
