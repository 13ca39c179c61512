"""``coderag server repositories``: repositories by git URL."""

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from coderag.interfaces.cli.commands.server.opening import open_server
from coderag.interfaces.cli.commands.server.options import RepositoryArgument, ServerPlace, YesOption, make_place
from coderag.interfaces.cli.commands.server.printing import confirm_removal, format_time, to_record
from coderag.interfaces.cli.options import DebugOption, JsonOption
from coderag.interfaces.cli.output.streams import Output, escape_controls
from coderag.interfaces.cli.typer_ext.light_command import LightCommand
from coderag.interfaces.cli.typer_ext.light_group import LightGroup, show_help_without_command
from coderag.interfaces.cli.typer_ext.option_groups import expand_options
from coderag.server.access.roles import Action

if TYPE_CHECKING:
    from coderag.interfaces.cli.commands.server.operator_services import OperatorServices
    from coderag.server.storage.models import HostedRepository

repositories: Final = typer.Typer(
    name="repositories", cls=LightGroup, invoke_without_command=True, rich_markup_mode=None
)

_FIELDS: Final = (
    "id", "name", "url", "branch", "credential_id", "team_id", "interval_minutes", "commit", "indexed_at",
    "next_sync_at", "created_at",
)  # fmt: skip
_SHORT_COMMIT_CHARS: Final = 12

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="A unique name.", show_default=False)]
UrlArgument = Annotated[
    str, typer.Argument(metavar="URL", help="Git URL, without a password in it.", show_default=False)
]
NewNameOption = Annotated[str | None, typer.Option("--name", metavar="NAME", help="New name.", show_default=False)]
UrlOption = Annotated[str | None, typer.Option("--url", metavar="URL", help="New git URL.", show_default=False)]
BranchOption = Annotated[
    str | None,
    typer.Option("--branch", metavar="NAME", help="Branch to follow; '' for the default branch.", show_default=False),
]
CredentialOption = Annotated[
    str | None,
    typer.Option("--credential", metavar="NAME", help="Credential of its git server; '' for none.", show_default=False),
]
TeamOption = Annotated[
    str | None,
    typer.Option(
        "--team", metavar="TEAM", help="Team whose share of the queue its jobs take; '' for none.", show_default=False
    ),
]
IntervalOption = Annotated[
    int | None,
    typer.Option(
        "--every", metavar="MINUTES", min=0, help="Minutes between fetches; 0: after pushes only.", show_default=False
    ),
]


@repositories.callback()
def group(ctx: typer.Context) -> None:
    """Manage repositories. A worker of the running server fetches and indexes them.

    Only owners and admins see a repository until a team has a grant: see `coderag server grants`.
    """
    show_help_without_command(ctx)


@repositories.command(name="list", cls=LightCommand)
@expand_options("place", make_place)
def list_repositories(*, place: ServerPlace, as_json: JsonOption = False, debug: DebugOption = False) -> None:
    """List repositories by name."""
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli.output.table import print_table

    output = Output(as_json)
    with open_server(place) as server:
        listed = server.repositories.list()
    if as_json:
        output.write_json({"repositories": [to_record(repository, _FIELDS) for repository in listed]})
        return
    rows = [
        (each.name, each.branch or "default", each.commit[:_SHORT_COMMIT_CHARS] or "not indexed",
         format_time(each.indexed_at), each.url, each.id)
        for each in listed
    ]  # fmt: skip
    print_table(("name", "branch", "commit", "indexed", "URL", "id"), rows, output, {"not indexed": "yellow"})
    if not rows:
        output.note("no repositories: add one with `coderag server repositories add`")


@repositories.command(cls=LightCommand)
@expand_options("place", make_place)
def add(  # noqa: PLR0913  # one parameter an option
    name: NameArgument,
    url: UrlArgument,
    *,
    branch: BranchOption = None,
    credential: CredentialOption = None,
    team: TeamOption = None,
    interval: IntervalOption = None,
    place: ServerPlace,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Add a repository and queue its first job."""
    del debug  # as above
    with open_server(place) as server:
        values = _collect_changes(server, credential=credential, team=team, branch=branch, interval=interval)
        with server.record(Action.REPOSITORIES_MANAGE, "repositories add", repository=name):
            repository = server.repositories.add(name, url, **values)
    _print_change("added", repository, Output(as_json))


@repositories.command(name="set", cls=LightCommand)
@expand_options("place", make_place)
def set_(  # noqa: PLR0913  # one parameter an option
    repository: RepositoryArgument,
    *,
    name: NewNameOption = None,
    url: UrlOption = None,
    branch: BranchOption = None,
    credential: CredentialOption = None,
    team: TeamOption = None,
    interval: IntervalOption = None,
    place: ServerPlace,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Change a repository. Another URL, branch or credential queues a job."""
    del debug  # as above
    if all(value is None for value in (name, url, branch, credential, team, interval)):
        raise typer.BadParameter("give --name, --url, --branch, --credential, --team or --every.")
    with open_server(place) as server:
        values = _collect_changes(server, credential=credential, team=team, branch=branch, interval=interval)
        values |= {key: value for key, value in (("name", name), ("url", url)) if value is not None}
        repository_id = server.find_repository(repository).id
        changed = ", ".join(sorted(values))
        with server.record(
            Action.REPOSITORIES_MANAGE, "repositories set", repository_id=repository_id, changed=changed
        ):
            stored = server.repositories.update(repository_id, **values)
    _print_change("changed", stored, Output(as_json))


@repositories.command(cls=LightCommand)
@expand_options("place", make_place)
def remove(
    repository: RepositoryArgument,
    *,
    yes: YesOption = False,
    place: ServerPlace,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Remove a repository with its grants, jobs, mirror and index."""
    del debug  # as above
    output = Output(as_json)
    with open_server(place) as server:
        stored = server.find_repository(repository)
        if not confirm_removal(f"Remove {stored.name} with its mirror and index?", yes=yes):
            output.note("nothing changed")
            raise typer.Exit(1)
        with server.record(Action.REPOSITORIES_MANAGE, "repositories remove", repository_id=stored.id):
            server.repositories.remove(stored.id)
    _print_change("removed", stored, output)


@repositories.command(cls=LightCommand)
@expand_options("place", make_place)
def sync(
    repository: RepositoryArgument, *, place: ServerPlace, as_json: JsonOption = False, debug: DebugOption = False
) -> None:
    """Queue a job that fetches and indexes a repository, or join the queued one."""
    del debug  # as above
    from coderag.interfaces.cli.commands.server.jobs import print_job

    with open_server(place) as server:
        stored = server.find_repository(repository)
        with server.record(Action.REPOSITORY_INDEX, "repositories sync", repository_id=stored.id):
            job = server.queue.submit(stored.id, "manual")
    print_job("queued", job, stored.name, Output(as_json))


@repositories.command(cls=LightCommand)
@expand_options("place", make_place)
def webhook(
    repository: RepositoryArgument, *, place: ServerPlace, as_json: JsonOption = False, debug: DebugOption = False
) -> None:
    """Create a new webhook secret and print it once. The last one is not accepted any more."""
    del debug  # as above
    output = Output(as_json)
    with open_server(place) as server:
        stored = server.find_repository(repository)
        with server.record(Action.REPOSITORY_ADMINISTER, "repositories webhook", repository_id=stored.id):
            secret = server.repositories.create_webhook_secret(stored.id)
        address = server.settings.public_url.rstrip("/")
    if as_json:
        output.write_json({"url": f"{address}/hooks/{stored.id}", "secret": secret})
        return
    output.write(secret)
    host = address or "https://YOUR-SERVER"
    output.note(f"webhook of {stored.name}: {host}/hooks/{stored.id}; its secret is not shown again")


@repositories.command(cls=LightCommand)
@expand_options("place", make_place)
def sources(
    repository: RepositoryArgument, *, place: ServerPlace, as_json: JsonOption = False, debug: DebugOption = False
) -> None:
    """List the documentation and backlog sources of a repository."""
    del debug  # as above
    from coderag.interfaces.cli.output.table import print_table

    output = Output(as_json)
    with open_server(place) as server:
        stored = server.find_repository(repository)
        listed = server.accounts.grants.list_sources(server.operator, stored.id)
    if as_json:
        output.write_json({"sources": [to_record(source, ("id", "name", "kind", "synced_at")) for source in listed]})
        return
    rows = [(source.name, source.kind, format_time(source.synced_at), source.id) for source in listed]
    print_table(("name", "kind", "synchronized", "id"), rows, output)
    if not rows:
        output.note(f"{stored.name} has no sources")


def _collect_changes(
    server: "OperatorServices", *, credential: str | None, team: str | None, branch: str | None, interval: int | None
) -> dict[str, Any]:
    """Return the given values as arguments of the service; '' stands for none."""
    from coderag.errors import UnknownNameError

    values: dict[str, Any] = {}
    if credential is not None:
        known = {each.name: each.id for each in server.credentials.list()}
        if credential and credential not in known and credential not in known.values():
            hint = "`coderag server credentials list` lists them."
            raise UnknownNameError(f"unknown credential {credential!r}", hint=hint)
        values["credential_id"] = known.get(credential, credential) or None
    if team is not None:
        values["team_id"] = server.accounts.teams.find(server.operator, team).id if team else None
    if branch is not None:
        values["branch"] = branch
    if interval is not None:
        values["interval_minutes"] = interval
    return values


def _print_change(verb: str, repository: "HostedRepository", output: Output) -> None:
    if output.as_json:
        output.write_json(to_record(repository, _FIELDS))
    else:
        output.write(escape_controls(f"{verb} {repository.name}, id {repository.id}"))
