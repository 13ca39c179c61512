"""``coderag server jobs``: jobs that fetch and index repositories."""

from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from coderag.interfaces.cli.commands.server.opening import open_server
from coderag.interfaces.cli.commands.server.options import LimitOption, ServerPlace, make_place
from coderag.interfaces.cli.commands.server.printing import STATE_STYLES, format_time, to_record
from coderag.interfaces.cli.options import DebugOption, JsonOption
from coderag.interfaces.cli.output.streams import Output, escape_controls
from coderag.interfaces.cli.typer_ext.light_command import LightCommand
from coderag.interfaces.cli.typer_ext.light_group import LightGroup, show_help_without_command
from coderag.interfaces.cli.typer_ext.option_groups import expand_options
from coderag.server.access.roles import Action

if TYPE_CHECKING:
    from coderag.server.storage.models import Job

jobs: Final = typer.Typer(name="jobs", cls=LightGroup, invoke_without_command=True, rich_markup_mode=None)

_FIELDS: Final = (
    "id", "repository_id", "reason", "state", "attempts", "progress", "error", "source_errors", "commit",
    "created_at", "started_at", "ended_at",
)  # fmt: skip

JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="Id of the job.", show_default=False)]
RepositoryOption = Annotated[
    str | None,
    typer.Option("--repository", metavar="NAME", help="Only those of this repository.", show_default=False),
]
StateOption = Annotated[
    Literal["queued", "running", "done", "failed", "cancelled"] | None,
    typer.Option("--state", help="Only those in this state.", show_default=False),
]


@jobs.callback()
def group(ctx: typer.Context) -> None:
    """Look at the jobs that fetch and index repositories, and cancel them."""
    show_help_without_command(ctx)


@jobs.command(name="list", cls=LightCommand)
@expand_options("place", make_place)
def list_jobs(
    *,
    repository: RepositoryOption = None,
    state: StateOption = None,
    limit: LimitOption = 50,
    place: ServerPlace,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """List jobs, newest first."""
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli.output.table import print_table

    output = Output(as_json)
    with open_server(place) as server:
        ids = [server.find_repository(repository).id] if repository else None
        listed = server.queue.list(ids, states=[state] if state else [], limit=limit)
        names = {each.id: each.name for each in server.repositories.list()}
    if as_json:
        output.write_json({"jobs": [_to_record(job, names.get(job.repository_id, "")) for job in listed]})
        return
    rows = [
        (names.get(job.repository_id, "-"), job.state, job.reason, format_time(job.created_at),
         format_time(job.ended_at), job.error.partition("\n")[0] or "-", job.id)
        for job in listed
    ]  # fmt: skip
    print_table(("repository", "state", "reason", "created", "ended", "error", "id"), rows, output, STATE_STYLES)
    if not rows:
        output.note("no jobs")


@jobs.command(cls=LightCommand)
@expand_options("place", make_place)
def show(job: JobArgument, *, place: ServerPlace, as_json: JsonOption = False, debug: DebugOption = False) -> None:
    """Show a job with its progress, its error and those of its sources."""
    del debug  # as above
    from coderag.interfaces.cli.output.report import ReportRow, print_report

    output = Output(as_json)
    with open_server(place) as server:
        stored = server.find_job(job)
        name = server.find_repository(stored.repository_id).name
    if as_json:
        output.write_json(_to_record(stored, name))
        return
    progress = ", ".join(f"{key} {value}" for key, value in stored.progress.items())
    rows = [
        ReportRow("id", stored.id),
        ReportRow("state", stored.state, STATE_STYLES.get(stored.state, "")),
        ReportRow("reason", stored.reason),
        ReportRow("attempts", f"{stored.attempts}"),
        ReportRow("created", format_time(stored.created_at)),
        ReportRow("started", format_time(stored.started_at)),
        ReportRow("ended", format_time(stored.ended_at)),
        ReportRow("progress", progress or "-"),
        ReportRow("commit", stored.commit or "-"),
        ReportRow("error", stored.error or "-", "red" if stored.error else ""),
        *(ReportRow(f"source {source}", error, "red") for source, error in stored.source_errors.items()),
    ]
    print_report(name, rows, output)


@jobs.command(cls=LightCommand)
@expand_options("place", make_place)
def cancel(job: JobArgument, *, place: ServerPlace, as_json: JsonOption = False, debug: DebugOption = False) -> None:
    """Cancel a queued or running job. The last index stays in use."""
    del debug  # as above
    with open_server(place) as server:
        repository = server.find_repository(server.find_job(job).repository_id)
        with server.record(Action.REPOSITORY_INDEX, "jobs cancel", repository_id=repository.id, job_id=job):
            stored = server.queue.cancel(job)
    print_job("cancelled", stored, repository.name, Output(as_json))


def print_job(verb: str, job: "Job", repository: str, output: Output) -> None:
    """Print a job that was changed."""
    if output.as_json:
        output.write_json(_to_record(job, repository))
    else:
        output.write(escape_controls(f"{verb} the job of {repository}, id {job.id}"))


def _to_record(job: "Job", repository: str) -> dict[str, object]:
    return {**to_record(job, _FIELDS), "repository": repository}
