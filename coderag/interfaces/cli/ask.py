"""``coderag ask``."""

from typing import TYPE_CHECKING

from coderag.interfaces.cli._evidence import evidence_text, note_missing
from coderag.interfaces.cli._options import (
    BudgetOption,
    ChangedSinceOption,
    ComplexityOption,
    DebugOption,
    JsonOption,
    KindOption,
    LanguageOption,
    NoIndexOption,
    PathOption,
    QueryArgument,
    RepoOption,
    RoleOption,
    make_filters,
    read_query,
)
from coderag.interfaces.cli._streams import Output, visible

if TYPE_CHECKING:
    from coderag.schema import Answer


def ask(  # noqa: PLR0913  # one parameter an option
    query: QueryArgument,
    *,
    budget: BudgetOption = None,
    language: LanguageOption = None,
    kind: KindOption = None,
    path: PathOption = None,
    role: RoleOption = None,
    complexity: ComplexityOption = None,
    changed_since: ChangedSinceOption = None,
    no_index: NoIndexOption = False,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Answer a question, with citations.

    Each citation is checked against the files on disk.
    """
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli._indexing import ask_indexed, open_here

    output = Output(as_json)
    text, filters = read_query(query), make_filters(language, kind, path, role, complexity, changed_since)
    rag = open_here(repo, output)
    answer = ask_indexed(
        rag, lambda engine: engine.ask(text, token_budget=budget, filters=filters), output, may_index=not no_index
    )
    if as_json:
        output.result(answer)
        return
    _print_answer(answer, output)
    for citation in answer.citations:
        if not citation.verified:
            output.note(f"not verified: {citation.location}: {citation.reason}")
    if answer.evidence != "found":
        output.note(evidence_text(answer))
    note_missing(answer, output)


def _print_answer(answer: "Answer", output: Output) -> None:
    verdict = f"citations: {answer.verified}/{answer.total} verified"
    if not output.for_people:
        output.write(f"{answer.text.rstrip()}\n\n{verdict}")
        return
    from rich.markdown import Markdown
    from rich.text import Text

    console = output.console()
    console.print(Markdown(visible(answer.text), code_theme="ansi_dark"))
    console.print()
    console.print(Text(verdict, style="green" if answer.verified == answer.total else "yellow"))
