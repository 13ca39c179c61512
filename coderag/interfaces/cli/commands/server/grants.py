"""``coderag server grants``: levels of teams on repositories and sources."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from coderag.interfaces.cli.commands.server.opening import open_server
from coderag.interfaces.cli.commands.server.options import (
    LevelName,
    RepositoryArgument,
    ServerPlace,
    TeamArgument,
    make_place,
)
from coderag.interfaces.cli.options import DebugOption, JsonOption
from coderag.interfaces.cli.output.streams import Output, escape_controls
from coderag.interfaces.cli.typer_ext.light_command import LightCommand
from coderag.interfaces.cli.typer_ext.light_group import LightGroup, show_help_without_command
from coderag.interfaces.cli.typer_ext.option_groups import expand_options
from coderag.server.access.roles import Action, Level

if TYPE_CHECKING:
    from coderag.server.accounts.grants import GrantSummary

grants: Final = typer.Typer(name="grants", cls=LightGroup, invoke_without_command=True, rich_markup_mode=None)

LevelArgument = Annotated[LevelName, typer.Argument(help="Level; each includes those before it.", show_default=False)]
SourceOption = Annotated[
    str | None,
    typer.Option("--source", "-s", metavar="NAME", help="One of its sources, instead of it.", show_default=False),
]
TeamOption = Annotated[
    str | None, typer.Option("--team", "-t", metavar="TEAM", help="Only those of this team.", show_default=False)
]
RepositoryOption = Annotated[
    str | None,
    typer.Option("--repository", metavar="NAME", help="Only those on this repository.", show_default=False),
]


@grants.callback()
def group(ctx: typer.Context) -> None:
    """Grant repositories and their sources to teams.

    read: search and ask. index: also start jobs. administer: also change the schedule and the webhook.
    """
    show_help_without_command(ctx)


@grants.command(name="list", cls=LightCommand)
@expand_options("place", make_place)
def list_grants(
    *,
    team: TeamOption = None,
    repository: RepositoryOption = None,
    place: ServerPlace,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """List grants by team, repository and source."""
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli.output.table import print_table

    output = Output(as_json)
    with open_server(place) as server:
        team_id = server.accounts.teams.find(server.operator, team).id if team else ""
        repository_id = server.find_repository(repository).id if repository else ""
        summaries = server.accounts.grants.list_grants(server.operator, team_id=team_id, repository_id=repository_id)
    if as_json:
        output.write_json({"grants": [_to_record(grant) for grant in summaries]})
        return
    rows = [(each.team, each.repository, each.source or "-", each.level.name.lower(), each.id) for each in summaries]
    print_table(("team", "repository", "source", "level", "id"), rows, output)
    if not rows:
        output.note("no grants: set one with `coderag server grants set`")


@grants.command(name="set", cls=LightCommand)
@expand_options("place", make_place)
def set_(
    team: TeamArgument,
    repository: RepositoryArgument,
    level: LevelArgument,
    *,
    source: SourceOption = None,
    place: ServerPlace,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Set the level of a team on a repository, or on one of its sources.

    A source has the level of its repository until a team has a grant on it. Then only such teams see it.
    """
    del debug  # as above
    output = Output(as_json)
    with open_server(place) as server:
        service = server.accounts.grants
        team_id = server.accounts.teams.find(server.operator, team).id
        repository_id = server.find_repository(repository).id
        source_id = service.find_source(server.operator, repository_id, source).id if source else None
        subject = {"source_id": source_id} if source_id else {"repository_id": repository_id}
        detail = {"team_id": team_id, "level": level, "source": source or ""}
        with server.record(Action.TEAMS_MANAGE, "grants set", repository_id=repository_id, **detail):
            grant = service.set_level(server.operator, team_id, Level[level.upper()], **subject)
    if as_json:
        output.write_json(_to_record(grant))
    else:
        output.write(escape_controls(f"{grant.team} has {level} on {_describe_subject(grant)}"))
    if source:
        output.note(f"Only teams with a grant on the source {source} see it now.")


@grants.command(cls=LightCommand)
@expand_options("place", make_place)
def remove(
    team: TeamArgument,
    repository: RepositoryArgument,
    *,
    source: SourceOption = None,
    place: ServerPlace,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Remove the grant of a team on a repository, or on one of its sources."""
    del debug  # as above
    from coderag.errors import UnknownNameError

    output = Output(as_json)
    with open_server(place) as server:
        team_id = server.accounts.teams.find(server.operator, team).id
        repository_id = server.find_repository(repository).id
        candidates = server.accounts.grants.list_grants(server.operator, team_id=team_id, repository_id=repository_id)
        grant = next((each for each in candidates if each.source == source), None)
        if grant is None:
            place_name = f"the source {source} of {repository}" if source else repository
            raise UnknownNameError(
                f"{team} has no grant on {place_name}", hint="`coderag server grants list` lists the grants."
            )
        detail = {"team_id": team_id, "source": source or ""}
        with server.record(Action.TEAMS_MANAGE, "grants remove", repository_id=repository_id, **detail):
            server.accounts.grants.remove(server.operator, team_id, grant.id)
    if as_json:
        output.write_json(_to_record(grant))
    else:
        output.write(escape_controls(f"removed the grant of {grant.team} on {_describe_subject(grant)}"))


def _describe_subject(grant: "GrantSummary") -> str:
    return f"the source {grant.source} of {grant.repository}" if grant.source else grant.repository


def _to_record(grant: "GrantSummary") -> dict[str, object]:
    return {
        "id": grant.id,
        "team": grant.team,
        "repository": grant.repository,
        "source": grant.source,
        "level": grant.level.name.lower(),
    }
