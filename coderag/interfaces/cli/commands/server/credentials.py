"""``coderag server credentials``: credentials of git servers."""

from typing import Annotated, Final, Literal

import typer

from coderag.interfaces.cli.commands.server.opening import open_server
from coderag.interfaces.cli.commands.server.options import ServerPlace, YesOption, make_place
from coderag.interfaces.cli.commands.server.printing import confirm_removal, format_time, to_record
from coderag.interfaces.cli.commands.server.secret_input import SecretFileOption, SecretStdinOption, read_secret
from coderag.interfaces.cli.options import DebugOption, JsonOption
from coderag.interfaces.cli.output.streams import Output, escape_controls
from coderag.interfaces.cli.typer_ext.light_command import LightCommand
from coderag.interfaces.cli.typer_ext.light_group import LightGroup, show_help_without_command
from coderag.interfaces.cli.typer_ext.option_groups import expand_options
from coderag.server.access.roles import Action

credentials: Final = typer.Typer(name="credentials", cls=LightGroup, invoke_without_command=True, rich_markup_mode=None)

_FIELDS: Final = ("id", "name", "kind", "host", "details", "created_at")

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="A unique name.", show_default=False)]
CredentialArgument = Annotated[
    str, typer.Argument(metavar="CREDENTIAL", help="The credential: name or id.", show_default=False)
]
HostArgument = Annotated[
    str, typer.Argument(metavar="HOST", help="Host that it is sent to, and to no other.", show_default=False)
]
KindOption = Annotated[
    Literal["token", "gitlab_token", "deploy_key", "github_app"],
    typer.Option("--kind", "-k", help="Access token, deploy key of SSH, or private key of a GitHub App."),
]
UserOption = Annotated[
    str | None, typer.Option("--user", metavar="NAME", help="User name of a token.", show_default=False)
]
AppOption = Annotated[
    str | None, typer.Option("--app-id", metavar="ID", help="Id of the GitHub App.", show_default=False)
]
InstallationOption = Annotated[
    str | None,
    typer.Option("--installation-id", metavar="ID", help="Id of the app's installation.", show_default=False),
]
ApiOption = Annotated[
    str | None,
    typer.Option("--api-url", metavar="URL", help="API of your own GitHub server.", show_default=False),
]


@credentials.callback()
def group(ctx: typer.Context) -> None:
    """Manage credentials of git servers. Secrets are encrypted, and never printed."""
    show_help_without_command(ctx)


@credentials.command(name="list", cls=LightCommand)
@expand_options("place", make_place)
def list_credentials(*, place: ServerPlace, as_json: JsonOption = False, debug: DebugOption = False) -> None:
    """List credentials by name."""
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli.output.table import print_table

    output = Output(as_json)
    with open_server(place) as server:
        listed = server.credentials.list()
    if as_json:
        output.write_json({"credentials": [to_record(credential, _FIELDS) for credential in listed]})
        return
    rows = [(each.name, each.kind, each.host, format_time(each.created_at), each.id) for each in listed]
    print_table(("name", "kind", "host", "created", "id"), rows, output)
    if not rows:
        output.note("no credentials: store one with `coderag server credentials add`")


@credentials.command(cls=LightCommand)
@expand_options("place", make_place)
def add(  # noqa: PLR0913  # one parameter an option
    name: NameArgument,
    host: HostArgument,
    *,
    kind: KindOption = "token",
    user: UserOption = None,
    app_id: AppOption = None,
    installation_id: InstallationOption = None,
    api_url: ApiOption = None,
    secret_stdin: SecretStdinOption = False,
    secret_file: SecretFileOption = None,
    place: ServerPlace,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Store a credential. You are asked for its secret, or give it with --secret-stdin or --secret-file."""
    del debug  # as above
    output = Output(as_json)
    secret = read_secret("secret", from_stdin=secret_stdin, file=secret_file)
    given = {"user": user, "app_id": app_id, "installation_id": installation_id, "api_url": api_url}
    details = {key: value for key, value in given.items() if value is not None}
    entry = {"credential": name, "host": host, "kind": kind}
    with open_server(place) as server, server.record(Action.REPOSITORIES_MANAGE, "credentials add", **entry):
        credential = server.credentials.create(name, kind, host, secret, details=details)
    if as_json:
        output.write_json(to_record(credential, _FIELDS))
    else:
        output.write(escape_controls(f"stored {credential.name} for {credential.host}, id {credential.id}"))


@credentials.command(cls=LightCommand)
@expand_options("place", make_place)
def remove(
    credential: CredentialArgument,
    *,
    yes: YesOption = False,
    place: ServerPlace,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Remove a credential that no repository uses."""
    del debug  # as above
    from coderag.errors import UnknownNameError

    output = Output(as_json)
    with open_server(place) as server:
        stored = next((each for each in server.credentials.list() if credential in (each.name, each.id)), None)
        if stored is None:
            hint = "`coderag server credentials list` lists them."
            raise UnknownNameError(f"unknown credential {credential!r}", hint=hint)
        if not confirm_removal(f"Remove {stored.name}?", yes=yes):
            output.note("nothing changed")
            raise typer.Exit(1)
        with server.record(Action.REPOSITORIES_MANAGE, "credentials remove", credential=stored.name):
            server.credentials.remove(stored.id)
    if as_json:
        output.write_json(to_record(stored, _FIELDS))
    else:
        output.write(escape_controls(f"removed {stored.name}"))
