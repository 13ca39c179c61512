"""The ``coderag`` command with its subcommands, error handling and exit codes."""

import logging
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from coderag import __version__
from coderag.interfaces.cli.commands import (
    ask,
    context,
    diff,
    doctor,
    enrich,
    history,
    index,
    init,
    install,
    mcp,
    repos,
    search,
    serve,
    status,
    trust,
    web,
)
from coderag.interfaces.cli.commands.chat import chat_command
from coderag.interfaces.cli.commands.cluster.cluster_command import cluster
from coderag.interfaces.cli.commands.eval.eval_command import eval_
from coderag.interfaces.cli.commands.graph import graph_command
from coderag.interfaces.cli.commands.prompts import prompts
from coderag.interfaces.cli.commands.server.server_command import server
from coderag.interfaces.cli.commands.sources.sources_command import sources
from coderag.interfaces.cli.commands.storage.storage_command import storage
from coderag.interfaces.cli.options import DebugOption
from coderag.interfaces.cli.output.error_report import InterruptedByUserError, is_interrupt, report_error
from coderag.interfaces.cli.output.streams import flush_stdout, set_encodings
from coderag.interfaces.cli.startup import mark_dedicated_process
from coderag.interfaces.cli.typer_ext.light_command import LightCommand
from coderag.interfaces.cli.typer_ext.light_group import LightGroup, show_help_without_command
from coderag.interfaces.error_table import list_exit_codes


class CodeRAGGroup(LightGroup):
    """The root command group: maps errors to one line and an exit code, and lists the codes in its help."""

    def main(self, args: Sequence[str] | None = None, *positional: Any, **options: Any) -> Any:  # noqa: ANN401  # as Typer's
        """Run a command line and exit."""
        # Passing the arguments keeps Typer on Windows from expanding '*' in queries and globs.
        arguments = list(sys.argv[1:] if args is None else args)
        flags = arguments[: arguments.index("--")] if "--" in arguments else arguments
        as_json, debug = "--json" in flags, "--debug" in flags
        set_encodings()
        if debug:
            logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
            logging.getLogger("coderag").setLevel(logging.DEBUG)
        try:
            code = super().main(arguments, *positional, **{**options, "standalone_mode": False})
            flush_stdout()
        except Exception as error:  # noqa: BLE001  # top level: every error ends in one line
            reported = InterruptedByUserError() if is_interrupt(error) else error
            code = report_error(reported, as_json=as_json, debug=debug)
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401  # as Typer's
        """Run the command. Ctrl-C must reach `main` as an error, because Typer would exit silently."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise InterruptedByUserError from error

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002  # as Typer's
        """Write the table of exit codes below the help."""
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), meaning) for code, meaning in list_exit_codes().items()])


# The root has flags only: for other options Typer imports pydantic, even to show help.
app = typer.Typer(
    name="coderag",
    cls=CodeRAGGroup,
    invoke_without_command=True,
    rich_markup_mode=None,  # Rich help takes twice as long
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    init.init, index.index, search.search, context.context, ask.ask, chat_command.chat, diff.diff, history.history,
    status.status, doctor.doctor, enrich.enrich, web.web, serve.serve, mcp.mcp, install.install, repos.repos, trust.trust,
):  # fmt: skip
    app.command(cls=LightCommand)(command)
app.add_typer(graph_command.graph)
app.add_typer(eval_)
app.add_typer(sources)
app.add_typer(storage)
app.add_typer(cluster)
app.add_typer(prompts)
app.add_typer(server)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(f"coderag {__version__}")
        raise typer.Exit


VersionOption = Annotated[
    bool,
    typer.Option("--version", "-V", is_eager=True, callback=_print_version, help="Print the version and exit."),
]


@app.callback()
def options(ctx: typer.Context, *, debug: DebugOption = False, version: VersionOption = False) -> None:
    """Ask questions about a repository and get the deciding lines with checked citations. Local, without any server.

    Start with `coderag ask how does the login work` in a repository. It is indexed first, which takes seconds.
    """
    del debug, version  # read by main and by the callback
    show_help_without_command(ctx)


def run() -> None:
    """Run the command line of this process."""
    mark_dedicated_process()
    app(prog_name=app.info.name)
