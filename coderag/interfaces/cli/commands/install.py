"""``coderag install``: installation into coding agents."""

from pathlib import Path
from typing import Annotated

import typer

from coderag.errors import InvalidQueryError
from coderag.interfaces.cli.options import DebugOption, JsonOption, RepoOption
from coderag.interfaces.cli.output.streams import Output

_AGENTS_HELP = "claude-code, codex, cursor, vscode, opencode, windsurf, gemini. Default: those that are found here."
_SCOPE_HELP = "Whether for all projects of this user, or in the project's own files: user, project."
_SKILL_HELP = "Also a skill for Claude Code, which says when to use what."
_INSTRUCTIONS_HELP = "Also a block in the project's AGENTS.md or CLAUDE.md, which says the same."
_CHECK_HELP = "Start what is configured, and do the handshake of MCP with it; nothing is written."


def _check_scope(value: str) -> str:
    if value not in {"user", "project"}:
        raise typer.BadParameter(f"{value!r} is not one of user, project.")
    return value


AgentsArgument = Annotated[list[str] | None, typer.Argument(metavar="AGENT", help=_AGENTS_HELP, show_default=False)]
AllOption = Annotated[bool, typer.Option("--all", help="All agents, whether they are found here or not.")]
ScopeOption = Annotated[str, typer.Option("--scope", metavar="SCOPE", help=_SCOPE_HELP, callback=_check_scope)]
PrintOption = Annotated[bool, typer.Option("--print", help="Print what to add to which file, and write nothing.")]
UninstallOption = Annotated[bool, typer.Option("--uninstall", help="Take it out again.")]
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
    """Put CodeRAG into your agents: Claude Code, Codex, Cursor, VS Code, OpenCode, Windsurf, Gemini CLI.

    Shows for each the exact change to its configuration, and writes only what you agree to. --uninstall gives a file back
    as it was, to the byte, unless others have changed it since; then it takes out only what is ours.
    """
    del debug  # read in main, before anything can fail
    from coderag.interfaces.cli.commands.install_run import InstallRequest, run_check, run_install, run_print

    if sum((print_, uninstall, check)) > 1:
        raise InvalidQueryError("--print, --uninstall and --check exclude one another")
    if agents and all_:
        raise InvalidQueryError("name agents, or take --all")
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
