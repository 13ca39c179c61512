"""``coderag server keys``: API keys of accounts."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Final

import typer

from coderag.interfaces.cli.commands.server.opening import open_server
from coderag.interfaces.cli.commands.server.options import ScopeName, ServerPlace, UserArgument, make_place
from coderag.interfaces.cli.commands.server.printing import ROLE_STYLES, format_time, to_record
from coderag.interfaces.cli.options import DebugOption, JsonOption
from coderag.interfaces.cli.output.streams import Output, escape_controls
from coderag.interfaces.cli.typer_ext.light_command import LightCommand
from coderag.interfaces.cli.typer_ext.light_group import LightGroup, show_help_without_command
from coderag.interfaces.cli.typer_ext.option_groups import expand_options
from coderag.server.access.roles import Action

if TYPE_CHECKING:
    from coderag.server.storage.models import ApiKey

keys: Final = typer.Typer(name="keys", cls=LightGroup, invoke_without_command=True, rich_markup_mode=None)

_FIELDS: Final = ("id", "kind", "name", "prefix", "scopes", "created_at", "expires_at", "used_at", "revoked_at")
_SCOPES: Final[dict[str, list[str]]] = {
    "read": ["read"],
    "index": ["read", "index"],
    "administer": ["read", "index", "administer"],
}

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Purpose of the key.", show_default=False)]
KeyArgument = Annotated[
    str, typer.Argument(metavar="KEY", help="Id of the key, as `keys list` prints it.", show_default=False)
]
ScopeOption = Annotated[
    ScopeName, typer.Option("--scope", help="Highest level that it allows; the role and grants limit it, too.")
]
RepositoryOption = Annotated[
    list[str] | None,
    typer.Option("--repository", metavar="NAME", help="Only this repository. Repeatable.", show_default=False),
]
DaysOption = Annotated[
    int | None,
    typer.Option("--days", metavar="N", min=1, max=3_650, help="Days until it expires.", show_default=False),
]


@keys.callback()
def group(ctx: typer.Context) -> None:
    """Manage API keys. A secret is printed once, when its key is created."""
    show_help_without_command(ctx)


@keys.command(name="list", cls=LightCommand)
@expand_options("place", make_place)
def list_keys(
    account: UserArgument, *, place: ServerPlace, as_json: JsonOption = False, debug: DebugOption = False
) -> None:
    """List the keys and agent tokens of an account, newest first."""
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli.output.table import print_table

    output = Output(as_json)
    with open_server(place) as server:
        user = server.accounts.users.find(server.operator, account)
        listed = server.keys.list(user.id)
    if as_json:
        output.write_json({"user": user.id, "keys": [to_record(key, _FIELDS) for key in listed]})
        return
    columns = ("name", "kind", "prefix", "scopes", "state", "last used", "expires", "id")
    print_table(columns, [_make_row(key) for key in listed], output, ROLE_STYLES)
    if not listed:
        output.note(f"{user.name} has no keys")


@keys.command(cls=LightCommand)
@expand_options("place", make_place)
def create(  # noqa: PLR0913  # one parameter an option
    account: UserArgument,
    name: NameArgument,
    *,
    scope: ScopeOption = "read",
    repository: RepositoryOption = None,
    days: DaysOption = None,
    place: ServerPlace,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Create a key of an account and print its secret, which cannot be printed again."""
    del debug  # as above
    output = Output(as_json)
    expires_at = datetime.now(UTC) + timedelta(days=days) if days else None
    with open_server(place) as server:
        user = server.accounts.users.find(server.operator, account)
        bound = [server.find_repository(each).id for each in repository] if repository else None
        detail = {"user_id": user.id, "key": name, "scope": scope}
        with server.record(Action.USERS_MANAGE, "keys create", **detail):
            created = server.keys.create(
                server.operator,
                user.id,
                name,
                scopes=_SCOPES[scope],
                repository_ids=bound,
                expires_at=expires_at,
            )
    if as_json:
        output.write_json({"key": to_record(created.key, _FIELDS), "secret": created.secret})
        return
    output.write(created.secret)
    until = f", expires {format_time(expires_at)}" if expires_at else ""
    output.note(f"key {name} of {user.name}{until}, id {created.key.id}; its secret is not shown again")


@keys.command(cls=LightCommand)
@expand_options("place", make_place)
def revoke(key: KeyArgument, *, place: ServerPlace, as_json: JsonOption = False, debug: DebugOption = False) -> None:
    """Revoke a key at once, with the agent tokens that it made."""
    del debug  # as above
    output = Output(as_json)
    with open_server(place) as server, server.record(Action.USERS_MANAGE, "keys revoke", key_id=key):
        server.keys.revoke(server.operator, key)
    if as_json:
        output.write_json({"id": key, "revoked": True})
    else:
        output.write(escape_controls(f"revoked {key}"))


def _make_row(key: "ApiKey") -> tuple[str, ...]:
    state = "active"
    if key.revoked_at is not None:
        state = "revoked"
    elif key.expires_at is not None and key.expires_at <= datetime.now(UTC):
        state = "expired"
    return (
        key.name,
        key.kind,
        key.prefix,
        ", ".join(key.scopes),
        state,
        format_time(key.used_at),
        format_time(key.expires_at),
        key.id,
    )
