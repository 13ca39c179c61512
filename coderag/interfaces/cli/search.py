"""``coderag search``."""

from typing import Annotated

import typer

from coderag.interfaces.cli._options import (
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
from coderag.interfaces.cli._streams import Output

TopKOption = Annotated[
    int | None,
    typer.Option(
        "--top-k", "-n", metavar="N", min=1, help="Results, at most. Default: search.top_k.", show_default=False
    ),
]
LinesOption = Annotated[int, typer.Option("--lines", metavar="N", min=0, help="Lines of code to show of each result.")]


def search(  # noqa: PLR0913  # one parameter an option
    query: QueryArgument,
    *,
    top_k: TopKOption = None,
    language: LanguageOption = None,
    kind: KindOption = None,
    path: PathOption = None,
    role: RoleOption = None,
    lines: LinesOption = 5,
    no_index: NoIndexOption = False,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Find the declarations that a question is about, best first."""
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli._hits import print_hits
    from coderag.interfaces.cli._indexing import ask_indexed, open_here

    output = Output(as_json)
    text, filters = read_query(query), make_filters(language, kind, path, role)
    rag = open_here(repo, output)
    hits = ask_indexed(
        rag, lambda engine: engine.search(text, top_k=top_k, filters=filters), output, may_index=not no_index
    )
    if as_json:
        output.result({"query": text, "root": rag.root, "hits": hits})
    else:
        print_hits(hits, rag.root, lines, output)
    if not hits:
        output.note("nothing found" + (" with these filters" if filters else ""))
