"""``coderag context``."""

from typing import TYPE_CHECKING, Annotated

import typer

from coderag.interfaces.cli._evidence import evidence_text, note_missing
from coderag.interfaces.cli._options import (
    BudgetOption,
    ChangedSinceOption,
    ComplexityOption,
    DebugOption,
    ExplainOption,
    JsonOption,
    KindOption,
    LanguageOption,
    NoIndexOption,
    PathOption,
    RepoOption,
    RoleOption,
    make_filters,
    read_query,
)
from coderag.interfaces.cli._streams import Output, visible
from coderag.schema.context import AssembledContext
from coderag.schema.search import Filters
from coderag.schema.vocabulary import ContextFormat

if TYPE_CHECKING:
    from coderag.app import CodeRAG
    from coderag.interfaces.cli._app import Engine

_QUERY_HELP = "The question. Several words need no quotes; '-' reads it from standard input."
_SESSION_HELP = "Leave out what contexts of this name have shown before, as long as it has not been edited."
_FILE_HELP = "Print these lines of an indexed file instead: 'src/app.py:10-42'. May be given several times."

OptionalQuery = Annotated[list[str] | None, typer.Argument(metavar="QUERY", help=_QUERY_HELP, show_default=False)]
FormatOption = Annotated[ContextFormat, typer.Option("--format", "-f", help="How the text is written.")]
SessionOption = Annotated[
    str | None, typer.Option("--session", "-s", metavar="NAME", help=_SESSION_HELP, show_default=False)
]
ForgetOption = Annotated[bool, typer.Option("--forget", help="Begin the session anew.")]
FileOption = Annotated[list[str] | None, typer.Option("--file", metavar="PLACE", help=_FILE_HELP, show_default=False)]


def context(  # noqa: PLR0913  # one parameter an option
    query: OptionalQuery = None,
    *,
    budget: BudgetOption = None,
    text_format: FormatOption = "markdown",
    session: SessionOption = None,
    forget: ForgetOption = False,
    file: FileOption = None,
    language: LanguageOption = None,
    kind: KindOption = None,
    path: PathOption = None,
    role: RoleOption = None,
    complexity: ComplexityOption = None,
    changed_since: ChangedSinceOption = None,
    explain: ExplainOption = False,
    no_index: NoIndexOption = False,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Print the code that a question needs, for a prompt.

    The result is Markdown, XML or JSON and keeps within a budget of tokens; what was left out is listed with the command
    that prints it.
    """
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli._indexing import ask_indexed, open_here, open_warm

    filters = make_filters(language, kind, path, role, complexity, changed_since)
    _check(query, session, file, filters, forget=forget, explain=explain)
    output = Output(as_json)
    if explain:
        _print_explanation(
            open_here(repo, output), read_query(query or []), budget, filters, output, may_index=not no_index
        )
        return
    rag = open_warm(repo, output)
    if session and forget:
        known = rag.forget(session)
        if not query:
            output.note(f"session {session}: {'forgotten' if known else 'there was none'}")
            return
    text = "" if file else read_query(query or [])

    def assemble(engine: "Engine") -> AssembledContext:
        if file:
            return engine.read(file, token_budget=budget, format=text_format)
        return engine.context(text, token_budget=budget, filters=filters, format=text_format, session=session)

    found = ask_indexed(rag, assemble, output, may_index=not no_index)
    if as_json:
        output.result(found)
        return
    output.write(visible(found.text) if output.for_people else found.text)
    output.note(_told(found, judged=not file))
    note_missing(found, output)


def _check(
    query: list[str] | None,
    session: str | None,
    file: list[str] | None,
    filters: Filters | None,
    *,
    forget: bool,
    explain: bool,
) -> None:
    """Refuse what does not go together."""
    if explain and (file or session):
        raise typer.BadParameter("it goes with neither --file nor --session.", param_hint="--explain")
    if file and (query or session or filters):
        told = "it prints lines of files, and takes no question, no session and no filter."
        raise typer.BadParameter(told, param_hint="--file")
    if session is not None and not session:
        raise typer.BadParameter("no name is given.", param_hint="--session")
    if forget and not session:
        raise typer.BadParameter("say which session with --session.", param_hint="--forget")
    if not (query or file or forget):
        raise typer.BadParameter("no question is given.", param_hint="QUERY")


def _print_explanation(
    rag: "CodeRAG", query: str, budget: int | None, filters: Filters | None, output: Output, *, may_index: bool
) -> None:
    from coderag.interfaces.cli._explain import print_explanation
    from coderag.interfaces.cli._indexing import ask_indexed

    told = ask_indexed(
        rag, lambda engine: engine.explain(query, token_budget=budget, filters=filters), output, may_index=may_index
    )
    print_explanation(told, rag.root, output)


def _told(found: AssembledContext, *, judged: bool) -> str:
    """Return one line on what was printed; lines that were asked for by their place have no verdict."""
    told = [f"{found.tokens:,} of {found.token_budget:,} tokens"]
    if found.omitted:
        told.append(f"{_results(len(found.omitted))} left out")
    if found.shown_before:
        told.append(f"{_results(len(found.shown_before))} shown before")
    if judged:
        told.append(evidence_text(found))
    return "; ".join(told)


def _results(number: int) -> str:
    return f"{number:,} result{'' if number == 1 else 's'}"
