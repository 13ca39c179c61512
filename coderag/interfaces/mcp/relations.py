"""Relations of a symbol in the code graph, as parts of a reply."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast, get_args

from coderag.interfaces.mcp.cleaner import Cleaner
from coderag.interfaces.mcp.replies import ReplyPart
from coderag.interfaces.mcp.result_parts import build_mention_part, build_neighbour_part
from coderag.retrieval.mentions.wording import describe_mentions, list_caveats
from coderag.schema.chunks import format_location
from coderag.schema.graph import GraphNeighbour
from coderag.schema.graph_queries import GraphQuery, query_graph
from coderag.schema.mentions import MENTION_QUERIES, MentionQuery
from coderag.schema.vocabulary import Kind
from coderag.text.code_fences import format_code_span

if TYPE_CHECKING:
    from coderag.app import CodeRAG
    from coderag.codegraph.graph import CodeGraph
    from coderag.schema.graph import GraphDeclaration

_FILE_KIND: Final = "file"
_DECLARATION_KINDS: Final[frozenset[str]] = frozenset(get_args(Kind))


@dataclass(slots=True)
class RelatedParts:
    """Neighbours of a symbol.

    Attributes:
        counts: Number of neighbours by relation.
        notes: Additional notes.
    """

    parts: list[ReplyPart] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def find_related_parts(
    engine: "CodeRAG",
    name: str,
    relations: Iterable[GraphQuery],
    cleaner: Cleaner,
    *,
    depth: int = 1,
    limit: int,
    next_call: str,
) -> RelatedParts:
    """Collect the neighbours of a symbol.

    Args:
        engine: The repository.
        name: Name of a declaration or file.
        relations: Relations to follow.
        cleaner: Sanitiser of the repository's texts.
        depth: Maximum number of steps.
        limit: Maximum neighbours per relation.
        next_call: Advice for neighbours beyond the limit.

    Raises:
        UnknownNameError: No declaration has the name.
        AmbiguousNameError: Several declarations have the name.
    """
    graph, unresolved_queries = engine.graph, list[MentionQuery]()
    related, empty, truncated = RelatedParts(), list[str](), list[str]()
    for relation in relations:
        neighbours = query_graph(graph, relation, name, depth)
        if not neighbours and relation in MENTION_QUERIES:
            unresolved_queries.append(cast("MentionQuery", relation))
        if not neighbours and (unresolved := query_graph(graph, relation, name, depth, candidates=True)):
            neighbours = unresolved
            related.notes.append(f"{relation}: none is resolved; these are candidates by name, with their confidence.")
        related.counts[relation] = len(neighbours)
        related.parts += [
            build_neighbour_part(neighbour, relation, cleaner) for neighbour in _sort_internal_first(neighbours)[:limit]
        ]
        if len(neighbours) > limit:
            truncated.append(_format_remaining(len(neighbours) - limit, relation))
        if not neighbours and relation not in MENTION_QUERIES:
            empty.append(relation)
    if truncated:
        related.notes.append(f"Left out: {', '.join(truncated)}. Next: {next_call}.")
    if empty:
        related.notes.append(f"None known: {', '.join(empty)}.")
    if unresolved_queries:
        _add_mentions(related, engine, name, unresolved_queries, cleaner, limit)
    return related


def _add_mentions(  # what a reply is made of
    related: RelatedParts,
    engine: "CodeRAG",
    name: str,
    queries: "Sequence[MentionQuery]",
    cleaner: Cleaner,
    limit: int,
) -> None:
    """Add the lines that mention a name, for relations without a resolved edge."""
    answers = [(query, engine.mentions(name, query, limit=limit)) for query in queries]
    lines = {(line.path, line.line): line for _, mentions in answers for line in mentions.lines}
    related.counts["mentions"] = max(mentions.total for _, mentions in answers)
    related.parts += [build_mention_part(line, cleaner) for line in list(lines.values())[:limit]]
    described = "; ".join(f"{query}: {describe_mentions(mentions, query)}" for query, mentions in answers)
    related.notes.append(f"No edge could be resolved. {cleaner.clean_line(described)}.")
    related.notes += map(cleaner.clean_line, list_caveats(answers[0][1], answers[0][0]))


def format_counts(counts: Mapping[str, int]) -> str:
    """Format the number of neighbours per relation; empty relations are in the notes."""
    return ", ".join(_format_count(count, relation) for relation, count in counts.items() if count)


def _format_count(count: int, relation: str) -> str:
    if relation == "impact":
        return f"impact on {count}"
    return f"{count} {_to_singular(relation) if count == 1 else relation}"


def _format_remaining(count: int, relation: str) -> str:
    return f"{count} more of impact" if relation == "impact" else _format_count(count, f"more {relation}")


def _to_singular(relation: str) -> str:
    return relation.removesuffix("es") if relation.endswith("sses") else relation.removesuffix("s")


def _sort_internal_first(neighbours: Sequence[GraphNeighbour]) -> list[GraphNeighbour]:
    """Sort neighbours outside the repository last."""
    return sorted(neighbours, key=lambda neighbour: not neighbour.path)


def find_declarations(graph: "CodeGraph", name: str) -> "list[GraphDeclaration]":
    """Resolve a name to one declaration, its overloads, or a file; prototypes to their definitions.

    Raises as `find_related_parts`.
    """
    symbol_ids = graph.symbol_resolver.resolve(name, _DECLARATION_KINDS, {_FILE_KIND})
    definitions = dict.fromkeys(map(graph.declaration_groups.find_definition, symbol_ids))
    return [graph.symbol_resolver.to_declaration(symbol_id) for symbol_id in definitions]


def build_definition_parts(
    engine: "CodeRAG", declarations: "Sequence[GraphDeclaration]", cleaner: Cleaner, token_budget: int
) -> list[ReplyPart]:
    """Build parts with the code of declarations, elided to a token budget."""
    readable = [declaration for declaration in declarations if declaration.path and declaration.kind != _FILE_KIND]
    if not readable:
        return []
    places = [
        format_location(declaration.path, declaration.start_line, declaration.end_line) for declaration in readable
    ]
    names = {
        (declaration.path, declaration.start_line): (declaration.qualified_name, declaration.kind)
        for declaration in readable
    }
    parts = []
    for section in engine.read(places, token_budget=token_budget).sections:
        for item in section.items:
            # A chunk of several small declarations has the name of the first.
            name, kind = names.get((item.path, item.start_line), (item.name, item.kind))
            data: dict[str, Any] = {
                "path": item.path,
                "start_line": item.start_line,
                "end_line": item.end_line,
                "name": cleaner.clean_line(name),
                "kind": kind,
            }
            if item.detail != "full":
                data["detail"] = item.detail
            place = format_location(item.path, item.start_line, item.end_line)
            text = f"{cleaner.clean_line(place)} {kind} {format_code_span(data['name'])}"
            parts.append(
                ReplyPart(text, data, cleaner.clean_code(item.text), item.language, "definitions", "definition")
            )
    return parts
