"""``coderag_index``: update the index, or join the running job."""

from functools import partial

from coderag.interfaces.mcp.arguments import IndexArguments
from coderag.interfaces.mcp.progress import follow, format_progress
from coderag.interfaces.mcp.replies import McpReply
from coderag.interfaces.mcp.tool import ToolDefinition, ToolRequest
from coderag.interfaces.mcp.tools.status import build_job_record


async def run_index(call: ToolRequest, arguments: IndexArguments) -> McpReply:
    """Start or join an indexing job, and return its state after a wait."""
    repository = await call.find(arguments.repository)
    job = await call.run(partial(repository.index, full=arguments.full))
    view = await follow(job, arguments.wait_s, call.report)
    if job.error is not None:
        raise job.error
    reply = McpReply(
        facts={"repository": repository.name, "job": build_job_record(view)},
        intro=[f"{repository.name}: job {view.id} {view.state}"],
    )
    if report := view.report:
        counts = {
            "indexed": report.files.get("indexed", 0),
            "added": report.added,
            "changed": report.changed,
            "removed": report.removed,
            "skipped": report.files.get("skipped", 0),
            "failed": len(report.failed),
        }
        reply.facts |= {"counts": counts, "elapsed_s": round(report.elapsed_s, 2)}
        reply.intro.append(", ".join(f"{count} {label}" for label, count in counts.items()))
        reply.intro.append(f"took {report.elapsed_s:.2f} s")
    elif view.state == "cancelled":
        reply.notes.append("The run was cancelled; the index is what it was.")
    else:
        reply.facts["indexing"] = format_progress(view)
        reply.intro.append(format_progress(view))
        reply.notes.append("It goes on. The other tools answer meanwhile; coderag_status says how far it is.")
    return reply


INDEX = ToolDefinition(
    "coderag_index",
    "Update the index",
    "Bring the index up to date, or join the run that does; waits up to wait_s and returns how it stands. Seldom needed: "
    "replies follow edits by themselves, and the first call on a new repository begins this.",
    IndexArguments,
    run_index,
    read_only=False,
)
