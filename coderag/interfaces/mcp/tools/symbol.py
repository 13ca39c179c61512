"""``coderag_symbol``: definitions and neighbours of symbols, and paths between them."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, cast

from coderag.errors import CodeRAGError
from coderag.interfaces.mcp.arguments import MAX_NEIGHBOURS, MIN_TOKENS, SymbolArguments
from coderag.interfaces.mcp.cleaner import Cleaner
from coderag.interfaces.mcp.declarations import FILE_KIND, NamedDeclarations, find_declarations
from coderag.interfaces.mcp.definition_parts import build_definition_parts, build_outline_parts
from coderag.interfaces.mcp.errors import format_error
from coderag.interfaces.mcp.path_parts import build_path_parts
from coderag.interfaces.mcp.paths import normalize_place
from coderag.interfaces.mcp.pending_reply import build_pending_reply
from coderag.interfaces.mcp.places import format_record_place, to_place_record
from coderag.interfaces.mcp.relations import RelatedParts, build_unused_parts, find_related_parts
from coderag.interfaces.mcp.replies import McpReply, ReplyPart
from coderag.interfaces.mcp.repositories import RepositoryHandle
from coderag.interfaces.mcp.tool import ToolDefinition, ToolRequest
from coderag.retrieval.mentions.wording import list_unused_notes
from coderag.schema.graph_queries import GraphQuery

_DEFINITION_SHARE: Final = 0.3  # of the tokens, if there are neighbours as well
_MAX_OTHERS: Final = 8


@dataclass(slots=True)
class _SymbolReport:
    """Report of what is known about one name."""

    name: str
    intro: list[str] = field(default_factory=list)
    parts: list[ReplyPart] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


async def run_symbol(call: ToolRequest, arguments: SymbolArguments) -> McpReply:
    """Return the definition and the neighbours of each symbol."""
    handle = await call.open(arguments.repository)
    if handle.indexing_job is not None:
        return await build_pending_reply(call, handle, " ".join(arguments.name), key="definitions")
    return await call.run(partial(_build_reply, handle, arguments))


def _build_reply(handle: RepositoryHandle, arguments: SymbolArguments) -> McpReply:
    if len(arguments.name) == 1:
        report = _report_symbol(handle, arguments, arguments.name[0])
        facts: dict[str, Any] = {"name": report.name, "counts": report.counts}
        reply = McpReply(facts, report.intro, report.parts, report.notes)
    else:
        reply, symbols = McpReply(), list[dict[str, Any]]()
        for name in dict.fromkeys(arguments.name):
            try:
                report = _report_symbol(handle, arguments, name)
            except CodeRAGError as error:
                reply.notes.append(format_error(error))
                continue
            symbols.append({"name": report.name, "counts": report.counts})
            parts = [ReplyPart(line, []) for line in report.intro] + report.parts
            reply.parts += [replace(part, title=": ".join(filter(None, (report.name, part.title)))) for part in parts]
            reply.notes += report.notes
        reply.facts = {"symbols": symbols}
    reply.facts["repository"] = handle.name
    reply.max_tokens = arguments.max_tokens
    reply.describe_next_call = lambda _: "the same call with fewer names or relations, or a higher max_tokens."
    return reply


def _report_symbol(handle: RepositoryHandle, arguments: SymbolArguments, given_name: str) -> _SymbolReport:
    engine, cleaner = handle.engine, handle.make_cleaner()
    name = normalize_place(handle.repository.root, given_name)
    if "unused" in arguments.relations:
        return _report_unused(handle, arguments, name, cleaner)
    named = find_declarations(engine.graph, name)
    report = _SymbolReport(cleaner.clean_line(named.declarations[0].name), _format_choice(named, cleaner))
    relations = cast("list[GraphQuery]", [entry for entry in arguments.relations if entry != "definition"])
    if arguments.path_to:
        end = find_declarations(engine.graph, normalize_place(handle.repository.root, arguments.path_to))
        report.intro += _format_choice(end, cleaner)
        related = build_path_parts(engine, named.name, end.name, cleaner)
    elif relations:
        next_call = (
            "a higher limit" if arguments.limit < MAX_NEIGHBOURS else "one relation at a time, of a narrower name"
        )
        related = find_related_parts(
            engine, named.name, relations, cleaner, depth=arguments.depth, limit=arguments.limit, next_call=next_call
        )
    else:
        related = RelatedParts()
    report.counts, report.notes = related.counts, related.notes
    if "definition" in arguments.relations and not arguments.path_to:
        share = (_DEFINITION_SHARE if relations else 1.0) / len(arguments.name)
        budget = max(MIN_TOKENS, int(arguments.max_tokens * share))
        report.parts += _build_own_parts(handle, named, cleaner, budget)
    else:
        report.intro += [_format_place(named, cleaner)]
    report.parts += [_add_count(part, related.counts) for part in related.parts]
    return report


def _build_own_parts(
    handle: RepositoryHandle, named: NamedDeclarations, cleaner: Cleaner, token_budget: int
) -> list[ReplyPart]:
    """Build the parts with the code of a declaration, or with the outline of a file."""
    (first, *rest) = named.declarations
    if first.kind == FILE_KIND and not rest:
        entries = handle.engine.graph.outline(first.path)
        return list(
            build_outline_parts(first.path, entries, cleaner, title=f"outline of {cleaner.clean_line(first.path)}")
        )
    return build_definition_parts(handle.engine, named.declarations, cleaner, token_budget, "definition")


def _report_unused(handle: RepositoryHandle, arguments: SymbolArguments, name: str, cleaner: Cleaner) -> _SymbolReport:
    """Report the declarations of a file or folder that nothing is known to use."""
    report = handle.engine.unused("" if name in (".", "/") else name, limit=arguments.limit)
    where = cleaner.clean_line(report.path or "the repository")
    return _SymbolReport(
        where,
        [f"{report.total} declarations of {where} have no known use"],
        list(build_unused_parts(report.results, cleaner)),
        {"unused": report.total},
        [cleaner.clean_line(note) for note in list_unused_notes(report)],
    )


def _format_place(named: NamedDeclarations, cleaner: Cleaner) -> str:
    record = to_place_record(named.declarations[0], cleaner)
    return f"{format_record_place(record)} {record['name']}" if record["end_line"] else record["name"]


def _format_choice(named: NamedDeclarations, cleaner: Cleaner) -> list[str]:
    """Return a line with the other declarations of an ambiguous name."""
    if not named.alternatives:
        return []
    names = ", ".join(cleaner.clean_line(other.name) for other in named.alternatives[:_MAX_OTHERS])
    remaining = len(named.alternatives) - _MAX_OTHERS
    return [f"{cleaner.clean_line(named.name)}; also: {names}{f', {remaining} more' if remaining > 0 else ''}"]


def _add_count(part: ReplyPart, counts: dict[str, int]) -> ReplyPart:
    """Return a part with the number of neighbours in its heading."""
    return replace(part, title=f"{part.title} ({counts[part.title]})") if part.title in counts else part


SYMBOL = ToolDefinition(
    "coderag_symbol",
    "Look up symbols",
    "Gets functions, classes, files or other names, several at once, with their code and relations: callers, callees, "
    "implementations, subclasses, bases, importers, tests, references, impact (all that may break, three steps), unused (dead "
    "code of a file or folder); path_to: the calls from one to another. Call it before you change or rename something.",
    SymbolArguments,
    run_symbol,
)
