"""``coderag index``."""

from typing import TYPE_CHECKING, Annotated

import typer

from coderag.errors import InvalidQueryError
from coderag.interfaces.cli.options import DebugOption, FolderArgument, JsonOption, RepoOption, choose_repository
from coderag.interfaces.cli.output.streams import Output
from coderag.interfaces.error_table import PARTIAL_INDEX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from coderag.interfaces.cli.output.report import ReportRow
    from coderag.schema.indexing import IndexReport

PlanOption = Annotated[bool, typer.Option("--plan", help="Only print the planned work and its cost.")]
ProfileOption = Annotated[bool, typer.Option("--profile", help="Print the duration and throughput of each stage.")]
WatchOption = Annotated[bool, typer.Option("--watch", help="Keep running, and index again on each file change.")]
FullOption = Annotated[bool, typer.Option("--full", help="Read all files again, not only changed ones.")]


def index(  # noqa: PLR0913  # one parameter an option
    folder: FolderArgument = None,
    *,
    full: FullOption = False,
    plan: PlanOption = False,
    watch: WatchOption = False,
    profile: ProfileOption = False,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Index the repository, or update its index.

    Exits with 5 if some files failed; the others are indexed.
    """
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli.indexed_engine import open_engine, open_local_engine, run_index
    from coderag.interfaces.cli.output.report import print_report

    if watch and (plan or full):
        raise InvalidQueryError("--watch cannot be combined with --plan or --full")
    output, repo = Output(as_json), choose_repository(folder, repo)
    if watch:
        from coderag.interfaces.cli.commands.index_watch import follow_edits

        follow_edits(open_local_engine(repo, output), output)
        return
    if plan:
        from coderag.interfaces.cli.output.index_plan import print_plan

        engine = open_local_engine(repo, output)
        with output.show_status("looking at the files"):
            planned = engine.plan(full=full)
        print_plan(planned, output)
        return
    rag = open_engine(repo, output)
    report = run_index(rag, full=full)
    if as_json:
        output.write_json(report, root=rag.root)
    else:
        print_report(f"indexed {rag.root}", make_report_rows(report, profile=profile), output)
    if report.failed:
        raise typer.Exit(PARTIAL_INDEX)


def make_report_rows(report: "IndexReport", *, profile: bool = False) -> "list[ReportRow]":
    """Return the rows of an indexing report.

    Args:
        profile: Include the duration of each stage.
    """
    from coderag.interfaces.cli.output.report import ReportRow, format_counts, make_list_rows, make_reason_rows

    changes = {name: getattr(report, name) for name in ("added", "changed", "removed", "renamed", "unchanged")}
    content = {name: getattr(report, name) for name in ("chunks", "symbols", "edges", "lines")}
    return [
        ReportRow("files", format_counts(report.files)),
        ReportRow("changes", format_counts(changes)),
        ReportRow("content", format_counts(content)),
        *([ReportRow("repaired", report.repaired)] if report.repaired else []),
        *([ReportRow("vectors", f"{report.embedded:,} made anew: {report.reembedded}")] if report.reembedded else []),
        *make_reason_rows("skipped", report.skipped),
        *make_list_rows("failed", (f"{path}: {error}" for path, error in report.failed), "red"),
        ReportRow("generation", str(report.generation)),
        *([ReportRow("searchable", f"after {report.searchable_s:.2f} s, then linked")] if report.searchable_s else []),
        ReportRow("seconds", f"{report.elapsed_s:.2f}{_format_speed(report, report.elapsed_s)}"),
        *(_make_stage_rows("stages", report.seconds, report) if profile else []),
        *(_make_stage_rows("in workers", report.worker_seconds, report) if profile else []),
    ]


def _make_stage_rows(label: str, seconds: "Mapping[str, float]", report: "IndexReport") -> "list[ReportRow]":
    from coderag.interfaces.cli.output.report import make_list_rows

    return make_list_rows(
        label,
        (
            f"{stage:<12} {stage_seconds:7.3f} s{_format_speed(report, stage_seconds)}"
            for stage, stage_seconds in seconds.items()
        ),
    )


def _format_speed(report: "IndexReport", seconds: float) -> str:
    """Format the throughput of read files; empty if it is meaningless."""
    if not report.lines_read or seconds < 0.0005:
        return ""
    return f"  ({report.lines_read / seconds:,.0f} lines/s, {report.bytes_read / seconds / 1e6:,.1f} MB/s)"
