"""``coderag graph export`` and ``coderag graph import``."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from coderag.errors import StoreError
from coderag.interfaces.cli.options import DebugOption, JsonOption, NoIndexOption, RepoOption
from coderag.interfaces.cli.output.output_errors import OutputError
from coderag.interfaces.cli.output.streams import Output, escape_controls, escape_json

if TYPE_CHECKING:
    from coderag.codegraph.scip.importer import ScipReport
    from coderag.interfaces.cli.output.report import ReportRow

ExportTarget = Literal["json", "graphml", "cypher", "memgraph", "neo4j"]

_TO_HELP = "Export format, or the configured database; with --output, a file of Cypher statements for it."

TargetOption = Annotated[ExportTarget, typer.Option("--to", help=_TO_HELP, show_default=False)]
FileOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Default: standard output.", show_default=False),
]
IndexArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="A SCIP index, such as index.scip.", show_default=False)
]


def export(
    *,
    to: TargetOption,
    file: FileOption = None,
    no_index: NoIndexOption = False,
    repo: RepoOption = None,
    debug: DebugOption = False,
) -> None:
    """Export the graph for other programs.

    JSON is complete; the other formats omit uncertain edges.
    """
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli.indexed_engine import ask_indexed, open_local_engine
    from coderag.stores.disk import write_chunks

    output = Output()
    rag = open_local_engine(repo, output)
    if to in ("memgraph", "neo4j") and file is None:
        sent = ask_indexed(rag, lambda engine: engine.send_graph(to), output, may_index=not no_index)
        output.write(f"sent {sent.nodes:,} nodes and {sent.edges:,} edges to {to}")
        return
    chunks = ask_indexed(rag, lambda engine: engine.export_graph(to), output, may_index=not no_index)
    if file is None:
        for chunk in chunks:
            if output.is_terminal:
                sys.stdout.write((escape_json if to == "json" else escape_controls)(chunk.decode()))
            else:  # as bytes: system encoding and line ends must not change them
                sys.stdout.buffer.write(chunk)
        return
    try:
        size = write_chunks(file, chunks)
    except StoreError as error:
        raise OutputError(str(error)) from error
    output.note(f"wrote {file}: {size:,} bytes")


def import_(
    file: IndexArgument, *, repo: RepoOption = None, as_json: JsonOption = False, debug: DebugOption = False
) -> None:
    """Import the edges of a SCIP index, written by a compiler.

    They replace those of the covered files, with resolver "scip" and confidence 1, until a file changes.
    """
    del debug
    from coderag.interfaces.cli.indexed_engine import open_local_engine
    from coderag.interfaces.cli.output.report import print_report

    output = Output(as_json)
    rag = open_local_engine(repo, output)
    with output.show_status("reading the SCIP index"):
        report = rag.import_scip(file)
    if as_json:
        output.write_json(report, root=rag.root)
    else:
        print_report(f"imported {file}", make_import_rows(report), output)


def make_import_rows(report: "ScipReport") -> "list[ReportRow]":
    """Return the rows of an import report."""
    from coderag.interfaces.cli.output.report import ReportRow, format_counts, make_list_rows

    files = {"covered": report.covered, "outdated": len(report.outdated), "not indexed": len(report.unknown)}
    return [
        ReportRow("made by", report.tool or "unknown"),
        ReportRow("files", format_counts(files)),
        ReportRow("edges", format_counts(report.edges)),
        *make_list_rows("outdated", report.outdated, "yellow"),
        *make_list_rows("not indexed", report.unknown),
    ]
