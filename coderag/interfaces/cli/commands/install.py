"""``coderag install``: installation into coding agents."""

from pathlib import Path
from typing import Annotated

import typer

from coderag.errors import InvalidQueryError
from coderag.interfaces.cli.options import DebugOption, JsonOption, RepoOption
from coderag.interfaces.cli.output.streams import Output

_AGENTS_HELP = "claude-code, codex, cursor, vscode, opencode, windsurf, gemini. Default: the installed ones."
_SCOPE_HELP = "user: for all your projects; project: in the project's own files."
_SKILL_HELP = "Also install a Claude Code skill that explains when to use CodeRAG."
_INSTRUCTIONS_HELP = "Also add a block with the same advice to the project's AGENTS.md or CLAUDE.md."
_CHECK_HELP = "Start the configured server and perform the MCP handshake; write nothing."


def _check_scope(value: str) -> str:
    if value not in {"user", "project"}:
        raise typer.BadParameter(f"{value!r} is not one of user, project.")
    return value


AgentsArgument = Annotated[list[str] | None, typer.Argument(metavar="AGENT", help=_AGENTS_HELP, show_default=False)]
AllOption = Annotated[bool, typer.Option("--all", help="All supported agents, installed or not.")]
ScopeOption = Annotated[str, typer.Option("--scope", metavar="SCOPE", help=_SCOPE_HELP, callback=_check_scope)]
PrintOption = Annotated[bool, typer.Option("--print", help="Print the entry for each file; write nothing.")]
UninstallOption = Annotated[bool, typer.Option("--uninstall", help="Remove CodeRAG from the agents.")]
SkillOption = Annotated[bool, typer.Option("--skill", help=_SKILL_HELP)]
InstructionsOption = Annotated[bool, typer.Option("--instructions", help=_INSTRUCTIONS_HELP)]
CheckOption = Annotated[bool, typer.Option("--check", help=_CHECK_HELP)]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")]


def install(  # noqa: PLR0913  # one parameter an option
    agents: AgentsArgument = None,
    *,
    all_: AllOption = False,
    scope: ScopeOption = "user",
    print_: PrintOption = False,
    uninstall: UninstallOption = False,
    instructions: InstructionsOption = False,
    skill: SkillOption = False,
    check: CheckOption = False,
    yes: YesOption = False,
    repo: RepoOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Install CodeRAG into your agents: Claude Code, Codex, Cursor, VS Code, OpenCode, Windsurf, Gemini CLI.

    Shows the exact change of each configuration, and writes only what you confirm. --uninstall restores each file byte for
    byte. In a file that was edited since, it removes CodeRAG's entry only.
    """
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli.commands.install_run import InstallRequest, run_check, run_install, run_print

    if sum((print_, uninstall, check)) > 1:
        raise InvalidQueryError("--print, --uninstall and --check exclude one another")
    if agents and all_:
        raise InvalidQueryError("name agents, or use --all")
    request = InstallRequest(
        tuple(agents or ()),
        all_,
        "project" if scope == "project" else "user",
        _find_project_root(repo),
        instructions,
        skill,
    )
    output = Output(as_json)
    if print_:
        code = run_print(request, output)
    elif check:
        code = run_check(request, output)
    else:
        code = run_install(request, output, yes=yes, uninstall=uninstall)
    if code:
        raise typer.Exit(code)


def _find_project_root(repo: Path | None) -> Path:
    from coderag.config.repository_root import find_root

    return find_root(repo).expanduser().absolute()
