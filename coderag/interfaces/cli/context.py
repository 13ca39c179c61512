"""``coderag context``."""

from coderag.interfaces.cli._options import (
    BudgetOption,
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


def context(  # noqa: PLR0913  # one parameter an option
    query: QueryArgument,
    *,
    budget: BudgetOption = None,
    language: LanguageOption = None,
    kind: KindOption = None,
    path: PathOption = None,
    role: RoleOption = None,
    no_index: NoIndexOption = False,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Print the code that a question needs, for a prompt.

    The result is Markdown and keeps within a budget of tokens.
    """
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli._indexing import ask_indexed, open_here

    output = Output(as_json)
    text, filters = read_query(query), make_filters(language, kind, path, role)
    rag = open_here(repo, output)
    found = ask_indexed(
        rag, lambda engine: engine.context(text, token_budget=budget, filters=filters), output, may_index=not no_index
    )
    if as_json:
        output.result(found)
        return
    output.write(visible(found.text) if output.for_people else found.text)
    left_out = f"; {_results(len(found.omitted))} left out" if found.omitted else ""
    output.note(
        f"{found.tokens:,} of {found.token_budget:,} tokens{left_out}; evidence: {found.evidence.replace('_', ' ')}"
    )


def _results(number: int) -> str:
    return f"{number:,} result{'' if number == 1 else 's'}"
