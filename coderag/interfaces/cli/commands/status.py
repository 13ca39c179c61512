"""``coderag status``."""

from typing import TYPE_CHECKING

from coderag.interfaces.cli.options import DebugOption, FolderArgument, JsonOption, RepoOption, choose_repository
from coderag.interfaces.cli.output.streams import Output

if TYPE_CHECKING:
    from coderag.interfaces.cli.output.report import ReportRow
    from coderag.schema.indexing import IndexStatus


def status(
    folder: FolderArgument = None,
    *,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Show the state of the index.

    Lists changed, failed and skipped files with reasons. Compares the index with all files on disk.
    """
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli.indexed_engine import open_engine
    from coderag.interfaces.cli.output.report import print_report

    output = Output(as_json)
    rag = open_engine(choose_repository(folder, repo), output)
    with output.show_status("comparing with the files on disk"):
        state = rag.status()
    if as_json:
        output.write_json(state, fresh=state.fresh)
    else:
        print_report(state.root, make_status_rows(state), output)


def describe_linking(state: "IndexStatus") -> str:
    """Describe the linked languages in one line."""
    if not state.linked:
        return "names within a file and what it imports"
    other_languages = (
        " (other languages: names within a file and what it imports)" if state.languages.keys() - state.linked else ""
    )
    return f"imports, types and receivers of {', '.join(state.linked)}{other_languages}"


def describe_summaries(state: "IndexStatus") -> str:
    """Describe the share of summarised code, and the models, in one line."""
    by = f" by {', '.join(state.summarised_by)}" if state.summarised_by else ""
    return f"{state.summarised:,} of {state.to_summarise:,}{by}"


def make_status_rows(state: "IndexStatus") -> "list[ReportRow]":
    """Return the rows of an index status."""
    from coderag.interfaces.cli.output.report import ReportRow, format_counts, make_list_rows, make_reason_rows

    if state.fresh:
        freshness = ReportRow("state", "up to date", "green")
    else:
        changes = {name: len(getattr(state, name)) for name in ("added", "changed", "removed")}
        changes["other embedding model"] = int(state.other_model)
        freshness = ReportRow("state", f"out of date: {format_counts(changes)} (run 'coderag index')", "yellow")
    embedding = ReportRow("embedding", state.embedding)
    if state.other_model:
        embedding = ReportRow("embedding", f"{state.embedding}; configured is {state.configured}", "yellow")
    languages = sorted(state.languages.items(), key=lambda item: (-item[1], item[0]))
    return [
        freshness,
        *(row for name in ("added", "changed", "removed") for row in make_list_rows(f"  {name}", getattr(state, name))),
        ReportRow("index", f"generation {state.generation} of {state.created}"),
        ReportRow("folder", state.directory),
        embedding,
        ReportRow("files", format_counts(state.outcomes)),
        ReportRow("languages", ", ".join(f"{name} {number:,}" for name, number in languages) or "none"),
        ReportRow(
            "content", format_counts({name: getattr(state, name) for name in ("chunks", "symbols", "edges", "lines")})
        ),
        ReportRow("linked", describe_linking(state)),
        *([ReportRow("summaries", describe_summaries(state))] if state.summarised else []),
        *make_reason_rows("skipped", state.skipped),
        *make_list_rows("failed", (f"{path}: {error}" for path, error in state.failed), "red"),
        *make_list_rows("not used", state.restricted, "yellow"),
        *([ReportRow("", "see `coderag trust`", "dim")] if state.restricted else []),
        *make_list_rows("notes", (f"{path}: {note}" for path, note in state.notes)),
    ]
