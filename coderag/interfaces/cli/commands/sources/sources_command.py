"""``coderag sources``: the group, and its commands that only read."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from coderag.errors import InvalidQueryError
from coderag.interfaces.cli.commands.sources.add import add
from coderag.interfaces.cli.commands.sources.items import add_item_commands
from coderag.interfaces.cli.commands.sources.opening import open_sources
from coderag.interfaces.cli.commands.sources.remove import remove
from coderag.interfaces.cli.commands.sources.sync import format_run, sync
from coderag.interfaces.cli.options import DebugOption, JsonOption, RepoOption
from coderag.interfaces.cli.output.streams import Output, escape_controls
from coderag.interfaces.cli.typer_ext.light_command import LightCommand
from coderag.interfaces.cli.typer_ext.light_group import LightGroup, show_help_without_command

if TYPE_CHECKING:
    from coderag.engine.source_access import SourceStatus
    from coderag.interfaces.cli.output.report import ReportRow

sources: Final = typer.Typer(name="sources", cls=LightGroup, invoke_without_command=True, rich_markup_mode=None)

NameArgument = Annotated[
    str | None, typer.Argument(metavar="[NAME]", help="A source. Default: all.", show_default=False)
]


@sources.callback()
def group(ctx: typer.Context) -> None:
    """Mirror documentation and backlog systems, so that questions find their pages and tickets.

    Confluence, SharePoint, Jira, Azure DevOps, ClickUp, documents in other folders and git repositories, and readers of
    LlamaIndex. The items are stored beside the index; nothing is written to the systems.
    """
    show_help_without_command(ctx)


sources.command(cls=LightCommand)(add)
sources.command(cls=LightCommand)(sync)
sources.command(cls=LightCommand)(remove)
add_item_commands(sources)


@sources.command(name="list", cls=LightCommand)
def list_(*, repo: RepoOption = None, as_json: JsonOption = False, debug: DebugOption = False) -> None:
    """List the sources with their systems and numbers of items."""
    del debug  # read in main, before anything can fail
    output = Output(as_json)
    statuses = open_sources(repo)[1].status()
    if as_json:
        records = [
            {
                "name": status.name,
                "system": status.system,
                "place": status.place,
                "configured": status.is_configured,
                "items": status.counts.items,
            }
            for status in statuses
        ]
        output.write_json({"sources": records})
        return
    width = max((len(status.name) for status in statuses), default=0)
    for status in statuses:
        system = status.system if status.is_configured else "no longer in the settings"
        place = f", {status.place}" if status.place else ""
        line = f"{status.name:<{width}}  {system}{place}, {status.counts.items:,} items"
        output.write(escape_controls(line))
    if not statuses:
        output.note("no sources: add one with `coderag sources add`")


@sources.command(name="status", cls=LightCommand)
def status_(
    name: NameArgument = None, *, repo: RepoOption = None, as_json: JsonOption = False, debug: DebugOption = False
) -> None:
    """Show the last synchronisation of each source, and what was not synchronised and why."""
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli.output.report import print_report

    output = Output(as_json)
    statuses = open_sources(repo)[1].status()
    if name is not None:
        known = ", ".join(status.name for status in statuses) or "none"
        statuses = [status for status in statuses if status.name == name]
        if not statuses:
            raise InvalidQueryError(f"no source {name!r}", hint=f"Known sources: {known}.")
    if as_json:
        output.write_json({"sources": statuses})
        return
    for status in statuses:
        print_report(status.name, _make_rows(status), output)
    if not statuses:
        output.note("no sources: add one with `coderag sources add`")


def _make_rows(status: "SourceStatus") -> "list[ReportRow]":
    from coderag.interfaces.cli.output.report import ReportRow, format_counts, make_list_rows

    place = f", {status.place}" if status.place else ""
    system = f"{status.system}{place}" if status.is_configured else "no longer in the settings"
    rows = [ReportRow("system", system), ReportRow("items", format_counts(status.counts.kinds))]
    run = status.last_run
    if run is None:
        return [*rows, ReportRow("last run", f"none: run `coderag sources sync {status.name}`", "yellow")]
    if status.is_running:
        return [*rows, ReportRow("last run", f"running since {run.started.astimezone():%Y-%m-%d %H:%M}", "yellow")]
    time = (run.ended or run.started).astimezone()
    style = {"complete": "green", "failed": "red"}.get(run.outcome, "yellow")
    rows.append(ReportRow("last run", f"{time:%Y-%m-%d %H:%M}, {format_run(run).partition(': ')[2]}", style))
    rows += make_list_rows("notes", [note for note in run.notes if note != run.message])
    failures = [
        f"{failure.id}: {failure.reason} (tried {_count_times(failure.attempts)})" for failure in status.failures
    ]
    rows += make_list_rows("not read", failures, "yellow")
    if status.failures or run.outcome != "complete":
        rows.append(ReportRow("next try", f"by the next `coderag sources sync {status.name}`"))
    return rows


def _count_times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"
