"""Shared options of ``coderag graph``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from coderag.errors import InvalidQueryError
from coderag.interfaces.cli.output.streams import Output

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
Level = Literal["files", "symbols"]


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


def make_view_options(
    *,
    as_json: bool,
    mermaid: bool,
    dot: bool,
    no_index: bool,
    repo: Path | None,
    limit: int | None = None,
    candidates: bool = False,
) -> GraphViewOptions:
    """Return the chosen output options.

    Raises:
        InvalidQueryError: More than one output format is given.
    """
    if as_json + mermaid + dot > 1:
        raise InvalidQueryError("--json, --mermaid and --dot exclude one another", hint="Choose one.")
    diagram: Diagram | None = "mermaid" if mermaid else "dot" if dot else None
    return GraphViewOptions(Output(as_json), diagram, limit, candidates, may_index=not no_index, repo=repo)
