"""Relations of a declaration in the code graph, as parts of a reply."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, cast

from coderag.interfaces.mcp.cleaner import Cleaner
from coderag.interfaces.mcp.places import format_file_lines, to_place_record
from coderag.interfaces.mcp.replies import ReplyPart
from coderag.retrieval.mentions.wording import describe_mentions, list_caveats
from coderag.schema.graph import GraphNeighbour
from coderag.schema.graph_queries import GraphQuery, query_graph
from coderag.schema.mentions import MENTION_QUERIES, MentionQuery, NameMention, UnusedDeclaration

if TYPE_CHECKING:
    from coderag.app import CodeRAG
    from coderag.codegraph.graph import CodeGraph

_MAX_MENTION_CHARS: Final = 140
_MENTION_TITLE: Final = "Lines that mention it"
_MIN_SURE_CONFIDENCE: Final = 0.75
"""Minimum confidence at which a relation is shown without it: models read numbers as doubt."""


@dataclass(slots=True)
class RelatedParts:
    """Neighbours of a declaration.

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
    depth: int | None = None,
    limit: int,
    next_call: str,
) -> RelatedParts:
    """Collect the neighbours of a declaration.

    Args:
        engine: The repository.
        name: Name of one declaration or file.
        relations: Relations to follow.
        cleaner: Sanitiser of the repository's texts.
        depth: Maximum number of steps; by default each relation's own.
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
            related.notes.append(f"{relation}: none is resolved; these are candidates by name.")
        neighbours = list(_merge_prototypes(graph, neighbours))
        related.counts[relation] = len(neighbours)
        related.parts += _build_neighbour_parts(_sort_internal_first(neighbours)[:limit], relation, cleaner)
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


def format_counts(counts: Mapping[str, int]) -> str:
    """Format the number of neighbours per relation; empty relations are in the notes."""
    return ", ".join(_format_count(count, relation) for relation, count in counts.items() if count)


def build_unused_parts(declarations: Iterable[UnusedDeclaration], cleaner: Cleaner) -> Iterator[ReplyPart]:
    """Yield the parts of declarations without a known use, those of one certainty and reason together."""
    for (certainty, reasons), run in groupby(declarations, key=lambda entry: (entry.certainty, tuple(entry.reasons))):
        clean_reasons = [cleaner.clean_line(reason) for reason in reasons]
        records: list[dict[str, Any]] = [
            {
                "path": cleaner.clean_line(entry.path),
                "start_line": entry.start_line,
                "end_line": entry.end_line,
                "name": cleaner.clean_line(entry.qualified_name),
                "kind": entry.kind,
                "certainty": certainty,
                "reasons": clean_reasons,
            }
            for entry in run
        ]
        for line, entries in format_file_lines(records):
            yield ReplyPart(line, entries, key="unused", title=f"{certainty}: {'; '.join(clean_reasons)}")


def _add_mentions(  # what a reply is made of
    related: RelatedParts,
    engine: "CodeRAG",
    name: str,
    queries: "Sequence[MentionQuery]",
    cleaner: Cleaner,
    limit: int,
) -> None:
    """Add the lines that mention a name, for relations without a resolved edge; caveats if there is no edge at all."""
    has_edges = any(related.counts.values())
    answers = [(query, engine.mentions(name, query, limit=limit)) for query in queries]
    lines = {(line.path, line.line): line for _, mentions in answers for line in mentions.lines}
    related.counts["mentions"] = max(mentions.total for _, mentions in answers)
    related.parts += [build_mention_part(line, cleaner) for line in list(lines.values())[:limit]]
    described = "; ".join(f"{query}: {describe_mentions(mentions, query)}" for query, mentions in answers)
    related.notes.append(f"No edge could be resolved. {cleaner.clean_line(described)}.")
    if not has_edges:
        related.notes += map(cleaner.clean_line, list_caveats(answers[0][1], answers[0][0]))


def build_mention_part(mention: NameMention, cleaner: Cleaner, title: str = _MENTION_TITLE) -> ReplyPart:
    """Build the part of a line that mentions a name."""
    line = cleaner.clean_line(mention.text.strip())[:_MAX_MENTION_CHARS]
    record = {
        "path": cleaner.clean_line(mention.path),
        "start_line": mention.line,
        "end_line": mention.line,
        "name": cleaner.clean_line(mention.symbol),
        "kind": mention.kind,
        "context": mention.context,
        "line": line,
    }
    inside = f" in {record['name']}" if mention.symbol else ""
    context = "" if mention.context == "code" else f" ({mention.context})"
    text = f"{record['path']}:{mention.line}{inside}{context}: {line}"
    return ReplyPart(text, [record], key="mentions", title=title, has_lines=True)


def _build_neighbour_parts(
    neighbours: Sequence[GraphNeighbour], relation: str, cleaner: Cleaner
) -> Iterator[ReplyPart]:
    """Yield the parts of the neighbours by relation, steps and file."""
    for depth, run in groupby(neighbours, key=lambda neighbour: neighbour.depth):
        entries = [(neighbour, to_neighbour_record(neighbour, relation, cleaner)) for neighbour in run]
        notes = {id(record): _format_note(neighbour, record, relation) for neighbour, record in entries}
        title = relation if depth == 1 else f"{relation}, step {depth}"
        for line, records in format_file_lines([record for _, record in entries], notes):
            yield ReplyPart(line, records, key="neighbours", title=title)


def to_neighbour_record(neighbour: GraphNeighbour, relation: str, cleaner: Cleaner) -> dict[str, Any]:
    """Return the record of a neighbour, with its evidence and its confidence if that is low."""
    is_unsure = neighbour.confidence < _MIN_SURE_CONFIDENCE
    facts = {
        "evidence": cleaner.clean_line(f"{neighbour.evidence}:{neighbour.line}") if neighbour.evidence else "",
        "confidence": round(float(neighbour.confidence), 2) if is_unsure else 0,
        "depth": neighbour.depth if neighbour.depth > 1 else 0,
        "via": cleaner.clean_line(neighbour.via) if neighbour.depth > 1 else "",
    }
    record = {"relation": relation, **to_place_record(neighbour, cleaner)}
    return record | {key: fact for key, fact in facts.items() if fact}


def _format_note(neighbour: GraphNeighbour, record: Mapping[str, Any], relation: str) -> str:
    """Format the evidence of a neighbour in its own file, its predecessor and its confidence."""
    is_own = neighbour.evidence == neighbour.path and relation != "callees" and neighbour.line != neighbour.start_line
    parts = [
        f"line {neighbour.line}" if is_own else "",
        f"via {record['via']}" if "via" in record else "",
        f"confidence {record['confidence']}" if "confidence" in record else "",
    ]
    return ", ".join(filter(None, parts))


def _merge_prototypes(graph: "CodeGraph", neighbours: Iterable[GraphNeighbour]) -> Iterator[GraphNeighbour]:
    """Yield neighbours with definitions in place of their prototypes, each declaration once."""
    symbols, seen = graph.symbols, set[tuple[str, int, str, int]]()
    for neighbour in neighbours:
        node = symbols.find_innermost(neighbour.path, neighbour.start_line) if neighbour.path else None
        if node is not None and symbols.prototypes[node]:
            node = graph.declaration_groups.find_definition(node)
            neighbour = replace(  # noqa: PLW2901  # the same neighbour at another place
                neighbour,
                path=symbols.paths[node],
                start_line=int(symbols.start_lines[node]),
                end_line=int(symbols.end_lines[node]),
            )
        key = (neighbour.path, neighbour.start_line, neighbour.qualified_name, neighbour.depth)
        if key not in seen:
            seen.add(key)
            yield neighbour


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
