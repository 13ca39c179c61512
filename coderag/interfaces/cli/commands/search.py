"""``coderag search``."""

from typing import TYPE_CHECKING, Annotated

import typer

from coderag.interfaces.cli.options import (
    DebugOption,
    ExplainOption,
    JsonOption,
    NoIndexOption,
    QueryArgument,
    RepoOption,
    make_filters,
    read_query,
    resolve_typed_paths,
)
from coderag.interfaces.cli.output.streams import Output
from coderag.interfaces.cli.output.verdict import format_evidence, note_unindexed
from coderag.interfaces.cli.typer_ext.option_groups import expand_options
from coderag.schema.search import Filters
from coderag.schema.text_matches import DEFAULT_MAX_MATCHES, MAX_CONTEXT_LINES

if TYPE_CHECKING:
    from coderag.app import CodeRAG
    from coderag.schema.engine import Engine
    from coderag.schema.search import Filters
    from coderag.schema.text_matches import TextMatches

TopKOption = Annotated[
    int | None,
    typer.Option(
        "--top-k",
        "-n",
        metavar="N",
        min=1,
        help=f"Maximum number of results. Default: search.top_k; {DEFAULT_MAX_MATCHES} with --exact or --regex.",
        show_default=False,
    ),
]
LinesOption = Annotated[int, typer.Option("--lines", metavar="N", min=0, help="Lines of code shown for each result.")]
ExactOption = Annotated[
    bool, typer.Option("--exact", help="Find every occurrence of this exact text on disk; '-' reads several lines.")
]
RegexOption = Annotated[bool, typer.Option("--regex", help="Find every match of this regular expression.")]
IgnoreCaseOption = Annotated[bool, typer.Option("--ignore-case", "-i", help="With --exact or --regex: ignore case.")]
ContextLinesOption = Annotated[
    int,
    typer.Option(
        "--context-lines",
        metavar="N",
        min=0,
        max=MAX_CONTEXT_LINES,
        help="With --exact or --regex: context lines around each match.",
    ),
]
CountOption = Annotated[
    bool, typer.Option("--count", help="With --exact or --regex: print only the number of matches per file.")
]
FilesOption = Annotated[bool, typer.Option("--files", help="With --exact or --regex: print only file names.")]


@expand_options("filters", make_filters)
def search(  # noqa: PLR0913  # one parameter an option
    query: QueryArgument,
    *,
    top_k: TopKOption = None,
    exact: ExactOption = False,
    regex: RegexOption = False,
    ignore_case: IgnoreCaseOption = False,
    context_lines: ContextLinesOption = 0,
    count: CountOption = False,
    files: FilesOption = False,
    explain: ExplainOption = False,
    filters: "Filters | None",
    lines: LinesOption = 5,
    no_index: NoIndexOption = False,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Find the declarations that a question is about, best first.

    With --exact or --regex, find every occurrence of a text in the indexed files.
    """
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli.indexed_engine import ask_indexed, open_engine, open_local_engine

    has_text_options = ignore_case or context_lines > 0 or count or files
    _check_options(exact=exact, regex=regex, explain=explain, has_text_options=has_text_options)
    output = Output(as_json)
    text = read_query(query, indented=exact or regex)
    if explain:
        local = open_local_engine(repo, output)
        filters = resolve_typed_paths(filters, local.root)
        _print_explanation(local, text, top_k, filters, output, may_index=not no_index)
        return
    rag = open_engine(repo, output)
    filters = resolve_typed_paths(filters, rag.root)
    if exact or regex:

        def find(engine: "Engine") -> "TextMatches":
            return engine.search_text(
                text,
                regex=regex,
                ignore_case=ignore_case,
                context_lines=context_lines,
                limit=DEFAULT_MAX_MATCHES if top_k is None else top_k,
                filters=filters,
            )

        result = ask_indexed(rag, find, output, may_index=not no_index)
        _print_text_matches(result, rag, output, filters, names_only=count or files, with_numbers=count)
        return
    _print_hits(rag, text, top_k, filters, lines, output, may_index=not no_index)


def _check_options(*, exact: bool, regex: bool, explain: bool, has_text_options: bool) -> None:
    """Reject incompatible options."""
    if exact and regex:
        raise typer.BadParameter("--exact and --regex cannot be combined.")
    if explain and (exact or regex):
        raise typer.BadParameter("--explain cannot be combined with --exact or --regex.")
    if has_text_options and not (exact or regex):
        raise typer.BadParameter("--ignore-case, --context-lines, --count and --files require --exact or --regex.")


def _print_hits(
    rag: "Engine",
    text: str,
    top_k: int | None,
    filters: "Filters | None",
    lines: int,
    output: Output,
    *,
    may_index: bool,
) -> None:
    from coderag.interfaces.cli.indexed_engine import ask_indexed
    from coderag.interfaces.cli.output.hits import print_hits

    hits = ask_indexed(
        rag, lambda engine: engine.search(text, top_k=top_k, filters=filters), output, may_index=may_index
    )
    if output.as_json:
        verdict = {"evidence": hits.evidence, "confidence": hits.confidence, "not_indexed": hits.not_indexed}
        verdict["notes"] = hits.notes
        output.write_json({"query": text, "root": rag.root, **verdict, "hits": hits})
    else:
        print_hits(hits, rag.root, lines, output, text)
    if not hits:
        output.note("nothing found" + (" with these filters" if filters else ""))
    elif hits.evidence != "found":
        output.note(format_evidence(hits))
    note_unindexed(hits, output)
    for note in hits.notes:
        output.note(note)


def _print_explanation(
    rag: "CodeRAG", text: str, top_k: int | None, filters: "Filters | None", output: Output, *, may_index: bool
) -> None:
    from coderag.interfaces.cli.indexed_engine import ask_indexed
    from coderag.interfaces.cli.output.explanation import print_explanation

    explanation = ask_indexed(
        rag, lambda engine: engine.explain(text, top_k=top_k, filters=filters), output, may_index=may_index
    )
    print_explanation(explanation, rag.root, output)


def _print_text_matches(
    result: "TextMatches",
    rag: "Engine",
    output: Output,
    filters: "Filters | None",
    *,
    names_only: bool,
    with_numbers: bool,
) -> None:
    from coderag.interfaces.cli.output.text_matches import note_totals, print_counts, print_matches

    if output.as_json:
        output.write_json(result, root=rag.root)
    elif names_only:
        print_counts(result, output, with_numbers=with_numbers)
    else:
        print_matches(result, rag.root, output)
    note_totals(result, output, filtered=bool(filters), all_shown=names_only and not output.as_json)
