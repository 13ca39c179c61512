"""What ``coderag install`` does, target by target: one that fails holds up no other."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from coderag.config.repository_root import is_too_wide
from coderag.config.trust import is_trusted
from coderag.errors import CodeRAGError, ConfigurationError
from coderag.interfaces._errors import SUCCESS, row_for
from coderag.interfaces.cli._chat_asking import agrees
from coderag.interfaces.cli._streams import Output, visible
from coderag.interfaces.install import changes, files, handshake, records
from coderag.interfaces.install.agents import AGENTS, SERVER, Agent, Scope, agent_named, claude_folder
from coderag.interfaces.install.command import server_command
from coderag.interfaces.install.targets import InstructionBlock, ServerEntry, SkillFile, Target, shown, skill_path
from coderag.models.redaction.redactor import get_redactor

Outcome = Literal["installed", "uninstalled", "unchanged", "declined", "failed", "answers"]

_DECLINED = 1


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the user asked for.

    Attributes:
        names: Of agents; none is those that are found.
        every: Whether all agents are meant.
        root: Folder of the project.
    """

    names: tuple[str, ...]
    every: bool
    scope: Scope
    root: Path
    instructions: bool
    skill: bool


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one target.

    Attributes:
        target: The agent, or what else it is.
        detail: For people: what to know about it.
        diff: What was shown.
        restored: Of taking out: whether the file has the very bytes that it had before.
    """

    target: str
    path: str
    outcome: Outcome
    detail: str = ""
    diff: str = ""
    restored: bool = False


def run_install(wanted: Wanted, output: Output, *, yes: bool, uninstall: bool) -> int:
    """Put it in or take it out; return the exit code."""
    results, code = [], SUCCESS
    for target in _targets(wanted, uninstall=uninstall):
        try:
            result = _treat(target, output, yes=yes, uninstall=uninstall)
        except CodeRAGError as error:
            if not isinstance(error, ConfigurationError):  # nobody can be asked: so it is for the others, too
                raise
            result = Result(target.name, str(target.path), "failed", _told(error))
            code = code or row_for(error).exit_code
        if result is None:
            continue
        if result.outcome == "declined":
            code = code or _DECLINED
        results.append(result)
        _tell(target, result, output)
    if not results:
        output.note("nothing of CodeRAG was found" if uninstall else "nothing to do")
    if output.as_json:
        output.result({"scope": wanted.scope, "command": server_command(), "results": results})
    elif wanted.scope == "project" and any(result.outcome == "installed" for result in results):
        output.note("The command is a path of this machine: do not commit it for others.")
    return code


def run_print(wanted: Wanted, output: Output) -> int:
    """Print what to add to which file."""
    entries = [target for target in _targets(wanted, uninstall=False) if isinstance(target, ServerEntry)]
    if output.as_json:
        snippets = [{"target": one.name, "path": one.path, "snippet": one.snippet()} for one in entries]
        output.result({"scope": wanted.scope, "command": server_command(), "snippets": snippets})
        return SUCCESS
    for entry in entries:
        output.note(f"{entry.title}: {entry.path}")
        output.write(entry.snippet())
    return SUCCESS


def run_check(wanted: Wanted, output: Output) -> int:
    """Start what each agent has configured; return the exit code."""
    results, code = [], SUCCESS
    for target in _targets(wanted, uninstall=False):
        if not isinstance(target, ServerEntry):
            continue
        try:
            with output.busy(f"starting the server of {target.title}"):
                result = _greeted(target, wanted.root)
        except CodeRAGError as error:
            result = Result(target.name, str(target.path), "failed", _told(error))
            code = code or row_for(error).exit_code
        results.append(result)
        _tell(target, result, output)
    if output.as_json:
        output.result({"scope": wanted.scope, "results": results})
    return code


def _targets(wanted: Wanted, *, uninstall: bool) -> Iterator[Target]:
    """Yield what is meant, agent by agent."""
    within = wanted.root if wanted.scope == "project" else None
    if within is not None and is_too_wide(wanted.root):
        raise ConfigurationError(f"{wanted.root} is no project", hint="Go to one, or name it with --repo.")
    agents = _agents(wanted, uninstall=uninstall)
    command = tuple(server_command())
    for agent in agents:
        yield ServerEntry(agent, agent.file(wanted.scope, wanted.root), command, within)
    everything = uninstall and not wanted.names
    if wanted.skill or everything:
        yield SkillFile(skill_path(wanted.scope, wanted.root, claude_folder()), within)
    if wanted.instructions or everything:
        names = {agent.document for agent in agents} if not everything else {"AGENTS.md", "CLAUDE.md"}
        for name in sorted(names):
            yield InstructionBlock(wanted.root / name, wanted.root)


def _agents(wanted: Wanted, *, uninstall: bool) -> list[Agent]:
    if wanted.names:
        return list(dict.fromkeys(agent_named(name) for name in wanted.names))
    fitting = [agent for agent in AGENTS if wanted.scope == "user" or agent.project_file]
    if wanted.every or uninstall:
        return fitting
    found = [agent for agent in fitting if agent.is_here()]
    if not found:
        message = "none of the agents that CodeRAG knows was found on this machine"
        raise ConfigurationError(message, hint="Name one, as in `coderag install cursor`; --help lists them.")
    return found


def _treat(target: Target, output: Output, *, yes: bool, uninstall: bool) -> Result | None:
    """Show, ask and write; None if there is nothing to take out."""
    if uninstall and _has_nothing(target):
        return None
    change = changes.plan_uninstall(target) if uninstall else changes.plan_install(target)
    if change is None:
        return None if uninstall else Result(target.name, str(target.path), "unchanged")
    diff = get_redactor().redact("\n".join(changes.difference(change))).text  # others' entries may hold keys
    output.note(f"{target.title}:\n{diff}")
    if not yes and not agrees("Write it?"):
        return Result(target.name, str(target.path), "declined", diff=diff)
    changes.apply(change)
    if change.installs:
        return Result(target.name, str(target.path), "installed", diff=diff)
    detail = "as it was before" if change.is_exact else "changed by others since: only what is ours was taken out"
    return Result(target.name, str(target.path), "uninstalled", detail, diff, restored=change.is_exact)


def _has_nothing(target: Target) -> bool:
    """Whether a file cannot have anything of ours, so that it need not even be valid."""
    place = files.look(target.path, target.within)
    return place.content is None or (SERVER.encode() not in place.content and records.read_record(place.target) is None)


def _greeted(target: ServerEntry, root: Path) -> Result:
    place = files.look(target.path, target.within)
    try:
        command = target.configured(files.text_of(place))
    except ConfigurationError as error:
        raise ConfigurationError(f"{target.path}: {error}", hint=error.hint) from error
    if command is None:
        hint = f"`coderag install {target.name}` puts it there."
        raise ConfigurationError(f"{target.path} has no server {SERVER!r}", hint=hint)
    if target.within is not None and tuple(command) != target.command and not is_trusted(root):
        message = f"{target.path} names {shown(command)}, which is not this installation's, and {root} is not trusted"
        raise ConfigurationError(
            message, hint="Nothing was started. `coderag install --scope project` puts ours there."
        )
    found = handshake.greet(command, root)
    detail = f"{found.server} speaks MCP {found.protocol}, {len(found.tools)} tools, in {found.seconds:.1f} s"
    return Result(target.name, str(target.path), "answers", f"{detail}: {shown(command)}")


def _told(error: CodeRAGError) -> str:
    return f"{error}. {error.hint}" if error.hint else str(error)


def _tell(target: Target, result: Result, output: Output) -> None:
    if output.as_json:
        return
    words = {"unchanged": "has it already", "declined": "was left as it is", "answers": "the server answers"}
    detail = f": {result.detail}" if result.detail else ""
    place = "" if result.outcome in {"failed", "answers"} else f" ({result.path})"
    output.write(visible(f"{target.title}: {words.get(result.outcome, result.outcome)}{place}{detail}"))
