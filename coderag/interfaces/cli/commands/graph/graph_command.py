"""``coderag graph``: queries of the code graph."""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Final

import typer

from coderag.interfaces.cli.commands.graph.exchange import export, import_
from coderag.interfaces.cli.commands.graph.options import GraphViewOptions, NameArgument, take_view_options
from coderag.interfaces.cli.commands.graph.query_commands import QUERY_COMMANDS, QueryCommand
from coderag.interfaces.cli.typer_ext.light_command import LightCommand
from coderag.interfaces.cli.typer_ext.light_group import LightGroup, show_help_without_command
from coderag.schema.vocabulary import CycleLevel

DepthOption = Annotated[int, typer.Option("--depth", metavar="N", min=1, help="Steps to follow.")]
StartArgument = Annotated[
    str, typer.Argument(metavar="FROM", help="Start of the path: a name, as for 'callers'.", show_default=False)
]
EndArgument = Annotated[str, typer.Argument(metavar="TO", help="End of the path, likewise.", show_default=False)]
FileArgument = Annotated[str, typer.Argument(metavar="PATH", help="A file, relative to the root.", show_default=False)]
FolderArgument = Annotated[
    str, typer.Argument(metavar="[PATH]", help="A file or folder. Default: the whole repository.", show_default=False)
]
LevelOption = Annotated[CycleLevel, typer.Option("--level", help="Cycles of imports, or of calls.")]
KindOption = Annotated[
    str | None, typer.Option("--kind", "-k", metavar="KIND", help="Only this kind, such as class.", show_default=False)
]
HotspotLimitOption = Annotated[
    int, typer.Option("--limit", "-n", metavar="N", min=1, help="Maximum number of results.")
]

graph: Final = typer.Typer(name="graph", cls=LightGroup, invoke_without_command=True, rich_markup_mode=None)


@graph.callback()
def group(ctx: typer.Context) -> None:
    """Query the code graph.

    Each result has its line of evidence, its resolver and its confidence (0 to 1).
    """
    show_help_without_command(ctx)


def _make_walk_command(query: QueryCommand) -> Callable[..., None]:
    """Make the command of a query with a depth."""

    @take_view_options()
    def run_query_command(name: NameArgument, *, depth: DepthOption = query.depth, view: GraphViewOptions) -> None:
        from coderag.interfaces.cli.commands.graph.query_runner import run_query

        run_query(query, name, view, depth=depth)

    return run_query_command


def _make_direct_command(query: QueryCommand) -> Callable[..., None]:
    """Make the command of a query without a depth."""

    @take_view_options()
    def run_query_command(name: NameArgument, *, view: GraphViewOptions) -> None:
        from coderag.interfaces.cli.commands.graph.query_runner import run_query

        run_query(query, name, view)

    return run_query_command


for _query in QUERY_COMMANDS:
    _make = _make_walk_command if _query.depth else _make_direct_command
    graph.command(_query.name, cls=LightCommand, help=_query.help)(_make(_query))


@graph.command(cls=LightCommand)
@take_view_options("limit")
def path(start: StartArgument, end: EndArgument, *, view: GraphViewOptions) -> None:
    """Show the shortest path from one declaration to another."""
    from coderag.interfaces.cli.commands.graph import query_runner

    query_runner.show_path(start, end, view)


@graph.command(cls=LightCommand)
@take_view_options("candidates")
def cycles(*, level: LevelOption = "files", view: GraphViewOptions) -> None:
    """List import cycles of files.

    With --level symbols: call cycles of functions.
    """
    from coderag.interfaces.cli.commands.graph import query_runner

    query_runner.show_cycles(level, view)


@graph.command(cls=LightCommand)
@take_view_options("candidates", "limit", "mermaid", "dot")
def hotspots(*, limit: HotspotLimitOption = 20, kind: KindOption = None, view: GraphViewOptions) -> None:
    """List the most depended-on declarations, by calls and imports."""
    from coderag.interfaces.cli.commands.graph import query_runner

    query_runner.show_hotspots(kind, limit, replace(view, limit=limit))


@graph.command(cls=LightCommand)
@take_view_options("candidates", "limit")
def outline(file: FileArgument, *, view: GraphViewOptions) -> None:
    """Show the declarations of a file, nested."""
    from coderag.interfaces.cli.commands.graph import query_runner

    query_runner.show_outline(file, view)


@graph.command(cls=LightCommand)
@take_view_options("candidates", "mermaid", "dot")
def mentions(name: NameArgument, *, view: GraphViewOptions) -> None:
    """List the lines that mention a name outside its declaration.

    Code comes first, then comments and documents. A linked line has an edge in the code graph.
    """
    from coderag.interfaces.cli.commands.graph import query_runner

    query_runner.show_mentions(name, view)


@graph.command(cls=LightCommand)
@take_view_options("candidates", "mermaid", "dot")
def unused(folder: FolderArgument = "", *, view: GraphViewOptions) -> None:
    """List functions, methods and types without a known use.

    Entry points, overrides and registered code are left out. Check a result before you remove it.
    """
    from coderag.interfaces.cli.commands.graph import query_runner

    query_runner.show_unused(folder, view)


graph.command()(export)
graph.command("import")(import_)
