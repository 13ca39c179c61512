"""``coderag mcp``."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from coderag.interfaces.cli.options import DebugOption

_ROOT_HELP = (
    "Repository of calls that name none. Default: the nearest folder upwards with .coderag or "
    ".coderag.yaml, else the git root."
)
_ALLOW_HELP = (
    "Only serve repositories in this folder; repeatable. Then no running service is used. "
    "Default: any folder that may be indexed."
)
_TOOLS_HELP = "Tools for agents: all, or the single tool search_codebase."


def mcp(
    *,
    repo: Annotated[
        Path | None,
        typer.Option(
            "--repo",
            "-C",
            metavar="PATH",
            envvar="CLAUDE_PROJECT_DIR",
            help=_ROOT_HELP,
            show_default=False,
            readable=False,
        ),
    ] = None,
    allow_root: Annotated[
        list[Path] | None, typer.Option("--allow-root", metavar="PATH", help=_ALLOW_HELP, show_default=False)
    ] = None,
    tools: Annotated[Literal["all", "single"], typer.Option(envvar="CODERAG_SERVICE__TOOLS", help=_TOOLS_HELP)] = "all",
    no_service: Annotated[
        bool, typer.Option("--no-service", help="Work in this process, even if a service runs.")
    ] = False,
    debug: DebugOption = False,
) -> None:
    """Serve an agent over standard input and output (MCP). Agents start this; `coderag install` configures them.

    It uses the running service if there is one. For HTTP: `coderag serve`.
    """
    del debug  # read by main
    from coderag.config.repository_root import find_root, resolve_folder
    from coderag.interfaces.mcp.stdio.backends import SessionOptions
    from coderag.interfaces.mcp.stdio.process import serve_stdio

    for folder in [repo, *(allow_root or ())]:
        if folder is not None:
            resolve_folder(folder)
    if sys.stdin is not None and sys.stdin.isatty():
        typer.echo("This speaks MCP, for agents; `coderag install` configures them. Press Ctrl-D to exit.", err=True)
    options = SessionOptions(
        root=find_root(repo).resolve(),
        tools=tools,
        allowed_roots=tuple(folder.resolve() for folder in allow_root or ()),
        use_service=not no_service,
    )
    raise typer.Exit(serve_stdio(options))
