"""``coderag_search``: declarations for questions, or lines with a text."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from coderag.interfaces.mcp.arguments import MAX_RANKED_RESULTS, SearchArguments
from coderag.interfaces.mcp.hit_parts import BARE_MARK, HitSource, HitWriter
from coderag.interfaces.mcp.paging import fetch_page
from coderag.interfaces.mcp.pending_reply import build_pending_reply
from coderag.interfaces.mcp.progress import format_progress
from coderag.interfaces.mcp.replies import McpReply, ReplyPart
from coderag.interfaces.mcp.repositories import RepositoryHandle
from coderag.interfaces.mcp.tool import ToolDefinition, ToolRequest
from coderag.interfaces.mcp.tools.text_search import TextWriter
from coderag.interfaces.mcp.verdicts import format_verdict, suggest_next_steps, to_verdict_fields
from coderag.schema.vocabulary import Evidence

if TYPE_CHECKING:
    from coderag.workspace.workspace_view import WorkspaceView

_MAX_TITLE_CHARS: Final = 100


@dataclass(slots=True)
class QueryResults:
    """Results of one query of a call.

    Attributes:
        facts: Its verdict and counts as data.
        label: Its verdict or count in a few words; empty if nothing is worth saying.
    """

    parts: list[ReplyPart] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    label: str = ""
    notes: list[str] = field(default_factory=list)


async def run_search(call: ToolRequest, arguments: SearchArguments) -> McpReply:
    """Return the results of one query, or of several below their headings."""
    handles = [await call.open(name) for name in arguments.repository or [""]]
    ready = [handle for handle in handles if handle.indexing_job is None]
    if not ready:
        return await build_pending_reply(call, handles[0], " ".join(arguments.query), top_k=arguments.result_count)
    workspace = await call.repositories.get_workspace()
    reply = await call.run(partial(_build_reply, workspace, ready, arguments))
    reply.notes += [
        f"{handle.name} is not searched yet ({format_progress(handle.indexing_job)})."
        for handle in handles
        if handle.indexing_job
    ]
    return reply


def _build_reply(
    workspace: "WorkspaceView", handles: Sequence[RepositoryHandle], arguments: SearchArguments
) -> McpReply:
    is_batch = len(arguments.query) > 1
    search = _TextSearch(handles, arguments) if arguments.mode != "hybrid" else _Search(workspace, handles, arguments)
    reply = McpReply(max_tokens=arguments.max_tokens, facts={"results": []})
    if len(handles) == 1:
        reply.facts["repository"] = handles[0].name
    for number, query in enumerate(arguments.query, 1):
        title = f"{number}. {' '.join(query.split())[:_MAX_TITLE_CHARS]}" if is_batch else ""
        results = search.run(query, title)
        if is_batch:
            reply.facts.setdefault("queries", []).append(results.facts)
            reply.parts += results.parts or [ReplyPart("no results", [], title=title)]
            reply.notes += [f"{number}: {note}" for note in [*filter(None, [results.label]), *results.notes]]
        else:
            reply.facts |= results.facts
            reply.parts += results.parts
            reply.intro += [results.label] if results.label else []
            reply.notes += results.notes
    if not is_batch:
        reply.describe_next_call = lambda shown_count: (
            f"offset={arguments.offset + _count_results(reply.parts[:shown_count])}, or a higher max_tokens."
        )
    return reply


def _count_results(parts: Sequence[ReplyPart]) -> int:
    """Count the results in the first parts of a reply, up to those that are not in the order of their rank."""
    return sum(len(part.records) for part in parts if not part.text.startswith(BARE_MARK))


class _TextSearch:
    """The modes ``exact`` and ``regex``."""

    def __init__(self, handles: Sequence[RepositoryHandle], arguments: SearchArguments) -> None:
        self._writer = TextWriter(handles, arguments)

    def run(self, query: str, title: str) -> QueryResults:
        matches = self._writer.find(query, title)
        facts = {"evidence": "found" if matches.total else "not_found", "total": matches.total}
        return QueryResults(matches.parts, facts, matches.count_text, matches.notes)


class _Search:
    """The mode ``hybrid``, over one repository or several."""

    def __init__(
        self, workspace: "WorkspaceView", handles: Sequence[RepositoryHandle], arguments: SearchArguments
    ) -> None:
        self._workspace = workspace
        self._handles = handles
        self._arguments = arguments
        self._writer = HitWriter(arguments.snippet_lines)
        self._sources = {
            handle.repository.place: HitSource(
                handle.engine.graph, handle.make_cleaner(), handle.name if len(handles) > 1 else ""
            )
            for handle in handles
        }

    def run(self, query: str, title: str) -> QueryResults:
        return self._run_federated(query, title) if len(self._handles) > 1 else self._run_single(query, title)

    def _run_single(self, query: str, title: str) -> QueryResults:
        arguments, (handle,), (source,) = self._arguments, self._handles, self._sources.values()

        def search(top_k: int) -> Any:  # noqa: ANN401  # `SearchHits`, whose import is slow
            return handle.engine.search(query, top_k=top_k, filters=arguments.filters)

        hits = search(arguments.result_count)
        page = fetch_page(hits, search, lambda hit: (hit.path, hit.start_line), arguments.offset)
        notes = [
            *suggest_next_steps(hits.evidence, hits.not_indexed, source.cleaner),
            *(f"{source.cleaner.clean_line(note)}." for note in hits.notes),
            *self._suggest_more(hits.evidence, len(page)),
        ]
        return QueryResults(
            self._writer.build_parts([(source, hit) for hit in page], query, offset=arguments.offset, title=title),
            to_verdict_fields(hits.evidence, hits.confidence),
            "",
            notes,
        )

    def _run_federated(self, query: str, title: str) -> QueryResults:
        arguments, roots = self._arguments, [handle.repository.root for handle in self._handles]

        def search(top_k: int) -> Any:  # noqa: ANN401  # as above
            return self._workspace.search(query, roots, top_k=top_k, filters=arguments.filters)

        first = search(arguments.result_count)
        page = fetch_page(
            first.hits[: arguments.result_count],
            lambda top_k: search(top_k).hits,
            lambda entry: (entry.root, entry.hit.path, entry.hit.start_line),
            arguments.offset,
        )
        verdicts = [verdict for verdict in first.verdicts if not verdict.error]
        best = max(verdicts, key=lambda verdict: verdict.confidence, default=None)
        notes = [
            f"{verdict.repository}: {verdict.error or format_verdict(verdict.evidence)}"
            for verdict in first.verdicts
            if verdict.error or verdict.evidence != "found"
        ]
        notes += [f"{self._sources[best.root].cleaner.clean_line(note)}." for note in best.notes] if best else []
        parts = self._writer.build_parts(
            [(self._sources[entry.root], entry.hit) for entry in page], query, offset=arguments.offset, title=title
        )
        facts = to_verdict_fields(best.evidence, best.confidence) if best else {}
        return QueryResults(parts, facts, "", [*notes, *self._suggest_more("found", len(page))])

    def _suggest_more(self, evidence: Evidence, shown_count: int) -> list[str]:
        """Suggest the next page; none of results that do not answer, as later ones will not either."""
        arguments = self._arguments
        if not shown_count and not arguments.offset and arguments.filters:
            return ["Nothing that the filters let through has to do with it, or they let nothing through."]
        end = arguments.offset + arguments.result_count
        has_more = evidence == "found" and shown_count == arguments.result_count and end < MAX_RANKED_RESULTS
        return [f"More: offset={end}."] if has_more else []


SEARCH = ToolDefinition(
    "coderag_search",
    "Search code",
    "Call this first, instead of grep: finds code by question, name, error text or snippet; several queries at once. "
    "Returns ranked places (path:lines, signature, lines that match), the first with its code, callers and callees. "
    "mode exact or regex lists every matching line with the declaration around it.",
    SearchArguments,
    run_search,
)
