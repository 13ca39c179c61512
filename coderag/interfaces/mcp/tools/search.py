"""``coderag_search``: places that answer a question, or where a text stands."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from coderag.interfaces.mcp.arguments import DEEPEST, SearchArguments
from coderag.interfaces.mcp.following import told
from coderag.interfaces.mcp.paging import page_of
from coderag.interfaces.mcp.pending import pending_reply
from coderag.interfaces.mcp.places import advice, hit_part, verdict_facts, verdict_line
from coderag.interfaces.mcp.replies import Reply
from coderag.interfaces.mcp.repositories import Opened
from coderag.interfaces.mcp.structures import Found
from coderag.interfaces.mcp.tool import Call, ToolDefinition
from coderag.interfaces.mcp.tools.text_search import text_reply
from coderag.schema.vocabulary import Evidence

if TYPE_CHECKING:
    from coderag.workspace.results import RepositoryVerdict, WorkspaceHits
    from coderag.workspace.workspace import Workspace


async def search(call: Call, asked: SearchArguments) -> Reply:
    """Return the places that a query means."""
    opened = [await call.open(name) for name in asked.repository or [""]]
    ready = [one for one in opened if one.indexing is None]
    if not ready:
        return await pending_reply(call, opened[0], asked.query, top_k=asked.top_k)
    if asked.mode != "hybrid":
        reply = await call.run(partial(text_reply, ready, asked))
    elif len(ready) == 1:
        reply = await call.run(partial(_one, ready[0], asked))
    else:
        workspace = await call.repositories.workspace()
        reply = await call.run(partial(_several, workspace, ready, asked))
    reply.notes += [f"{one.name} is not searched yet ({told(one.indexing)})." for one in opened if one.indexing]
    reply.max_tokens = asked.max_tokens
    reply.more = lambda shown: f"the same call with offset={asked.offset + shown}."
    return reply


def _one(opened: Opened, asked: SearchArguments) -> Reply:
    engine, cleaner = opened.engine, opened.cleaner()
    hits = engine.search(asked.query, top_k=asked.top_k, filters=asked.filters)
    page = page_of(
        hits,
        lambda most: engine.search(asked.query, top_k=most, filters=asked.filters),
        lambda hit: (hit.path, hit.start_line),
        asked.offset,
    )
    return Reply(
        facts={"repository": opened.name, **verdict_facts(hits.evidence, hits.confidence), "results": []},
        intro=[f"{verdict_line(hits.evidence, hits.confidence)}, {len(page)} results in {opened.name}"],
        parts=[
            hit_part(hit, cleaner, lines=asked.snippet_lines, number=number)
            for number, hit in enumerate(page, asked.offset + 1)
        ],
        notes=[*advice(hits.evidence, hits.not_indexed, cleaner), *_beyond(asked, hits.evidence, len(page))],
    )


def _several(workspace: "Workspace", opened: Sequence[Opened], asked: SearchArguments) -> Reply:
    roots = [one.repository.root for one in opened]

    def found(top_k: int) -> "WorkspaceHits":
        return workspace.search(asked.query, roots, top_k=top_k, filters=asked.filters)

    first = found(asked.top_k)
    page = page_of(
        first.hits[: asked.top_k],
        lambda most: found(most).hits,
        lambda one: (one.root, one.hit.path, one.hit.start_line),
        asked.offset,
    )
    cleaners = {str(one.repository.root): one.cleaner() for one in opened}
    best = max((one for one in first.verdicts if not one.error), key=lambda one: one.confidence, default=None)
    verdict = verdict_facts(best.evidence, best.confidence) if best else {}
    return Reply(
        facts={**verdict, "results": []},
        intro=[f"{len(page)} results in {', '.join(one.name for one in opened)}"],
        parts=[
            hit_part(one.hit, cleaners[one.root], lines=asked.snippet_lines, number=number, repository=one.repository)
            for number, one in enumerate(page, asked.offset + 1)
        ],
        notes=[*map(_told_verdict, first.verdicts), *_next_page(asked, len(page))],
    )


def _told_verdict(one: "RepositoryVerdict") -> str:
    return f"{one.repository}: {one.error or f'evidence {one.evidence} (confidence {one.confidence:.2f})'}"


def _beyond(asked: SearchArguments, evidence: Evidence, found: int) -> list[str]:
    """Return what to do about results that do not answer: those after them will not either."""
    if not found and not asked.offset and asked.filters:
        return ["Nothing that the filters let through has to do with it, or they let nothing through."]
    return [] if evidence == "not_found" else _next_page(asked, found)


def _next_page(asked: SearchArguments, found: int) -> list[str]:
    """Return how to see more, if there may be more."""
    end = asked.offset + asked.top_k
    return [f"There may be more: the same call with offset={end}."] if found == asked.top_k and end < DEEPEST else []


SEARCH = ToolDefinition(
    "coderag_search",
    "Search code",
    "Find where something is in this project's code: by question, name, error text or snippet; mode exact or regex for every "
    "occurrence. Returns ranked places (path, lines, kind, name, first lines of code) and how well they answer. "
    "Use it instead of grep. To read and understand code call coderag_context.",
    SearchArguments,
    Found,
    search,
)
