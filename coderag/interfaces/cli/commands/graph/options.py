"""Shared options of ``coderag graph``."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from coderag.errors import InvalidQueryError
from coderag.interfaces.cli.options import DebugOption, JsonOption, NoIndexOption, RepoOption
from coderag.interfaces.cli.output.streams import Output
from coderag.interfaces.cli.typer_ext.option_groups import Command, expand_options

_NAME_HELP = "A name (login), a qualified one (Session.login), path::name, path:line, or a file's path."

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help=_NAME_HELP, show_default=False)]
CandidatesOption = Annotated[
    bool, typer.Option("--candidates", help="Include uncertain results: names that may mean several declarations.")
]
MermaidOption = Annotated[bool, typer.Option("--mermaid", help="Print a Mermaid diagram.")]
DotOption = Annotated[bool, typer.Option("--dot", help="Print a Graphviz DOT diagram.")]
LimitOption = Annotated[
    int | None,
    typer.Option(
        "--limit",
        "-n",
        metavar="N",
        min=1,
        help="Maximum number of results. Default: all; 60 in a diagram.",
        show_default=False,
    ),
]

Diagram = Literal["mermaid", "dot"]


@dataclass(frozen=True, slots=True)
class GraphViewOptions:
    """Chosen output options of a graph query.

    Attributes:
        diagram: Diagram format, if any.
        limit: Maximum number of results.
        candidates: Include uncertain results.
        may_index: Build a missing index.
        repo: The named repository, if any.
    """

    output: Output
    diagram: Diagram | None = None
    limit: int | None = None
    candidates: bool = False
    may_index: bool = True
    repo: Path | None = None


def make_view_options(  # noqa: PLR0913  # one parameter an option
    *,
    candidates: CandidatesOption = False,
    limit: LimitOption = None,
    mermaid: MermaidOption = False,
    dot: DotOption = False,
    no_index: NoIndexOption = False,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> GraphViewOptions:
    """Return the chosen output options.

    Raises:
        InvalidQueryError: More than one output format is given.
    """
    del debug  # read in main, before anything can fail
    if as_json + mermaid + dot > 1:
        raise InvalidQueryError("--json, --mermaid and --dot exclude one another", hint="Choose one.")
    diagram: Diagram | None = "mermaid" if mermaid else "dot" if dot else None
    return GraphViewOptions(Output(as_json), diagram, limit, candidates, may_index=not no_index, repo=repo)


def take_view_options(*omitted: str) -> Callable[[Command], Command]:
    """Replace the parameter ``view`` of a command by its options, except omitted ones."""
    return expand_options("view", make_view_options, *omitted)
