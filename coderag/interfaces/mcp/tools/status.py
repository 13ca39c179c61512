"""``coderag_status``: state of the index and progress of indexing."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from coderag.interfaces.mcp.arguments import StatusArguments
from coderag.interfaces.mcp.cleaner import Cleaner
from coderag.interfaces.mcp.notifications import REPOSITORIES_URI
from coderag.interfaces.mcp.progress import compute_percent, format_progress
from coderag.interfaces.mcp.replies import McpReply
from coderag.interfaces.mcp.tool import ToolDefinition, ToolRequest
from coderag.schema.indexing import IndexStatus
from coderag.workspace.jobs import ENDED_STATES, JobView

if TYPE_CHECKING:
    from coderag.workspace.repository import OpenRepository

_MAX_NAMED = 20
_MAX_REPOSITORIES = 10
"""Maximum number of other repositories that are named."""


async def run_status(call: ToolRequest, arguments: StatusArguments) -> McpReply:
    """Return the state of a repository's index, without indexing it."""
    repository = await call.find(arguments.repository)
    workspace = await call.repositories.get_workspace()
    entries = await call.run(workspace.list_repositories)
    reply = await call.run(partial(build_status_reply, repository))
    if len(entries) > 1:
        names, remaining = [entry.name for entry in entries[:_MAX_REPOSITORIES]], len(entries) - _MAX_REPOSITORIES
        reply.facts["repositories"] = names
        suffix = f", and {remaining} more in the resource {REPOSITORIES_URI}" if remaining > 0 else ""
        reply.notes.append(f"Known repositories: {', '.join(names)}{suffix}.")
    return reply


def build_status_reply(repository: "OpenRepository") -> McpReply:
    """Build the reply with the state of a repository's index and its job."""
    cleaner = Cleaner(redact=repository.engine.settings.privacy.redact_secrets)
    is_named = repository.place == repository.name  # the folder of a server says nothing to its callers
    reply = McpReply(
        facts={"repository": repository.name, "root": repository.place, "indexed": repository.is_indexed},
        intro=[repository.name if is_named else f"{repository.name} at {cleaner.clean_line(repository.place)}"],
    )
    view = repository.job.view if repository.job is not None else None
    is_running = view is not None and view.state not in ENDED_STATES
    if view is not None:
        reply.facts["job"] = build_job_record(view)
        reply.intro.append(f"job {view.id}: {view.state}{f', {format_progress(view)}' if is_running else ''}")
        reply.intro += (
            [f"{cleaner.clean_line(view.error)} {cleaner.clean_line(view.hint)}".strip()] if view.error else []
        )
    if reply.facts["indexed"]:
        _add_index_status(reply, repository.engine.status(), cleaner, is_running=is_running)
    else:
        reply.intro.append("not indexed yet")
        next_step = "coderag_index waits for it" if is_running else "coderag_index builds the index"
        reply.notes.append(f"Next: {next_step}; the other tools answer from a quick pass over the files meanwhile.")
    return reply


def build_job_record(view: JobView) -> dict[str, Any]:
    """Build the record of a job."""
    stage = view.progress.stage if view.progress and view.state not in ENDED_STATES else ""
    texts = {"stage": stage, "error": view.error, "hint": view.hint}
    return {
        "id": view.id,
        "state": view.state,
        "percent": compute_percent(view),
        **{key: text for key, text in texts.items() if text},
    }


def _add_index_status(reply: McpReply, status: IndexStatus, cleaner: Cleaner, *, is_running: bool) -> None:
    changed = [*status.added, *status.changed, *status.removed]
    counts = {
        "files": status.files,
        "chunks": status.chunks,
        "symbols": status.symbols,
        "edges": status.edges,
        "changed": len(changed),
        "failed": len(status.failed),
    }
    failed = [cleaner.clean_line(f"{path}: {reason}") for path, reason in status.failed[:_MAX_NAMED]]
    reply.facts |= {
        "fresh": status.fresh,
        "created": status.created,
        "embedding": status.embedding,
        "counts": counts,
        "languages": dict(status.languages),
        "skipped": dict(status.skipped),
        **({"changed": changed[:_MAX_NAMED]} if changed else {}),
        **({"failed": failed} if failed else {}),
        **({"restricted": list(status.restricted)} if status.restricted else {}),
    }
    reply.intro += [
        f"{'the index that answers until the job ends: ' if is_running else ''}"
        f"{'fresh' if status.fresh else 'not fresh'}, indexed {status.created} with {status.embedding}",
        ", ".join(f"{count} {label}" for label, count in counts.items()),
        f"languages: {_format_counts(status.languages)}",
        *([f"skipped: {_format_counts(status.skipped)}"] if status.skipped else []),
        *([f"changed since: {', '.join(map(cleaner.clean_line, changed[:_MAX_NAMED]))}"] if changed else []),
        *(f"failed: {failure}" for failure in failed),
    ]
    if status.restricted:
        names = ", ".join(map(cleaner.clean_line, status.restricted[:_MAX_NAMED]))
        reply.notes.append(f"Settings of the repository that are not followed, as it is not marked trusted: {names}.")
    if not status.fresh:
        effect = "waits for the job" if is_running else "brings the index up to date"
        reply.notes.append(f"Replies follow the files on disk meanwhile; coderag_index {effect}.")


def _format_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"


STATUS = ToolDefinition(
    "coderag_status",
    "Show index status",
    "See whether this project is indexed and fresh, what was skipped or failed, how far a run of indexing is, and which other "
    "repositories are known. Call it when results look incomplete.",
    StatusArguments,
    run_status,
)
