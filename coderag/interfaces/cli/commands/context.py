"""``coderag context``."""

from typing import TYPE_CHECKING, Annotated

import typer

from coderag.interfaces.cli.options import (
    BudgetOption,
    DebugOption,
    ExplainOption,
    JsonOption,
    NoIndexOption,
    RepoOption,
    make_filters,
    read_query,
    resolve_typed_paths,
)
from coderag.interfaces.cli.output.streams import Output, escape_controls, escape_json
from coderag.interfaces.cli.output.verdict import format_evidence, note_unindexed
from coderag.interfaces.cli.typer_ext.option_groups import expand_options
from coderag.schema.context import AssembledContext
from coderag.schema.search import Filters
from coderag.schema.vocabulary import ContextFormat

if TYPE_CHECKING:
    from coderag.app import CodeRAG
    from coderag.schema.engine import Engine

_QUERY_HELP = "The question. Quotes are optional; '-' reads standard input."
_SESSION_HELP = "Omit code that earlier contexts of this session showed, unless it was edited since."
_FILE_HELP = "Print these lines of an indexed file instead: 'src/app.py:10-42'. Repeatable."

OptionalQuery = Annotated[list[str] | None, typer.Argument(metavar="QUERY", help=_QUERY_HELP, show_default=False)]
FormatOption = Annotated[ContextFormat, typer.Option("--format", "-f", help="Output format.")]
SessionOption = Annotated[
    str | None, typer.Option("--session", "-s", metavar="NAME", help=_SESSION_HELP, show_default=False)
]
ForgetOption = Annotated[bool, typer.Option("--forget", help="Restart the session.")]
FileOption = Annotated[list[str] | None, typer.Option("--file", metavar="PLACE", help=_FILE_HELP, show_default=False)]


@expand_options("filters", make_filters)
def context(  # noqa: PLR0913  # one parameter an option
    query: OptionalQuery = None,
    *,
    budget: BudgetOption = None,
    text_format: FormatOption = "markdown",
    session: SessionOption = None,
    forget: ForgetOption = False,
    file: FileOption = None,
    filters: "Filters | None",
    explain: ExplainOption = False,
    no_index: NoIndexOption = False,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Print the code that a question needs, for a prompt.

    The result is Markdown, XML or JSON within a token budget. Omitted code is listed with the command that prints it.
    """
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli.indexed_engine import ask_indexed, open_engine, open_local_engine

    _check_options(query, session, file, filters, forget=forget, explain=explain)
    output = Output(as_json)
    if explain:
        local = open_local_engine(repo, output)
        filters = resolve_typed_paths(filters, local.root)
        _print_explanation(local, read_query(query or []), budget, filters, output, may_index=not no_index)
        return
    rag = open_engine(repo, output)
    filters = resolve_typed_paths(filters, rag.root)
    if session and forget:
        existed = rag.forget(session)
        if not query:
            output.note(f"session {session}: {'forgotten' if existed else 'not found'}")
            return
    text = "" if file else read_query(query or [])

    def assemble(engine: "Engine") -> AssembledContext:
        if file:
            return engine.read(file, token_budget=budget, format=text_format)
        return engine.context(text, token_budget=budget, filters=filters, format=text_format, session=session)

    assembled = ask_indexed(rag, assemble, output, may_index=not no_index)
    if as_json:
        output.write_json(assembled)
        return
    escape = escape_json if text_format == "json" else escape_controls
    output.write(escape(assembled.text) if output.is_terminal else assembled.text)
    output.note(_format_totals(assembled, judged=not file))
    for note in assembled.notes:
        output.note(note)
    note_unindexed(assembled, output)


def _check_options(
    query: list[str] | None,
    session: str | None,
    file: list[str] | None,
    filters: Filters | None,
    *,
    forget: bool,
    explain: bool,
) -> None:
    """Reject incompatible options."""
    if explain and (file or session):
        raise typer.BadParameter("it cannot be combined with --file or --session.", param_hint="--explain")
    if file and (query or session or filters):
        message = "it cannot be combined with a question, a session or filters."
        raise typer.BadParameter(message, param_hint="--file")
    if session is not None and not session:
        raise typer.BadParameter("no name given.", param_hint="--session")
    if forget and not session:
        raise typer.BadParameter("it requires --session.", param_hint="--forget")
    if not (query or file or forget):
        raise typer.BadParameter("no question given.", param_hint="QUERY")


def _print_explanation(
    rag: "CodeRAG", query: str, budget: int | None, filters: Filters | None, output: Output, *, may_index: bool
) -> None:
    from coderag.interfaces.cli.indexed_engine import ask_indexed
    from coderag.interfaces.cli.output.explanation import print_explanation

    explanation = ask_indexed(
        rag, lambda engine: engine.explain(query, token_budget=budget, filters=filters), output, may_index=may_index
    )
    print_explanation(explanation, rag.root, output)


def _format_totals(assembled: AssembledContext, *, judged: bool) -> str:
    """Format the totals as one line; requested lines have no verdict."""
    parts = [f"{assembled.tokens:,} of {assembled.token_budget:,} tokens"]
    if assembled.omitted:
        parts.append(f"{_format_result_count(len(assembled.omitted))} left out")
    if assembled.shown_before:
        parts.append(f"{_format_result_count(len(assembled.shown_before))} shown before")
    if judged:
        parts.append(format_evidence(assembled))
    return "; ".join(parts)


def _format_result_count(number: int) -> str:
    return f"{number:,} result{'' if number == 1 else 's'}"
