"""Commands of ``coderag server`` that set up and run a server, with the groups of the others."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from coderag.errors import InvalidQueryError
from coderag.interfaces.cli.commands.server.audit import audit
from coderag.interfaces.cli.commands.server.backup import backup
from coderag.interfaces.cli.commands.server.credentials import credentials
from coderag.interfaces.cli.commands.server.grants import grants
from coderag.interfaces.cli.commands.server.jobs import jobs
from coderag.interfaces.cli.commands.server.keys import keys
from coderag.interfaces.cli.commands.server.opening import explain_missing_extra, load_settings, open_server
from coderag.interfaces.cli.commands.server.options import ServerPlace, make_place
from coderag.interfaces.cli.commands.server.repositories import repositories
from coderag.interfaces.cli.commands.server.sources import sources
from coderag.interfaces.cli.commands.server.teams import teams
from coderag.interfaces.cli.commands.server.users import users
from coderag.interfaces.cli.options import DebugOption, JsonOption
from coderag.interfaces.cli.output.streams import Output
from coderag.interfaces.cli.typer_ext.light_command import LightCommand
from coderag.interfaces.cli.typer_ext.option_groups import expand_options

if TYPE_CHECKING:
    from coderag.interfaces.cli.output.report import ReportRow
    from coderag.server.overview import ServerOverview

commands: Final = typer.Typer(name="server", rich_markup_mode=None)

OwnerNameOption = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="Name of the first owner.", show_default=False)
]
OwnerEmailOption = Annotated[
    str | None, typer.Option("--email", metavar="EMAIL", help="E-mail of the first owner.", show_default=False)
]
HostOption = Annotated[
    str | None, typer.Option("--host", metavar="ADDRESS", help="Address to listen on.", show_default=False)
]
PortOption = Annotated[
    int | None,
    typer.Option(
        "--port", metavar="N", min=0, max=65_535, help="Port to listen on; 0 picks a free one.", show_default=False
    ),
]
UrlOption = Annotated[
    str | None,
    typer.Option("--public-url", metavar="URL", help="Address that users see.", show_default=False),
]
CertOption = Annotated[
    Path | None,
    typer.Option("--tls-cert", metavar="FILE", help="Certificate, to serve TLS without a proxy.", show_default=False),
]
KeyOption = Annotated[
    Path | None, typer.Option("--tls-key", metavar="FILE", help="Key of the certificate.", show_default=False)
]


for subgroup in (users, teams, grants, keys, repositories, credentials, sources, jobs, audit, backup):
    commands.add_typer(subgroup)


@commands.command(cls=LightCommand)
@expand_options("place", make_place)
def init(
    *,
    name: OwnerNameOption = None,
    email: OwnerEmailOption = None,
    place: ServerPlace,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Create the master key, the database and the first owner, and print the owner's key once.

    Keep a copy of the master key apart from the database: stored secrets and the audit record need it.
    """
    del debug  # read in main, before anything can fail
    output = Output(as_json)
    settings = load_settings(place)
    owner = name or _ask("Name of the owner", "--name"), email or _ask("E-mail of the owner", "--email")
    with explain_missing_extra():
        from coderag.server.backup import get_key_path
        from coderag.server.initialization import initialize

    created = initialize(settings, *owner)
    key_path = get_key_path(settings)
    if as_json:
        output.write_json(
            {"user": created.key.user_id, "key": created.key.id, "secret": created.secret, "master_key": key_path}
        )
        return
    output.write(created.secret)
    output.note("This is the key of the first owner. It is not shown again.")
    output.note(f"Keep a copy of {key_path}, apart from the database.")
    output.note("Start the server with `coderag server start`.")


@commands.command(cls=LightCommand)
@expand_options("place", make_place)
def start(
    *,
    host: HostOption = None,
    port: PortOption = None,
    public_url: UrlOption = None,
    tls_cert: CertOption = None,
    tls_key: KeyOption = None,
    place: ServerPlace,
    debug: DebugOption = False,
) -> None:
    """Serve the web interface, REST and MCP, and index repositories, until the process is ended."""
    del debug  # as above
    given = {"host": host, "port": port, "public_url": public_url, "tls_cert": tls_cert, "tls_key": tls_key}
    settings = load_settings(place, **given)
    with explain_missing_extra():
        from coderag.interfaces.server.process import serve

    output = Output()

    def print_address(address: str) -> None:
        output.write(f"serving at {address}")
        output.note("Stop it with Ctrl-C; requests in flight are finished.")

    serve(settings, print_address, partial(load_settings, place, **given))


@commands.command(cls=LightCommand)
@expand_options("place", make_place)
def upgrade(*, place: ServerPlace, as_json: JsonOption = False, debug: DebugOption = False) -> None:
    """Change the tables of the database to those of this version, in one transaction. Back up first."""
    del debug  # as above
    output = Output(as_json)
    settings = load_settings(place)
    with explain_missing_extra():
        from coderag.server.storage.database import Database
        from coderag.server.storage.upgrade import get_revision
        from coderag.server.storage.upgrade import upgrade as upgrade_tables

    database = Database(settings.url)
    try:
        before = get_revision(database)
        if before is None:
            raise InvalidQueryError("the database has no tables yet", hint="Run `coderag server init`.")
        revision = upgrade_tables(database)
    finally:
        database.close()
    if before != revision:
        _record_upgrade(place, before, revision)
    if as_json:
        output.write_json({"before": before, "revision": revision, "changed": before != revision})
    else:
        output.write(f"upgraded from {before} to {revision}" if before != revision else f"up to date: {revision}")


@commands.command(cls=LightCommand)
@expand_options("place", make_place)
def status(*, place: ServerPlace, as_json: JsonOption = False, debug: DebugOption = False) -> None:
    """Show whether the processes of the server respond, and what its database holds."""
    del debug  # as above
    from coderag.interfaces.cli.output.report import ReportRow, print_report

    output = Output(as_json)
    with open_server(place) as local:
        from coderag.interfaces.cli.commands.server.health import check_health
        from coderag.server.overview import read_overview

        settings, overview = local.settings, read_overview(local.database)
        processes = check_health(settings)
    if as_json:
        first = next((process for process in processes if process.state == "ready"), processes[0])
        values = {"health": first.state, "address": first.address, "processes": processes}
        output.write_json(overview, **values, data=settings.data.absolute())
        return
    rows = [
        *(
            ReportRow(
                "server", f"{process.state}, {process.address}", "green" if process.state == "ready" else "yellow"
            )
            for process in processes
        ),
        ReportRow("data", str(settings.data.absolute())),
        *_make_rows(overview),
    ]
    print_report(f"CodeRAG {overview.version}", rows, output)


def _make_rows(overview: "ServerOverview") -> "list[ReportRow]":
    from coderag.interfaces.cli.output.report import ReportRow

    counts = {"queued": overview.queued_jobs, "running": overview.running_jobs, "failed": overview.failed_jobs}
    jobs_text = ", ".join(f"{number:,} {state}" for state, number in counts.items())
    return [
        ReportRow("database", f"{overview.database}, revision {overview.revision}"),
        ReportRow("accounts", f"{overview.accounts:,} in {overview.teams:,} teams, {overview.keys:,} keys"),
        ReportRow("repositories", f"{overview.repositories:,}, {overview.indexed_repositories:,} indexed"),
        ReportRow("jobs", jobs_text, "red" if overview.failed_jobs else ""),
        ReportRow("audit record", f"{overview.audit_entries:,} entries"),
    ]


def _record_upgrade(place: ServerPlace, before: str, revision: str) -> None:
    from coderag.server.access.roles import Action

    with open_server(place) as local, local.record(Action.SERVER_OPERATE, "upgrade", before=before, revision=revision):
        pass


def _ask(title: str, option: str) -> str:
    from coderag.interfaces.cli.confirmation import can_prompt

    if not can_prompt():
        raise InvalidQueryError(f"{option} is missing, and stdin is not a terminal", hint=f"Give {option}.")
    try:
        return str(typer.prompt(title, err=True))
    except typer.Abort as error:
        raise InvalidQueryError(f"{option} is missing") from error
