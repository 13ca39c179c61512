"""``coderag_docs``: what the documents say."""

from functools import partial

from coderag.interfaces.mcp.arguments import DocsArguments
from coderag.interfaces.mcp.pending import pending_reply
from coderag.interfaces.mcp.places import advice, hit_part, verdict_facts, verdict_line
from coderag.interfaces.mcp.replies import Reply
from coderag.interfaces.mcp.repositories import Opened
from coderag.interfaces.mcp.structures import Found
from coderag.interfaces.mcp.tool import Call, ToolDefinition
from coderag.schema.search import Filters

_LINES = 60


async def docs(call: Call, asked: DocsArguments) -> Reply:
    """Return the sections of documents that answer a question; after them, if they are few, what else does."""
    opened = await call.open(asked.repository)
    if opened.indexing is not None:
        return await pending_reply(call, opened, asked.query, top_k=asked.top_k)
    return await call.run(partial(_found, opened, asked))


def _found(opened: Opened, asked: DocsArguments) -> Reply:
    cleaner = opened.cleaner()
    hits = opened.engine.search(asked.query, top_k=asked.top_k, filters=Filters(roles=("docs",)))
    found, notes = list(hits), advice(hits.evidence, hits.not_indexed, cleaner)
    if len(found) < asked.top_k:
        known = {hit.chunk_id for hit in found}
        sections = opened.engine.search(asked.query, top_k=asked.top_k, filters=Filters(kinds=("section",)))
        found += [hit for hit in sections if hit.chunk_id not in known][: asked.top_k - len(found)]
    if not found:
        notes.append("There are no documents about it. Next: coderag_context finds it in the code.")
    return Reply(
        facts={"repository": opened.name, **verdict_facts(hits.evidence, hits.confidence), "results": []},
        intro=[f"{verdict_line(hits.evidence, hits.confidence)}, {len(found)} sections in {opened.name}"],
        parts=[hit_part(hit, cleaner, lines=_LINES, number=number) for number, hit in enumerate(found, 1)],
        notes=notes,
        more=lambda _: "the same call with a lower top_k, or coderag_context with file_path of one section.",
        max_tokens=asked.max_tokens,
    )


DOCS = ToolDefinition(
    "coderag_docs",
    "Search documentation",
    "Find what this project's documents say (README, docs, guides): sections with their text and places. "
    "Call it for intentions, setup, configuration and conventions; for behaviour trust the code (coderag_context).",
    DocsArguments,
    Found,
    docs,
)
