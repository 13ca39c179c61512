"""``coderag server audit``: the record of who did what."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from coderag.interfaces.cli.commands.server.opening import open_server
from coderag.interfaces.cli.commands.server.options import LimitOption, ServerPlace, YesOption, make_place
from coderag.interfaces.cli.commands.server.printing import confirm_removal
from coderag.interfaces.cli.options import DebugOption, JsonOption
from coderag.interfaces.cli.output.streams import Output, escape_controls
from coderag.interfaces.cli.typer_ext.light_command import LightCommand
from coderag.interfaces.cli.typer_ext.light_group import LightGroup, show_help_without_command
from coderag.interfaces.cli.typer_ext.option_groups import expand_options
from coderag.interfaces.error_table import BELOW_THRESHOLD
from coderag.server.access.roles import Action

if TYPE_CHECKING:
    from coderag.server.audit.verification import AuditReport

audit: Final = typer.Typer(name="audit", cls=LightGroup, invoke_without_command=True, rich_markup_mode=None)

_DATE_FORMATS: Final = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z"]
_OUTCOME_STYLES: Final = {"allowed": "green", "denied": "yellow", "failed": "red"}
_MAX_DETAIL_CHARS: Final = 120

SinceOption = Annotated[
    datetime | None,
    typer.Option(
        "--since", metavar="DATE", help="Only since this time (UTC).", formats=_DATE_FORMATS, show_default=False
    ),
]
UntilOption = Annotated[
    datetime | None,
    typer.Option(
        "--until", metavar="DATE", help="Only before this time (UTC).", formats=_DATE_FORMATS, show_default=False
    ),
]
ActorOption = Annotated[
    str, typer.Option("--actor", metavar="NAME", help="Only of this account, by name or id.", show_default=False)
]
ActionOption = Annotated[
    str, typer.Option("--action", metavar="ACTION", help="Only this action, as users.manage.", show_default=False)
]
RepositoryOption = Annotated[
    str | None,
    typer.Option("--repository", metavar="NAME", help="Only about this repository.", show_default=False),
]
FileOption = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="File to create. Default: standard output.", show_default=False
    ),
]


@audit.callback()
def group(ctx: typer.Context) -> None:
    """Read, verify and export the audit record, which nobody can change without being noticed."""
    show_help_without_command(ctx)


@audit.command(name="list", cls=LightCommand)
@expand_options("place", make_place)
def list_entries(  # noqa: PLR0913  # one parameter an option
    *,
    actor: ActorOption = "",
    action: ActionOption = "",
    repository: RepositoryOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    limit: LimitOption = 50,
    place: ServerPlace,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """List the newest entries."""
    del debug  # read in main, before anything can fail
    import json

    from coderag.interfaces.cli.output.table import print_table

    output = Output(as_json)
    with open_server(place) as server:
        from coderag.server.audit.entries import format_entry
        from coderag.server.audit.search import AuditFilter

        names = {each.id: each.name for each in server.repositories.list()}
        repository_id = server.find_repository(repository).id if repository else ""
        criteria = AuditFilter(
            actor=actor, action=action, repository_id=repository_id, since=_to_utc(since), until=_to_utc(until)
        )
        entries = server.audit.search(criteria, limit=limit)
    if as_json:
        output.write_json({"entries": [json.loads(format_entry(entry)) for entry in entries]})
        return
    rows = [
        (f"{entry.sequence}", f"{entry.time:%Y-%m-%d %H:%M:%S}", entry.actor or "-", entry.action, entry.outcome,
         names.get(entry.repository_id, entry.repository_id or "-"), _format_detail(entry.detail))
        for entry in entries
    ]  # fmt: skip
    columns = ("number", "time (UTC)", "account", "action", "outcome", "repository", "detail")
    print_table(columns, rows, output, _OUTCOME_STYLES)


@audit.command(cls=LightCommand)
@expand_options("place", make_place)
def verify(*, place: ServerPlace, as_json: JsonOption = False, debug: DebugOption = False) -> None:
    """Verify that no entry was changed, inserted or deleted. Exits with 6 if one was."""
    del debug  # as above
    output = Output(as_json)
    with open_server(place) as server, output.show_status("verifying"):
        report = server.audit.verify()
    if as_json:
        output.write_json(report, is_intact=report.is_intact)
    else:
        output.write(escape_controls(_describe_report(report)))
        if report.is_intact and report.entries:
            output.note(f"Note elsewhere, to detect a later exchange of all: {report.last_sequence} {report.last_mac}")
    if not report.is_intact:
        raise typer.Exit(BELOW_THRESHOLD)


@audit.command(cls=LightCommand)
@expand_options("place", make_place)
def export(
    *,
    since: SinceOption = None,
    until: UntilOption = None,
    file: FileOption = None,
    place: ServerPlace,
    debug: DebugOption = False,
) -> None:
    """Write entries as JSON lines, oldest first."""
    del debug  # as above
    from coderag.errors import ConfigurationError

    output = Output()
    with open_server(place) as server:
        from coderag.server.audit.entries import format_entry

        detail = {"since": f"{since or ''}", "until": f"{until or ''}"}
        with server.record(Action.AUDIT_READ, "audit export", **detail):
            entries = server.audit.export(_to_utc(since), _to_utc(until))
            if file is None:
                for entry in entries:
                    output.write(format_entry(entry))
                return
            count = 0
            try:
                with file.open("x", encoding="utf-8", newline="\n") as stream:
                    for entry in entries:
                        stream.write(format_entry(entry).rstrip("\n") + "\n")
                        count += 1
            except OSError as error:
                raise ConfigurationError(f"{file}: cannot be written: {error.strerror or error}") from error
    output.note(f"exported {count:,} entries to {file}")


@audit.command(cls=LightCommand)
@expand_options("place", make_place)
def prune(
    *, yes: YesOption = False, place: ServerPlace, as_json: JsonOption = False, debug: DebugOption = False
) -> None:
    """Delete entries older than `audit.retention_days` of the settings. The record keeps an entry about it."""
    del debug  # as above
    output = Output(as_json)
    with open_server(place) as server:
        days = server.settings.audit.retention_days
        if not days:
            output.note("nothing is deleted: `audit.retention_days` is 0")
            deleted = 0
        elif not confirm_removal(f"Delete entries older than {days} days?", yes=yes):
            output.note("nothing changed")
            raise typer.Exit(1)
        else:
            deleted = server.audit.prune(server.operator)
    if as_json:
        output.write_json({"deleted": deleted})
    else:
        output.write(f"deleted {deleted:,} entries")


@audit.command("reset-counter", cls=LightCommand)
@expand_options("place", make_place)
def reset_counter(
    *, yes: YesOption = False, place: ServerPlace, as_json: JsonOption = False, debug: DebugOption = False
) -> None:
    """Let the counter file begin again with the record as it is, after a restore or the loss of the file.

    Run `coderag server audit verify` first: entries that are missing at the end are not detected afterwards.
    """
    del debug  # as above
    output = Output(as_json)
    with open_server(place) as server:
        if not confirm_removal("Trust the record as it is, and reset the counter?", yes=yes):
            output.note("nothing changed")
            raise typer.Exit(1)
        server.audit.reset_counter(server.operator)
        position = server.audit.read_position()
    if as_json:
        output.write_json({"entries": position})
    else:
        output.write(f"the counter is at number {position:,}")


def _format_detail(text: str) -> str:
    from coderag.server.audit.entries import parse_detail

    return ", ".join(f"{name} {value}" for name, value in parse_detail(text).items())[:_MAX_DETAIL_CHARS]


def _describe_report(report: "AuditReport") -> str:
    if report.is_intact:
        return f"intact: {report.entries:,} entries, up to number {report.last_sequence}"
    return f"BROKEN at number {report.broken_sequence}: {report.reason}"


def _to_utc(time: datetime | None) -> datetime | None:
    return time.replace(tzinfo=UTC) if time is not None and time.tzinfo is None else time
