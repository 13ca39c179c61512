"""``coderag index``."""

from typing import TYPE_CHECKING, Annotated

import typer

from coderag.interfaces._errors import PARTIAL_INDEX
from coderag.interfaces.cli._options import DebugOption, JsonOption, RepoOption
from coderag.interfaces.cli._streams import Output

if TYPE_CHECKING:
    from coderag.interfaces.cli._report import Row
    from coderag.schema import IndexReport

FullOption = Annotated[bool, typer.Option("--full", help="Read every file again, not only what changed.")]


def index(
    *, full: FullOption = False, repo: RepoOption = None, as_json: JsonOption = False, debug: DebugOption = False
) -> None:
    """Index the repository, or bring its index up to date.

    Exits with 5 if some files failed; the others are indexed then.
    """
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli._indexing import open_here, run_index
    from coderag.interfaces.cli._report import print_report

    output = Output(as_json)
    rag = open_here(repo, output)
    report = run_index(rag, full=full)
    if as_json:
        output.result(report, root=rag.root)
    else:
        print_report(f"indexed {rag.root}", report_rows(report), output)
    if report.failed:
        raise typer.Exit(PARTIAL_INDEX)


def report_rows(report: "IndexReport") -> "list[Row]":
    """Return the report of an indexing run as rows."""
    from coderag.interfaces.cli._report import Row, counts, listing, reasons

    changes = {name: getattr(report, name) for name in ("added", "changed", "removed", "renamed", "unchanged")}
    content = {name: getattr(report, name) for name in ("chunks", "symbols", "edges", "lines")}
    stages = {stage: seconds for stage, seconds in report.seconds.items() if stage != "total"}
    total = report.seconds.get("total", sum(stages.values()))
    each = ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in stages.items())
    return [
        Row("files", counts(report.files)),
        Row("changes", counts(changes)),
        Row("content", counts(content)),
        *reasons("skipped", report.skipped),
        *listing("failed", (f"{path}: {error}" for path, error in report.failed), "red"),
        Row("generation", str(report.generation)),
        Row("seconds", f"{total:.2f}" + (f" ({each})" if each else "")),
    ]
