"""``coderag server sources``: documentation and backlog systems of hosted repositories."""

from pathlib import Path
from typing import Annotated, Any, Final

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

sources: Final = typer.Typer(name="sources", cls=LightGroup, invoke_without_command=True, rich_markup_mode=None)

RepositoryArgument = Annotated[
    str, typer.Argument(metavar="REPOSITORY", help="The repository: name or id.", show_default=False)
]
SourceArgument = Annotated[str, typer.Argument(metavar="SOURCE", help="Name of the source.", show_default=False)]
SettingsArgument = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="YAML file with its settings as in .coderag.yaml, without the token.", show_default=False
    ),
]


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
                "synced_at": each.synced_at,
            }
            for each in listed
        ]
    if as_json:
        output.write_json({"sources": records})
        return
    rows = [
        (each.name, each.kind, "server" if each.sealed_settings else "repository", format_time(each.synced_at))
        for each in listed
    ]
    print_table(("name", "kind", "settings", "synchronised"), rows, output)
    if not rows:
        output.note("no sources: set one with `coderag server sources set`")


@sources.command(name="set", cls=LightCommand)
@expand_options("place", make_place)
def set_source(  # noqa: PLR0913  # one parameter an option
    repository: RepositoryArgument,
    source: SourceArgument,
    file: SettingsArgument,
    *,
    secret_stdin: SecretStdinOption = False,
    secret_file: SecretFileOption = None,
    place: ServerPlace,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Set the settings of a source. You are asked for its token, or give it with --secret-stdin or --secret-file.

    The next job of the repository synchronises it.
    """
    del debug  # as above
    output = Output(as_json)
    values = _read_settings(file)
    values["token"] = read_secret("token", from_stdin=secret_stdin, file=secret_file)
    with open_server(place) as server:
        hosted = server.find_repository(repository)
        entry = {"source": source, "system": str(values.get("system", ""))}
        with server.record(Action.REPOSITORIES_MANAGE, "sources set", repository_id=hosted.id, **entry):
            stored = server.sources.put(hosted.id, source, values)
            server.queue.submit(hosted.id, "manual")
    if as_json:
        output.write_json({"name": stored.name, "kind": stored.kind})
    else:
        output.write(escape_controls(f"set {stored.name} of {hosted.name}: {stored.kind}; a job is queued"))


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
    """Remove a source with its grants."""
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
