"""``coderag server sources``: documentation and backlog systems of hosted repositories."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from coderag.errors import InvalidQueryError, UnknownNameError
from coderag.interfaces.cli.commands.server.opening import open_server
from coderag.interfaces.cli.commands.server.options import ServerPlace, YesOption, make_place
from coderag.interfaces.cli.commands.server.printing import confirm_removal, format_time
from coderag.interfaces.cli.commands.server.secret_input import SecretFileOption, SecretStdinOption, read_secret
from coderag.interfaces.cli.options import DebugOption, JsonOption
from coderag.interfaces.cli.output.streams import Output, escape_controls
from coderag.interfaces.cli.typer_ext.light_command import LightCommand
from coderag.interfaces.cli.typer_ext.light_group import LightGroup, show_help_without_command
from coderag.interfaces.cli.typer_ext.option_groups import expand_options
from coderag.server.access.roles import Action

if TYPE_CHECKING:
    from coderag.interfaces.cli.commands.server.operator_services import OperatorServices
    from coderag.server.storage.models import HostedRepository

sources: Final = typer.Typer(name="sources", cls=LightGroup, invoke_without_command=True, rich_markup_mode=None)

_SYSTEM_SIGN: Final = "system="

RepositoryArgument = Annotated[
    str, typer.Argument(metavar="REPOSITORY", help="The repository: name or id.", show_default=False)
]
SourceArgument = Annotated[str, typer.Argument(metavar="SOURCE", help="Name of the source.", show_default=False)]
SettingsArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="FILE", help="YAML file with its settings as in .coderag.yaml, without the token.", show_default=False
    ),
]
PairsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--setting",
        metavar="KEY=VALUE",
        help="A setting, such as system=confluence or spaces=DOCS,ENG; lists have commas.",
        show_default=False,
    ),
]
KeepOption = Annotated[bool, typer.Option("--keep-token", help="Keep the stored token.")]
FullOption = Annotated[bool, typer.Option("--full", help="Remove its items first, and read all of them again.")]


@sources.callback()
def group(ctx: typer.Context) -> None:
    """Manage documentation and backlog systems of repositories. Tokens are encrypted, and never printed."""
    show_help_without_command(ctx)


@sources.command(name="list", cls=LightCommand)
@expand_options("place", make_place)
def list_sources(
    repository: RepositoryArgument, *, place: ServerPlace, as_json: JsonOption = False, debug: DebugOption = False
) -> None:
    """List the sources of a repository by name, those of its own settings files included."""
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli.output.table import print_table

    output = Output(as_json)
    with open_server(place) as server:
        hosted = server.find_repository(repository)
        listed = server.accounts.grants.list_sources(server.operator, hosted.id)
        records = [
            {
                "name": each.name,
                "kind": each.kind,
                "settings": server.sources.describe(each),
                "items": each.items,
                "error": each.error,
                "synced_at": each.synced_at,
            }
            for each in listed
        ]
    if as_json:
        output.write_json({"sources": records})
        return
    rows = [
        (each.name, each.kind, "server" if each.sealed_settings else "repository", f"{each.items:,}",
         format_time(each.synced_at), each.error or "-")
        for each in listed
    ]  # fmt: skip
    print_table(("name", "kind", "settings", "items", "synchronised", "error"), rows, output)
    if not rows:
        output.note("no sources: set one with `coderag server sources set`")


@sources.command(name="set", cls=LightCommand)
@expand_options("place", make_place)
def set_source(  # noqa: PLR0913  # one parameter an option
    repository: RepositoryArgument,
    source: SourceArgument,
    file: SettingsArgument = None,
    *,
    settings: PairsOption = None,
    keep_token: KeepOption = False,
    secret_stdin: SecretStdinOption = False,
    secret_file: SecretFileOption = None,
    place: ServerPlace,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Set the settings of a source. You are asked for its token, or give it with --secret-stdin or --secret-file.

    The settings are those of FILE and of --setting. With neither FILE nor system=SYSTEM, other settings of the source stay. A
    job of the repository is queued that synchronises it.
    """
    del debug  # as above
    output = Output(as_json)
    if file is None and not settings:
        raise typer.BadParameter("give a FILE or --setting.")
    if keep_token and (secret_stdin or secret_file):
        raise typer.BadParameter("--keep-token takes no new token.")
    given = _read_settings(file) if file is not None else {}
    with open_server(place) as server:
        hosted = server.find_repository(repository)
        values = _add_pairs(given, settings or [], lambda: _read_stored(server, hosted, source))
        if not keep_token:
            values["token"] = read_secret("token", from_stdin=secret_stdin, file=secret_file)
        entry = {"source": source, "system": str(values.get("system", ""))}
        with server.record(Action.REPOSITORIES_MANAGE, "sources set", repository_id=hosted.id, **entry):
            stored = server.sources.put(hosted.id, source, values)
    if as_json:
        output.write_json({"name": stored.name, "kind": stored.kind})
    else:
        output.write(escape_controls(f"set {stored.name} of {hosted.name}: {stored.kind}; a job is queued"))


@sources.command(cls=LightCommand)
@expand_options("place", make_place)
def sync(
    repository: RepositoryArgument,
    source: SourceArgument,
    *,
    full: FullOption = False,
    place: ServerPlace,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Queue a job that synchronises a source, or join the queued one. It fetches and indexes the repository, too."""
    del debug  # as above
    from coderag.interfaces.cli.commands.server.jobs import print_job

    with open_server(place) as server:
        hosted = server.find_repository(repository)
        with server.record(Action.REPOSITORY_INDEX, "sources sync", repository_id=hosted.id, source=source):
            job = server.sources.submit(hosted.id, source, full=full)
    print_job("queued", job, hosted.name, Output(as_json))


@sources.command(cls=LightCommand)
@expand_options("place", make_place)
def remove(
    repository: RepositoryArgument,
    source: SourceArgument,
    *,
    yes: YesOption = False,
    place: ServerPlace,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Remove a source with its grants, and queue a job that removes its items."""
    del debug  # as above
    output = Output(as_json)
    with open_server(place) as server:
        hosted = server.find_repository(repository)
        if not confirm_removal(f"Remove the source {source} of {hosted.name}?", yes=yes):
            output.note("nothing changed")
            raise typer.Exit(1)
        with server.record(Action.REPOSITORIES_MANAGE, "sources remove", repository_id=hosted.id, source=source):
            server.sources.remove(hosted.id, source)
    if as_json:
        output.write_json({"removed": source})
    else:
        output.write(escape_controls(f"removed {source} of {hosted.name}"))


def _add_pairs(given: dict[str, Any], pairs: list[str], read_stored: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Add settings of the command line to those of a file, or of the source if there is no file and no system."""
    from coderag.config.source_sections import SECTIONS_BY_SYSTEM
    from coderag.interfaces.cli.commands.sources.keys import parse_keys

    keys = [pair for pair in pairs if not pair.startswith(_SYSTEM_SIGN)]
    values = dict(given)
    if len(keys) < len(pairs):
        values["system"] = next(pair for pair in reversed(pairs) if pair not in keys).removeprefix(_SYSTEM_SIGN)
    elif not values:
        values = read_stored()
    system = str(values.get("system", ""))
    if keys and system not in SECTIONS_BY_SYSTEM:
        known = ", ".join(SECTIONS_BY_SYSTEM)
        raise typer.BadParameter(f"name the system with --setting system=SYSTEM, one of {known}.")
    added = parse_keys(system, keys) if keys else {}
    if "token" in added:
        raise InvalidQueryError("--setting: has a token", hint="Give it with --secret-stdin or --secret-file.")
    return {**values, **added}


def _read_stored(server: "OperatorServices", hosted: "HostedRepository", source: str) -> dict[str, Any]:
    listed = server.accounts.grants.list_sources(server.operator, hosted.id)
    return next((server.sources.describe(each) for each in listed if each.name == source), {})


def _read_settings(file: Path) -> dict[str, Any]:
    """Read the settings of a source.

    Raises:
        UnknownNameError: There is no such file.
        InvalidQueryError: It holds no settings, or a token, which belongs elsewhere.
    """
    import yaml

    try:
        values = yaml.safe_load(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UnknownNameError(f"{file}: no such file", hint="Give a YAML file with `system` and `address`.") from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InvalidQueryError(f"{file}: cannot be read: {type(error).__name__}", hint="Check the file.") from error
    if not isinstance(values, dict):
        raise InvalidQueryError(f"{file}: is not a mapping of settings", hint="Write `name: value` lines.")
    if "token" in values:
        raise InvalidQueryError(f"{file}: holds a token", hint="Give it with --secret-stdin or --secret-file.")
    return values
