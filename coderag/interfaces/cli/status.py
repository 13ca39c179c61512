"""``coderag status``."""

from typing import TYPE_CHECKING

from coderag.interfaces.cli._options import DebugOption, FolderArgument, JsonOption, RepoOption, repository
from coderag.interfaces.cli._streams import Output

if TYPE_CHECKING:
    from coderag.interfaces.cli._report import Row
    from coderag.schema.indexing import IndexStatus


def status(
    folder: FolderArgument = None,
    *,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Say what is indexed, and whether it is up to date.

    Also which files were left out, and why. It compares the index with all files on disk.
    """
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli._indexing import open_warm
    from coderag.interfaces.cli._report import print_report

    output = Output(as_json)
    rag = open_warm(repository(folder, repo), output)
    with output.busy("comparing with the files on disk"):
        state = rag.status()
    if as_json:
        output.result(state, fresh=state.fresh)
    else:
        print_report(state.root, status_rows(state), output)


def linking_of(state: "IndexStatus") -> str:
    """Return of which languages the code graph knows what, in a line."""
    if not state.linked:
        return "names within a file and what it imports"
    others = (
        " (other languages: names within a file and what it imports)" if state.languages.keys() - state.linked else ""
    )
    return f"imports, types and receivers of {', '.join(state.linked)}{others}"


def summaries_of(state: "IndexStatus") -> str:
    """Return how much of the code a language model has summarised, and which, in a line."""
    by = f" by {', '.join(state.summarised_by)}" if state.summarised_by else ""
    return f"{state.summarised:,} of {state.to_summarise:,}{by}"


def status_rows(state: "IndexStatus") -> "list[Row]":
    """Return the state of an index as rows."""
    from coderag.interfaces.cli._report import Row, counts, listing, reasons

    if state.fresh:
        freshness = Row("state", "up to date", "green")
    else:
        changes = {name: len(getattr(state, name)) for name in ("added", "changed", "removed")}
        changes["other embedding model"] = int(state.other_model)
        freshness = Row("state", f"out of date: {counts(changes)} (run 'coderag index')", "yellow")
    embedding = Row("embedding", state.embedding)
    if state.other_model:
        embedding = Row("embedding", f"{state.embedding}; configured is {state.configured}", "yellow")
    languages = sorted(state.languages.items(), key=lambda item: (-item[1], item[0]))
    return [
        freshness,
        *(row for name in ("added", "changed", "removed") for row in listing(f"  {name}", getattr(state, name))),
        Row("index", f"generation {state.generation} of {state.created}"),
        Row("folder", state.directory),
        embedding,
        Row("files", counts(state.outcomes)),
        Row("languages", ", ".join(f"{name} {number:,}" for name, number in languages) or "none"),
        Row("content", counts({name: getattr(state, name) for name in ("chunks", "symbols", "edges", "lines")})),
        Row("linked", linking_of(state)),
        *([Row("summaries", summaries_of(state))] if state.summarised else []),
        *reasons("skipped", state.skipped),
        *listing("failed", (f"{path}: {error}" for path, error in state.failed), "red"),
        *listing("not used", state.restricted, "yellow"),
        *([Row("", "see `coderag trust`", "dim")] if state.restricted else []),
        *listing("notes", (f"{path}: {note}" for path, note in state.notes)),
    ]
