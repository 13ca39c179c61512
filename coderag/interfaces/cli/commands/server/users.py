"""``coderag server users``: accounts of people and programs."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from coderag.interfaces.cli.commands.server.opening import open_server
from coderag.interfaces.cli.commands.server.options import (
    LimitOption,
    RoleName,
    ServerPlace,
    UserArgument,
    YesOption,
    make_place,
)
from coderag.interfaces.cli.commands.server.printing import ROLE_STYLES, confirm_removal, format_time, to_record
from coderag.interfaces.cli.options import DebugOption, JsonOption
from coderag.interfaces.cli.output.streams import Output, escape_controls
from coderag.interfaces.cli.typer_ext.light_command import LightCommand
from coderag.interfaces.cli.typer_ext.light_group import LightGroup, show_help_without_command
from coderag.interfaces.cli.typer_ext.option_groups import expand_options
from coderag.server.access.roles import Action, Role

if TYPE_CHECKING:
    from coderag.server.storage.models import User

users: Final = typer.Typer(name="users", cls=LightGroup, invoke_without_command=True, rich_markup_mode=None)

_FIELDS: Final = ("id", "kind", "name", "email", "role", "is_active", "created_at", "seen_at")

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name of the account.", show_default=False)]
EmailArgument = Annotated[
    str, typer.Argument(metavar="EMAIL", help="E-mail, by which the person signs in.", show_default=False)
]
RoleOption = Annotated[RoleName, typer.Option("--role", "-r", help="Role of the account.")]
NewRoleOption = Annotated[RoleName | None, typer.Option("--role", "-r", help="New role.", show_default=False)]
NewNameOption = Annotated[str | None, typer.Option("--name", metavar="NAME", help="New name.", show_default=False)]
DisableOption = Annotated[bool, typer.Option("--disable", help="Refuse its keys, and end its sessions.")]
EnableOption = Annotated[bool, typer.Option("--enable", help="Accept its keys and sign-ins again.")]
SearchOption = Annotated[
    str, typer.Option("--search", "-s", metavar="TEXT", help="Part of the name or e-mail.", show_default=False)
]


@users.callback()
def group(ctx: typer.Context) -> None:
    """Manage accounts. Roles: owner, admin, member, viewer, auditor.

    The last active owner cannot be removed, disabled or given another role.
    """
    show_help_without_command(ctx)


@users.command(name="list", cls=LightCommand)
@expand_options("place", make_place)
def list_users(
    *,
    search: SearchOption = "",
    limit: LimitOption = 200,
    place: ServerPlace,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """List accounts by name."""
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli.output.table import print_table
    from coderag.server.accounts.users import UserFilters

    output = Output(as_json)
    with open_server(place) as server:
        page = server.accounts.users.list_users(server.operator, UserFilters(search), limit=limit)
    if as_json:
        output.write_json({"users": [to_record(user, _FIELDS) for user in page.items]})
        return
    columns = ("name", "e-mail", "role", "state", "last seen", "id")
    print_table(columns, [_make_row(user) for user in page.items], output, ROLE_STYLES)
    if page.next is not None:
        output.note(f"the first {limit} are shown: narrow them with --search")


@users.command(cls=LightCommand)
@expand_options("place", make_place)
def show(account: UserArgument, *, place: ServerPlace, as_json: JsonOption = False, debug: DebugOption = False) -> None:
    """Show an account with its teams."""
    del debug  # as above
    from coderag.interfaces.cli.output.report import ReportRow, print_report

    output = Output(as_json)
    with open_server(place) as server:
        user = server.accounts.users.find(server.operator, account)
        teams = [team.name for team in server.accounts.users.list_teams(server.operator, user.id)]
    if as_json:
        output.write_json({**to_record(user, _FIELDS), "teams": teams})
        return
    rows = [
        ReportRow("id", user.id),
        ReportRow("kind", user.kind),
        ReportRow("e-mail", user.email or "-"),
        ReportRow("role", user.role, ROLE_STYLES.get(user.role, "")),
        ReportRow("state", _describe_state(user), ROLE_STYLES.get(_describe_state(user), "")),
        ReportRow("teams", ", ".join(teams) or "none"),
        ReportRow("created", format_time(user.created_at)),
        ReportRow("last seen", format_time(user.seen_at)),
    ]
    print_report(user.name, rows, output)


@users.command(cls=LightCommand)
@expand_options("place", make_place)
def add(
    name: NameArgument,
    email: EmailArgument,
    *,
    role: RoleOption = "member",
    place: ServerPlace,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Create the account of a person, who signs in at your provider or with a key."""
    del debug  # as above
    with open_server(place) as server, server.record(Action.USERS_MANAGE, "users add", email=email, role=role):
        user = server.accounts.users.create_person(server.operator, name, email, Role(role))
    _print_change("created", user, Output(as_json))


@users.command(name="add-service", cls=LightCommand)
@expand_options("place", make_place)
def add_service(
    name: NameArgument,
    *,
    role: RoleOption = "member",
    place: ServerPlace,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Create the account of a program, which uses keys only: see `coderag server keys create`."""
    del debug  # as above
    with open_server(place) as server, server.record(Action.USERS_MANAGE, "users add-service", user=name, role=role):
        user = server.accounts.users.create_service_account(server.operator, name, Role(role))
    _print_change("created", user, Output(as_json))


@users.command(name="set", cls=LightCommand)
@expand_options("place", make_place)
def set_(  # noqa: PLR0913  # one parameter an option
    account: UserArgument,
    *,
    role: NewRoleOption = None,
    name: NewNameOption = None,
    disable: DisableOption = False,
    enable: EnableOption = False,
    place: ServerPlace,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Change the role or name of an account, disable it or enable it."""
    del debug  # as above
    if disable and enable:
        raise typer.BadParameter("--disable and --enable cannot be combined.")
    if not (role or name or disable or enable):
        raise typer.BadParameter("give --role, --name, --disable or --enable.")
    is_active = False if disable else True if enable else None
    state = "disabled" if disable else "enabled" if enable else ""
    with open_server(place) as server:
        user = server.accounts.users.find(server.operator, account)
        with server.record(Action.USERS_MANAGE, "users set", user_id=user.id, role=role or "", state=state):
            new_role = Role(role) if role else None
            user = server.accounts.users.update(server.operator, user.id, name=name, role=new_role, is_active=is_active)
    _print_change("changed", user, Output(as_json))


@users.command(name="sign-out", cls=LightCommand)
@expand_options("place", make_place)
def sign_out(
    account: UserArgument, *, place: ServerPlace, as_json: JsonOption = False, debug: DebugOption = False
) -> None:
    """End all browser sessions of an account. Its keys stay."""
    del debug  # as above
    output = Output(as_json)
    with open_server(place) as server:
        user = server.accounts.users.find(server.operator, account)
        with server.record(Action.USERS_MANAGE, "users sign-out", user_id=user.id):
            ended = server.accounts.users.end_sessions(server.operator, user.id)
    if as_json:
        output.write_json({"id": user.id, "ended": ended})
    else:
        output.write(escape_controls(f"ended {ended} sessions of {user.name}"))


@users.command(cls=LightCommand)
@expand_options("place", make_place)
def remove(
    account: UserArgument,
    *,
    yes: YesOption = False,
    place: ServerPlace,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Remove an account with its keys, sessions and memberships. The audit record stays."""
    del debug  # as above
    output = Output(as_json)
    with open_server(place) as server:
        user = server.accounts.users.find(server.operator, account)
        if not confirm_removal(f"Remove {user.name} with its keys and sessions?", yes=yes):
            output.note("nothing changed")
            raise typer.Exit(1)
        with server.record(Action.USERS_MANAGE, "users remove", user_id=user.id, email=user.email or ""):
            server.accounts.users.remove(server.operator, user.id)
    _print_change("removed", user, output)


def _print_change(verb: str, user: "User", output: Output) -> None:
    if output.as_json:
        output.write_json(to_record(user, _FIELDS))
    else:
        label = f"{user.name} <{user.email}>" if user.email else user.name
        output.write(escape_controls(f"{verb} {label}: {user.role}, {_describe_state(user)}, id {user.id}"))


def _describe_state(user: "User") -> str:
    return "active" if user.is_active else "disabled"


def _make_row(user: "User") -> tuple[str, ...]:
    email = user.email or ("(program)" if user.kind == "service" else "-")
    return user.name, email, user.role, _describe_state(user), format_time(user.seen_at), user.id
