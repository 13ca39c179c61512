"""``coderag history``."""

from typing import Annotated

import typer

from coderag.interfaces.cli.options import DebugOption, JsonOption, NoIndexOption, RepoOption
from coderag.interfaces.cli.output.streams import Output

_TARGET_HELP = "A file, a folder, lines (src/app.py:10-42), or a name as for 'coderag graph'. Default: all commits."

TargetArgument = Annotated[str, typer.Argument(metavar="PATH|NAME|PATH:LINES", help=_TARGET_HELP, show_default=False)]
SinceOption = Annotated[
    str,
    typer.Option(
        "--since", metavar="DATE|REV", help="Only commits after it: a date, a tag, a commit.", show_default=False
    ),
]
UntilOption = Annotated[
    str, typer.Option("--until", metavar="DATE|REV", help="Only commits up to it.", show_default=False)
]
WhoOption = Annotated[bool, typer.Option("--who", help="List who knows it: authors by their lines and commits.")]
WithOption = Annotated[bool, typer.Option("--with", help="List what changed in the same commits, with the counts.")]
BlameOption = Annotated[bool, typer.Option("--blame", help="Show the commit that introduced each line.")]
TextOption = Annotated[
    str,
    typer.Option(
        "--text", metavar="TEXT", help="List the commits that added or removed this text.", show_default=False
    ),
]
TicketOption = Annotated[
    str,
    typer.Option(
        "--ticket",
        metavar="KEY",
        help="List the commits that reference a ticket (PROJ-45, #12), with the declarations that they changed.",
        show_default=False,
    ),
]
CommitOption = Annotated[
    str,
    typer.Option(
        "--commit", metavar="REV", help="Show a commit with the declarations that it changed.", show_default=False
    ),
]
SearchOption = Annotated[
    str,
    typer.Option(
        "--search", metavar="WORDS", help="Find commits by words of their message and paths.", show_default=False
    ),
]
ReadAllOption = Annotated[
    bool,
    typer.Option("--read-all", help="Read the changed declarations of all commits now, and print what is covered."),
]
LimitOption = Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="Maximum number of results.")]


def history(  # noqa: PLR0913  # one parameter an option
    target: TargetArgument = "",
    *,
    since: SinceOption = "",
    until: UntilOption = "",
    who: WhoOption = False,
    with_: WithOption = False,
    blame: BlameOption = False,
    text: TextOption = "",
    ticket: TicketOption = "",
    commit: CommitOption = "",
    search: SearchOption = "",
    read_all: ReadAllOption = False,
    limit: LimitOption = 20,
    no_index: NoIndexOption = False,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Show which commits changed a file, lines or a declaration, and why.

    Lines are followed through renames and moves. Needs git; names need an index, paths do not.
    """
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli.commands.history_run import HistoryRequest, run_history

    request = HistoryRequest(
        target, since, until, limit, who, with_, blame, read_all, text, ticket, commit, search, may_index=not no_index
    )
    run_history(request, repo, Output(as_json))
