"""``coderag server teams``: teams and their members."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from coderag.interfaces.cli.commands.server.opening import open_server
from coderag.interfaces.cli.commands.server.options import (
    LimitOption,
    ServerPlace,
    TeamArgument,
    UserArgument,
    YesOption,
    make_place,
)
from coderag.interfaces.cli.commands.server.printing import confirm_removal
from coderag.interfaces.cli.options import DebugOption, JsonOption
from coderag.interfaces.cli.output.streams import Output, escape_controls
from coderag.interfaces.cli.typer_ext.light_command import LightCommand
from coderag.interfaces.cli.typer_ext.light_group import LightGroup, show_help_without_command
from coderag.interfaces.cli.typer_ext.option_groups import expand_options
from coderag.server.access.roles import Action

if TYPE_CHECKING:
    from coderag.server.accounts.teams import TeamSummary

teams: Final = typer.Typer(name="teams", cls=LightGroup, invoke_without_command=True, rich_markup_mode=None)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name of the team.", show_default=False)]
NewNameOption = Annotated[str | None, typer.Option("--name", metavar="NAME", help="New name.", show_default=False)]
GroupOption = Annotated[
    str | None,
    typer.Option(
        "--group",
        metavar="GROUP",
        help="Group of your OpenID Connect provider whose members join it when they sign in; '' for none.",
        show_default=False,
    ),
]


@teams.callback()
def group(ctx: typer.Context) -> None:
    """Manage teams. Repositories are granted to teams: see `coderag server grants`."""
    show_help_without_command(ctx)


@teams.command(name="list", cls=LightCommand)
@expand_options("place", make_place)
def list_teams(
    *, limit: LimitOption = 200, place: ServerPlace, as_json: JsonOption = False, debug: DebugOption = False
) -> None:
    """List teams by name."""
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli.output.table import print_table

    output = Output(as_json)
    with open_server(place) as server:
        page = server.accounts.teams.list_teams(server.operator, limit=limit)
    if as_json:
        output.write_json({"teams": page.items})
        return
    rows = [(team.name, f"{team.member_count:,}", team.oidc_group or "-", team.id) for team in page.items]
    print_table(("name", "members", "group", "id"), rows, output)
    if not rows:
        output.note("no teams: create one with `coderag server teams add`")
    elif page.next is not None:
        output.note(f"the first {limit} are shown")


@teams.command(cls=LightCommand)
@expand_options("place", make_place)
def show(team: TeamArgument, *, place: ServerPlace, as_json: JsonOption = False, debug: DebugOption = False) -> None:
    """Show a team with its members and grants."""
    del debug  # as above
    from coderag.interfaces.cli.output.report import ReportRow, make_list_rows, print_report

    output = Output(as_json)
    with open_server(place) as server:
        summary = server.accounts.teams.find(server.operator, team)
        members = server.accounts.teams.list_members(server.operator, summary.id)
        grants = server.accounts.grants.list_grants(server.operator, team_id=summary.id)
    if as_json:
        output.write_json(summary, members=members, grants=grants)
        return
    granted = [
        f"{grant.level.name.lower()} {grant.repository}" + (f", source {grant.source}" if grant.source else "")
        for grant in grants
    ]
    rows = [
        ReportRow("id", summary.id),
        ReportRow("group", summary.oidc_group or "-"),
        *(make_list_rows("members", [f"{member.name} ({member.role})" for member in members])),
        *(make_list_rows("grants", granted)),
    ]
    print_report(summary.name, rows, output)


@teams.command(cls=LightCommand)
@expand_options("place", make_place)
def add(
    name: NameArgument,
    *,
    oidc_group: GroupOption = None,
    place: ServerPlace,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Create a team without members and grants."""
    del debug  # as above
    with open_server(place) as server, server.record(Action.TEAMS_MANAGE, "teams add", team=name):
        team = server.accounts.teams.create(server.operator, name, oidc_group)
    _print_change("created", team, Output(as_json))


@teams.command(name="set", cls=LightCommand)
@expand_options("place", make_place)
def set_(
    team: TeamArgument,
    *,
    name: NewNameOption = None,
    oidc_group: GroupOption = None,
    place: ServerPlace,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Change the name of a team, or the group of your provider that it follows."""
    del debug  # as above
    if name is None and oidc_group is None:
        raise typer.BadParameter("give --name or --group.")
    with open_server(place) as server:
        team_id = server.accounts.teams.find(server.operator, team).id
        with server.record(Action.TEAMS_MANAGE, "teams set", team_id=team_id, group=oidc_group or ""):
            changed = server.accounts.teams.update(server.operator, team_id, name=name, oidc_group=oidc_group)
    _print_change("changed", changed, Output(as_json))


@teams.command(cls=LightCommand)
@expand_options("place", make_place)
def remove(
    team: TeamArgument,
    *,
    yes: YesOption = False,
    place: ServerPlace,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Remove a team with its memberships and grants. Accounts and repositories stay."""
    del debug  # as above
    output = Output(as_json)
    with open_server(place) as server:
        summary = server.accounts.teams.find(server.operator, team)
        if not confirm_removal(f"Remove {summary.name} with its grants?", yes=yes):
            output.note("nothing changed")
            raise typer.Exit(1)
        with server.record(Action.TEAMS_MANAGE, "teams remove", team_id=summary.id, team=summary.name):
            server.accounts.teams.remove(server.operator, summary.id)
    _print_change("removed", summary, output)


@teams.command(name="add-member", cls=LightCommand)
@expand_options("place", make_place)
def add_member(
    team: TeamArgument,
    account: UserArgument,
    *,
    place: ServerPlace,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Add an account to a team, until you remove it."""
    del debug  # as above
    _change_member(team, account, place, Output(as_json), is_added=True)


@teams.command(name="remove-member", cls=LightCommand)
@expand_options("place", make_place)
def remove_member(
    team: TeamArgument,
    account: UserArgument,
    *,
    place: ServerPlace,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Remove an account from a team. A group of your provider brings it back at its next sign-in."""
    del debug  # as above
    _change_member(team, account, place, Output(as_json), is_added=False)


def _change_member(team: str, account: str, place: ServerPlace, output: Output, *, is_added: bool) -> None:
    command = "teams add-member" if is_added else "teams remove-member"
    with open_server(place) as server:
        service = server.accounts.teams
        team_id = service.find(server.operator, team).id
        user = server.accounts.users.find(server.operator, account)
        with server.record(Action.TEAMS_MANAGE, command, team_id=team_id, user_id=user.id):
            change = service.add_member if is_added else service.remove_member
            change(server.operator, team_id, user.id)
        summary = service.get(server.operator, team_id)
    if output.as_json:
        output.write_json({"team": summary.id, "user": user.id, "member": is_added})
    else:
        verb, word = ("added", "to") if is_added else ("removed", "from")
        count = "1 member" if summary.member_count == 1 else f"{summary.member_count:,} members"
        output.write(escape_controls(f"{verb} {user.name} {word} {summary.name}, which has {count}"))


def _print_change(verb: str, team: "TeamSummary", output: Output) -> None:
    if output.as_json:
        output.write_json(team)
    else:
        follows = f", follows the group {team.oidc_group}" if team.oidc_group else ""
        output.write(escape_controls(f"{verb} {team.name}{follows}, id {team.id}"))
