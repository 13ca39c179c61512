"""Steps of ``coderag install`` for each target; a failure does not stop the others."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from coderag.config.repository_root import is_too_wide
from coderag.config.trust import is_trusted
from coderag.errors import CodeRAGError, ConfigurationError
from coderag.interfaces.cli.confirmation import confirm
from coderag.interfaces.cli.output.streams import Output, escape_controls
from coderag.interfaces.error_table import SUCCESS, find_error_row
from coderag.interfaces.install import changes, files, handshake, records
from coderag.interfaces.install.agents import (
    AGENTS,
    SERVER_NAME,
    CodingAgent,
    InstallScope,
    find_agent,
    find_claude_folder,
)
from coderag.interfaces.install.command import find_server_command
from coderag.interfaces.install.targets import (
    InstallTarget,
    InstructionBlock,
    ServerEntry,
    SkillFile,
    find_skill_path,
    format_command,
)
from coderag.models.redaction.redactor import get_redactor

Outcome = Literal["installed", "uninstalled", "unchanged", "declined", "failed", "answers"]

_DECLINED_EXIT_CODE = 1


@dataclass(frozen=True, slots=True)
class InstallRequest:
    """Options of ``coderag install``.

    Attributes:
        names: Names of agents; empty selects the installed ones.
        all_agents: Select all supported agents.
        root: Project folder.
    """

    names: tuple[str, ...]
    all_agents: bool
    scope: InstallScope
    root: Path
    instructions: bool
    skill: bool


@dataclass(frozen=True, slots=True)
class TargetResult:
    """Outcome of a target.

    Attributes:
        target: Name of the agent or other target.
        detail: Further information for display.
        diff: The displayed diff.
        restored: Whether a removal restored the original bytes.
    """

    target: str
    path: str
    outcome: Outcome
    detail: str = ""
    diff: str = ""
    restored: bool = False


def run_install(request: InstallRequest, output: Output, *, yes: bool, uninstall: bool) -> int:
    """Install or uninstall all targets; return the exit code."""
    results, code = [], SUCCESS
    for target in _list_targets(request, uninstall=uninstall):
        try:
            result = _apply_target(target, output, yes=yes, uninstall=uninstall)
        except CodeRAGError as error:
            if not isinstance(error, ConfigurationError):  # confirmation is impossible for every target
                raise
            result = TargetResult(target.name, str(target.path), "failed", _format_error(error))
            code = code or find_error_row(error).exit_code
        if result is None:
            continue
        if result.outcome == "declined":
            code = code or _DECLINED_EXIT_CODE
        results.append(result)
        _print_result(target, result, output)
    if not results:
        output.note("CodeRAG is not installed in any agent" if uninstall else "nothing to do")
    if output.as_json:
        output.write_json({"scope": request.scope, "command": find_server_command(), "results": results})
    elif request.scope == "project" and any(result.outcome == "installed" for result in results):
        output.note("The command is a path on this machine: do not commit it.")
    return code


def run_print(request: InstallRequest, output: Output) -> int:
    """Print the entry for each configuration file; without names and installed agents, that of each supported agent."""
    if not request.names and not any(agent.is_installed() for agent in AGENTS):
        request = replace(request, all_agents=True)
        output.note("no supported agent is installed on this machine; these are the entries of all")
    entries = [target for target in _list_targets(request, uninstall=False) if isinstance(target, ServerEntry)]
    if output.as_json:
        snippets = [
            {"target": server.name, "path": server.path, "snippet": server.format_snippet()} for server in entries
        ]
        output.write_json({"scope": request.scope, "command": find_server_command(), "snippets": snippets})
        return SUCCESS
    for entry in entries:
        output.note(f"{entry.title}: {entry.path}")
        output.write(entry.format_snippet())
    return SUCCESS


def run_check(request: InstallRequest, output: Output) -> int:
    """Start the configured server of each agent; return the exit code."""
    results, code = [], SUCCESS
    for target in _list_targets(request, uninstall=False):
        if not isinstance(target, ServerEntry):
            continue
        try:
            with output.show_status(f"starting the server of {target.title}"):
                result = _check_server(target, request.root)
        except CodeRAGError as error:
            result = TargetResult(target.name, str(target.path), "failed", _format_error(error))
            code = code or find_error_row(error).exit_code
        results.append(result)
        _print_result(target, result, output)
    if output.as_json:
        output.write_json({"scope": request.scope, "results": results})
    return code


def _list_targets(request: InstallRequest, *, uninstall: bool) -> Iterator[InstallTarget]:
    """Yield the selected targets."""
    within = request.root if request.scope == "project" else None
    if within is not None and is_too_wide(request.root):
        raise ConfigurationError(f"{request.root} is not a project", hint="Go to one, or name it with --repo.")
    agents = _select_agents(request, uninstall=uninstall)
    command = tuple(find_server_command())
    for agent in agents:
        yield ServerEntry(agent, agent.find_file(request.scope, request.root), command, within)
    everything = uninstall and not request.names
    if request.skill or everything:
        yield SkillFile(find_skill_path(request.scope, request.root, find_claude_folder()), within)
    if request.instructions or everything:
        names = {agent.instructions_file for agent in agents} if not everything else {"AGENTS.md", "CLAUDE.md"}
        for name in sorted(names):
            yield InstructionBlock(request.root / name, request.root)


def _select_agents(request: InstallRequest, *, uninstall: bool) -> list[CodingAgent]:
    if request.names:
        return list(dict.fromkeys(find_agent(name) for name in request.names))
    eligible = [agent for agent in AGENTS if request.scope == "user" or agent.project_file]
    if request.all_agents or uninstall:
        return eligible
    installed = [agent for agent in eligible if agent.is_installed()]
    if not installed:
        message = "no supported agent is installed on this machine"
        raise ConfigurationError(message, hint="Name one, as in `coderag install cursor`; --help lists them.")
    return installed


def _apply_target(target: InstallTarget, output: Output, *, yes: bool, uninstall: bool) -> TargetResult | None:
    """Show the change, confirm and write it; None if there is nothing to remove."""
    if uninstall and _has_nothing(target):
        return None
    change = changes.plan_uninstall(target) if uninstall else changes.plan_install(target)
    if change is None:
        return None if uninstall else TargetResult(target.name, str(target.path), "unchanged")
    diff = get_redactor().redact("\n".join(changes.format_diff(change))).text  # other entries may hold keys
    output.note(f"{target.title}:\n{diff}")
    if not yes and not confirm("Write it?"):
        return TargetResult(target.name, str(target.path), "declined", diff=diff)
    changes.apply_change(change)
    if change.installs:
        return TargetResult(target.name, str(target.path), "installed", diff=diff)
    detail = "restored byte for byte" if change.is_exact else "edited since: only CodeRAG's entry was removed"
    return TargetResult(target.name, str(target.path), "uninstalled", detail, diff, restored=change.is_exact)


def _has_nothing(target: InstallTarget) -> bool:
    """Return whether a file cannot contain our entry, so that it need not even be valid."""
    file = files.read_config_file(target.path, target.within)
    return file.content is None or (
        SERVER_NAME.encode() not in file.content and records.read_record(file.real_path) is None
    )


def _check_server(target: ServerEntry, root: Path) -> TargetResult:
    file = files.read_config_file(target.path, target.within)
    try:
        command = target.parse_command(files.decode_text(file))
    except ConfigurationError as error:
        raise ConfigurationError(f"{target.path}: {error}", hint=error.hint) from error
    if command is None:
        hint = f"Run `coderag install {target.name}`."
        raise ConfigurationError(f"{target.path} has no server {SERVER_NAME!r}", hint=hint)
    if target.within is not None and tuple(command) != target.command and not is_trusted(root):
        message = f"{target.path} names {format_command(command)}, which is not this installation's, and {root} is not trusted"
        raise ConfigurationError(
            message, hint="Nothing was started. Install this one with `coderag install --scope project`."
        )
    result = handshake.probe_server(command, root)
    detail = f"{result.server} speaks MCP {result.protocol}, {len(result.tools)} tools, in {result.seconds:.1f} s"
    return TargetResult(target.name, str(target.path), "answers", f"{detail}: {format_command(command)}")


def _format_error(error: CodeRAGError) -> str:
    return f"{error}. {error.hint}" if error.hint else str(error)


def _print_result(target: InstallTarget, result: TargetResult, output: Output) -> None:
    if output.as_json:
        return
    phrases = {"unchanged": "already installed", "declined": "left unchanged", "answers": "the server responds"}
    detail = f": {result.detail}" if result.detail else ""
    location = "" if result.outcome in {"failed", "answers"} else f" ({result.path})"
    output.write(escape_controls(f"{target.title}: {phrases.get(result.outcome, result.outcome)}{location}{detail}"))
