"""``coderag trust``: whether the settings of a repository hold."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coderag.interfaces.cli._options import DebugOption, JsonOption
from coderag.interfaces.cli._streams import Output, visible

if TYPE_CHECKING:
    from coderag.config.restrictions import Restriction

_PATH_HELP = "The repository, or a folder with several. Default: the one of the current folder."

PathArgument = Annotated[
    Path | None, typer.Argument(metavar="PATH", help=_PATH_HELP, show_default=False, readable=False)
]
RemoveOption = Annotated[bool, typer.Option("--remove", help="Trust it no longer.")]
ListOption = Annotated[bool, typer.Option("--list", help="List the folders that are trusted.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@dataclass(frozen=True, slots=True)
class Allowed:
    """What trusting a repository lets its files do.

    Attributes:
        settings: What is left out as long as it is not trusted.
        prompts: The names of its own texts of prompts.
    """

    settings: "tuple[Restriction, ...]" = ()
    prompts: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.settings or self.prompts)


def trust(
    path: PathArgument = None,
    *,
    remove: RemoveOption = False,
    list_: ListOption = False,
    yes: YesOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Let the settings of a repository hold, after showing what they would do.

    As long as a repository is not trusted, its files can only restrict: they cannot name servers, models, keys or code to
    run. What you set yourself, in the environment or by options, always holds. The mark is kept in your own configuration.
    """
    del debug  # read in main, before anything can fail
    from coderag.config.repository_root import find_root

    output = Output(as_json)
    if list_:
        if path is not None or remove or yes:
            raise typer.BadParameter("--list goes alone.", param_hint="--list")
        _list(output)
        return
    root = find_root(path).expanduser().resolve()
    if remove:
        _remove(root, output)
    else:
        _add(root, output, yes=yes)


def allowed_by_trust(root: Path) -> Allowed:
    """Return what the files of a repository could do if it were trusted, and cannot as long as it is not.

    Raises:
        ConfigurationError: Its settings cannot be used.
    """
    from coderag.config.repository_root import INDEX_FOLDER
    from coderag.config.settings import Settings
    from coderag.prompting import Prompts

    settings = Settings.load(root, trusted=False)
    return Allowed(settings.restrictions, Prompts(root / INDEX_FOLDER / "prompts").list_overridden())


def _add(root: Path, output: Output, *, yes: bool) -> None:
    from coderag.config import trust as marks
    from coderag.config.repository_root import resolve_folder
    from coderag.interfaces.cli._chat_asking import agrees

    resolve_folder(root)
    allowed = allowed_by_trust(root)
    covering = marks.find_trusted_ancestor(root)
    if covering is None:
        _tell(root, allowed, output)
        if not yes and not agrees("Trust it?"):
            output.note("nothing was changed")
            raise typer.Exit(1)
        marks.trust(root)
    if output.as_json:
        settings = [one._asdict() for one in allowed.settings]
        changed = covering is None
        output.result(
            {
                "folder": covering or root,
                "trusted": True,
                "changed": changed,
                "settings": settings,
                "prompts": allowed.prompts,
            }
        )
    elif covering is None:
        output.write(visible(f"trusted: {root}"))
    else:
        output.write(visible(f"trusted already: {covering}"))


def _tell(root: Path, allowed: Allowed, output: Output) -> None:
    """Show on standard error what would hold from now on; a setting's value as it is written in its file."""
    if not allowed:
        output.note(f"{root} has no settings that need trust; later ones, its own or of what lies below, would hold.")
        return
    output.note(f"What would hold in {root}, and in what lies below:")
    for one in allowed.settings:
        value = f" = {one.value}" if one.value else ""
        output.note(f"  {one.place}: {one.key}{value}".rstrip(": ") + f"\n      {one.reason}")
    for name in allowed.prompts:
        output.note(f"  .coderag/prompts/{name}.md\n      says what language models are told")


def _remove(root: Path, output: Output) -> None:
    from coderag.config import trust as marks

    changed = marks.revoke_trust(root)
    covering = marks.find_trusted_ancestor(root)
    if output.as_json:
        output.result({"folder": root, "trusted": covering is not None, "changed": changed})
        return
    output.write(visible(f"trusted no longer: {root}" if changed else f"was not marked: {root}"))
    if covering is not None:
        output.note(f"It is still trusted, as it lies in {covering}: `coderag trust --remove {covering}`.")


def _list(output: Output) -> None:
    from coderag.config import trust as marks

    folders = marks.read_trusted_folders()
    if output.as_json:
        output.result({"file": marks.find_trust_file(), "folders": folders})
        return
    for folder in folders:
        output.write(visible(str(folder) if folder.is_dir() else f"{folder} (is gone)"))
    if not folders:
        output.note("no folder is trusted")
