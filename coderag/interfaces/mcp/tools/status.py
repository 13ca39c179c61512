"""``coderag_status``: what is indexed, whether it is fresh, and how far a run is."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from coderag.interfaces.mcp.arguments import StatusArguments
from coderag.interfaces.mcp.cleaning import Cleaner
from coderag.interfaces.mcp.following import percent_of, told
from coderag.interfaces.mcp.notices import REPOSITORIES_URI
from coderag.interfaces.mcp.replies import Reply
from coderag.interfaces.mcp.structures import Status
from coderag.interfaces.mcp.tool import Call, ToolDefinition
from coderag.schema.indexing import IndexStatus
from coderag.workspace.jobs import ENDED, JobView

if TYPE_CHECKING:
    from coderag.workspace.repository import OpenRepository

_MOST_NAMED = 20
_MOST_KNOWN = 10
"""Repositories that are named: the reply is about one of them."""


async def status(call: Call, asked: StatusArguments) -> Reply:
    """Return how the index of a repository stands. Nothing is indexed for it."""
    repository = await call.find(asked.repository)
    workspace = await call.repositories.workspace()
    known = await call.run(workspace.known)
    reply = await call.run(partial(status_reply, repository))
    if len(known) > 1:
        names, more = [one.name for one in known[:_MOST_KNOWN]], len(known) - _MOST_KNOWN
        reply.facts["repositories"] = names
        rest = f", and {more} more in the resource {REPOSITORIES_URI}" if more > 0 else ""
        reply.notes.append(f"Known repositories: {', '.join(names)}{rest}.")
    return reply


def status_reply(repository: "OpenRepository") -> Reply:
    """Return how the index of a repository stands, and its job."""
    cleaner = Cleaner(redact=repository.engine.settings.privacy.redact_secrets)
    reply = Reply(
        facts={"repository": repository.name, "root": str(repository.root), "indexed": repository.is_indexed},
        intro=[f"{repository.name} at {cleaner.line(str(repository.root))}"],
    )
    view = repository.job.view if repository.job is not None else None
    is_running = view is not None and view.state not in ENDED
    if view is not None:
        reply.facts["job"] = job_record(view)
        reply.intro.append(f"job {view.id}: {view.state}{f', {told(view)}' if is_running else ''}")
        reply.intro += [f"{cleaner.line(view.error)} {cleaner.line(view.hint)}".strip()] if view.error else []
    if reply.facts["indexed"]:
        _tell(reply, repository.engine.status(), cleaner, is_running=is_running)
    else:
        reply.intro.append("not indexed yet")
        what = "coderag_index waits for it" if is_running else "coderag_index builds the index"
        reply.notes.append(f"Next: {what}; the other tools answer from a quick pass over the files meanwhile.")
    return reply


def job_record(view: JobView) -> dict[str, Any]:
    """Return a job as data."""
    stage = view.progress.stage if view.progress and view.state not in ENDED else ""
    texts = {"stage": stage, "error": view.error, "hint": view.hint}
    return {
        "id": view.id,
        "state": view.state,
        "percent": percent_of(view),
        **{key: text for key, text in texts.items() if text},
    }


def _tell(reply: Reply, known: IndexStatus, cleaner: Cleaner, *, is_running: bool) -> None:
    changed = [*known.added, *known.changed, *known.removed]
    counts = {
        "files": known.files,
        "chunks": known.chunks,
        "symbols": known.symbols,
        "edges": known.edges,
        "changed": len(changed),
        "failed": len(known.failed),
    }
    failed = [cleaner.line(f"{path}: {reason}") for path, reason in known.failed[:_MOST_NAMED]]
    reply.facts |= {
        "fresh": known.fresh,
        "created": known.created,
        "embedding": known.embedding,
        "counts": counts,
        "languages": dict(known.languages),
        "skipped": dict(known.skipped),
        **({"changed": changed[:_MOST_NAMED]} if changed else {}),
        **({"failed": failed} if failed else {}),
        **({"restricted": list(known.restricted)} if known.restricted else {}),
    }
    reply.intro += [
        f"{'the index that answers until the job ends: ' if is_running else ''}"
        f"{'fresh' if known.fresh else 'not fresh'}, indexed {known.created} with {known.embedding}",
        ", ".join(f"{count} {what}" for what, count in counts.items()),
        f"languages: {_counted(known.languages)}",
        *([f"skipped: {_counted(known.skipped)}"] if known.skipped else []),
        *([f"changed since: {', '.join(map(cleaner.line, changed[:_MOST_NAMED]))}"] if changed else []),
        *(f"failed: {one}" for one in failed),
    ]
    if known.restricted:
        names = ", ".join(map(cleaner.line, known.restricted[:_MOST_NAMED]))
        reply.notes.append(f"Settings of the repository that are not followed, as it is not marked trusted: {names}.")
    if not known.fresh:
        does = "waits for the job" if is_running else "brings the index up to date"
        reply.notes.append(f"Replies follow the files on disk meanwhile; coderag_index {does}.")


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"


STATUS = ToolDefinition(
    "coderag_status",
    "Show index status",
    "See whether this project is indexed and fresh, what was skipped or failed, how far a run of indexing is, and which other "
    "repositories are known. Call it when results look incomplete.",
    StatusArguments,
    Status,
    status,
)
