"""``coderag sources remove``: remove a source from the settings, with its mirror."""

from typing import TYPE_CHECKING, Annotated

import typer

from coderag.config.file_names import COMMITTED_FILE, LOCAL_FILE
from coderag.errors import InvalidQueryError
from coderag.interfaces.cli.commands.sources.opening import open_sources
from coderag.interfaces.cli.options import DebugOption, JsonOption, RepoOption
from coderag.interfaces.cli.output.streams import Output, escape_controls

if TYPE_CHECKING:
    from pathlib import Path

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The source.", show_default=False)]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
KeepOption = Annotated[bool, typer.Option("--keep-settings", help="Remove the mirrored items only.")]


def remove(
    name: NameArgument,
    *,
    yes: YesOption = False,
    keep_settings: KeepOption = False,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Remove a source and its mirrored items. Nothing changes in the system itself."""
    del debug  # read in main, before anything can fail
    from coderag.config.settings_edit import read_settings_text, remove_entry, write_settings_text
    from coderag.interfaces.cli.confirmation import confirm

    output = Output(as_json)
    root, sources = open_sources(repo)
    texts: dict[Path, str] = {}
    for path in [] if keep_settings else [root / COMMITTED_FILE, root / LOCAL_FILE]:
        before = read_settings_text(path) if path.is_file() else ""
        after = remove_entry(before, "sources", name)
        if after != before:
            texts[path] = after
    status = next((status for status in sources.status() if status.name == name), None)
    if status is None and not texts:
        known = ", ".join(status.name for status in sources.status()) or "none"
        raise InvalidQueryError(f"no source {name!r}", hint=f"Known sources: {known}.")
    items = status.counts.items if status is not None else 0
    if not yes and not confirm(f"Remove {name} with {items:,} mirrored items?"):
        output.note("nothing changed")
        raise typer.Exit(1)
    for path, text in texts.items():
        write_settings_text(path, text)
    removed = sources.remove(name)
    if as_json:
        output.write_json({"name": name, "items": removed, "files": list(texts)})
    else:
        output.write(escape_controls(f"removed {name} with {removed:,} mirrored items"))
