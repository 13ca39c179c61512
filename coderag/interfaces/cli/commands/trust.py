"""``coderag trust``: trust in the settings of repositories."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coderag.interfaces.cli.options import DebugOption, JsonOption
from coderag.interfaces.cli.output.streams import Output, escape_controls

if TYPE_CHECKING:
    from coderag.config.restrictions import Restriction

_PATH_HELP = "The repository, or a folder with several. Default: the current one."

PathArgument = Annotated[
    Path | None, typer.Argument(metavar="PATH", help=_PATH_HELP, show_default=False, readable=False)
]
RemoveOption = Annotated[bool, typer.Option("--remove", help="Revoke the trust.")]
ListOption = Annotated[bool, typer.Option("--list", help="List the trusted folders.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


@dataclass(frozen=True, slots=True)
class TrustEffects:
    """Effects of trusting a repository.

    Attributes:
        settings: Settings that are ignored without trust.
        prompts: Names of its custom prompts.
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
    """Trust the settings of a repository, after showing their effects.

    The files of an untrusted repository can only restrict: they cannot name servers, models, keys or code to run. Your own
    settings, in the environment or by options, always apply. Trust is stored in your user configuration.
    """
    del debug  # read in main, before anything can fail
    from coderag.config.repository_root import find_root

    output = Output(as_json)
    if list_:
        if path is not None or remove or yes:
            raise typer.BadParameter("--list cannot be combined with other options.", param_hint="--list")
        _list_folders(output)
        return
    root = find_root(path).expanduser().resolve()
    if remove:
        _remove_trust(root, output)
    else:
        _add_trust(root, output, yes=yes)


def compute_trust_effects(root: Path) -> TrustEffects:
    """Return the settings and prompts of a repository that need trust.

    Raises:
        ConfigurationError: Its settings are invalid.
    """
    from coderag.config.repository_root import INDEX_FOLDER
    from coderag.config.settings import Settings
    from coderag.prompting import Prompts

    settings = Settings.load(root, trusted=False)
    return TrustEffects(settings.restrictions, Prompts(root / INDEX_FOLDER / "prompts").list_overridden())


def _add_trust(root: Path, output: Output, *, yes: bool) -> None:
    from coderag.config import trust as marks
    from coderag.config.repository_root import resolve_folder
    from coderag.interfaces.cli.confirmation import confirm

    resolve_folder(root)
    effects = compute_trust_effects(root)
    covering = marks.find_trusted_ancestor(root)
    if covering is None:
        _note_effects(root, effects, output)
        if not yes and not confirm("Trust it?"):
            output.note("nothing changed")
            raise typer.Exit(1)
        marks.trust(root)
    if output.as_json:
        settings = [restriction._asdict() for restriction in effects.settings]
        changed = covering is None
        output.write_json(
            {
                "folder": covering or root,
                "trusted": True,
                "changed": changed,
                "settings": settings,
                "prompts": effects.prompts,
            }
        )
    elif covering is None:
        output.write(escape_controls(f"trusted: {root}"))
    else:
        output.write(escape_controls(f"trusted already: {covering}"))


def _note_effects(root: Path, effects: TrustEffects, output: Output) -> None:
    """Note the effects of trust on standard error, with values as written in the files."""
    if not effects:
        output.note(
            f"{root} has no settings that need trust; later ones, including those of nested folders, would apply."
        )
        return
    output.note(f"Effects in {root} and its nested folders:")
    for restriction in effects.settings:
        value = f" = {restriction.value}" if restriction.value else ""
        output.note(f"  {restriction.place}: {restriction.key}{value}".rstrip(": ") + f"\n      {restriction.reason}")
    for name in effects.prompts:
        output.note(f"  .coderag/prompts/{name}.md\n      replaces a prompt of language models")


def _remove_trust(root: Path, output: Output) -> None:
    from coderag.config import trust as marks

    changed = marks.revoke_trust(root)
    covering = marks.find_trusted_ancestor(root)
    if output.as_json:
        output.write_json({"folder": root, "trusted": covering is not None, "changed": changed})
        return
    output.write(escape_controls(f"no longer trusted: {root}" if changed else f"was not trusted: {root}"))
    if covering is not None:
        output.note(f"It is still trusted through {covering}: `coderag trust --remove {covering}`.")


def _list_folders(output: Output) -> None:
    from coderag.config import trust as marks

    folders = marks.read_trusted_folders()
    if output.as_json:
        output.write_json({"file": marks.find_trust_file(), "folders": folders})
        return
    for folder in folders:
        output.write(escape_controls(str(folder) if folder.is_dir() else f"{folder} (missing)"))
    if not folders:
        output.note("no folder is trusted")
