"""Results as parts of a reply, and the texts of verdicts."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from coderag.interfaces.excerpt import cut_excerpt
from coderag.interfaces.mcp.cleaner import Cleaner
from coderag.interfaces.mcp.replies import ReplyPart
from coderag.schema.chunks import format_location
from coderag.schema.graph import GraphNeighbour
from coderag.schema.mentions import NameMention, UnusedDeclaration
from coderag.schema.search import SearchHit
from coderag.schema.vocabulary import Evidence
from coderag.text.code_fences import format_code_span

_ADVICE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "weak": "Weak evidence: check before you rely on it. Next: other words, mode exact for a text that must be there, "
        "or coderag_symbol for a name.",
        "not_found": "Nothing here answers it. Next: other words or fewer filters; mode exact tells for sure whether a "
        "text occurs.",
        "unknown": "It may be answered by files that are not in the index.",
    }
)

_MAX_NOT_INDEXED = 5
_MAX_MENTION_CHARS: Final = 200
_MIN_SURE_CONFIDENCE: Final = 0.75
"""Minimum confidence at which a relation is shown without it: models read numbers as doubt."""


def to_verdict_fields(evidence: Evidence, confidence: float) -> dict[str, Any]:
    """Return a verdict as data."""
    return {"evidence": evidence, "confidence": round(float(confidence), 2)}


def format_verdict(evidence: Evidence, confidence: float) -> str:
    """Format a verdict."""
    return f"evidence: {evidence} (confidence {confidence:.2f})"


def suggest_next_steps(evidence: Evidence, not_indexed: Sequence[str], cleaner: Cleaner) -> list[str]:
    """Return next steps for a verdict; empty for a good one."""
    notes = [_ADVICE[evidence]] if evidence in _ADVICE else []
    if not_indexed:
        notes.append(f"Not in the index: {'; '.join(map(cleaner.clean_line, not_indexed[:_MAX_NOT_INDEXED]))}.")
    return notes


def build_hit_part(
    hit: SearchHit,
    cleaner: Cleaner,
    *,
    lines: int,
    number: int = 0,
    repository: str = "",
    key: str = "results",
    query: str = "",
) -> ReplyPart:
    """Build the part of a result with the lines of its code that match best.

    Args:
        hit: The result.
        cleaner: Of its repository.
        lines: Maximum lines of code.
        number: Number in the list; 0 for none.
        repository: Name of its repository if there are several.
        key: Key of the list in the data.
        query: The query, whose words or literal the lines have.
    """
    lines_above, visible_lines = cut_excerpt(hit.text, hit.name, lines, query)
    code = cleaner.clean_code("\n".join(visible_lines)).rstrip()
    summary = cleaner.clean_line(hit.summary)
    name, signature = cleaner.clean_line(hit.qualified_name), cleaner.clean_line(hit.signature)
    data = _drop_empty(
        repository=repository,
        path=str(hit.path),
        start_line=hit.start_line,
        end_line=hit.end_line,
        name=name,
        kind=hit.kind,
        role=hit.role if hit.role != "source" else "",
        signature="" if code else signature,
        summary="" if summary in code else summary,
    )
    place = f"{repository}/{hit.location}" if repository else hit.location
    head = f"{f'{number}. ' if number else ''}{cleaner.clean_line(place)} {hit.kind} {format_code_span(name)}"
    text_lines = [
        head if hit.role == "source" else f"{head} ({hit.role})",
        *(f"   {data[field]}" for field in ("signature", "summary") if field in data),
        *([f"   from line {hit.start_line + lines_above}:"] if code and lines_above else []),
    ]
    return ReplyPart("\n".join(text_lines), data, code, hit.language, key)


def build_neighbour_part(neighbour: GraphNeighbour, relation: str, cleaner: Cleaner) -> ReplyPart:
    """Build the part of a neighbour with its location and the location of the evidence."""
    is_unsure = neighbour.confidence < _MIN_SURE_CONFIDENCE
    data = _drop_empty(
        relation=relation,
        path=neighbour.path,
        start_line=neighbour.start_line,
        end_line=neighbour.end_line,
        name=cleaner.clean_line(neighbour.qualified_name),
        kind=neighbour.kind,
        evidence=f"{neighbour.evidence}:{neighbour.line}" if neighbour.evidence else "",
        confidence=round(float(neighbour.confidence), 2) if is_unsure else 0,
        depth=neighbour.depth if neighbour.depth > 1 else 0,
        via=cleaner.clean_line(neighbour.via) if neighbour.depth > 1 else "",
    )
    return ReplyPart(_format_neighbour(data, cleaner), data, key="neighbours", title=relation)


def build_mention_part(mention: NameMention, cleaner: Cleaner) -> ReplyPart:
    """Build the part of a line that mentions a name."""
    data = _drop_empty(
        path=mention.path,
        start_line=mention.line,
        end_line=mention.line,
        name=cleaner.clean_line(mention.symbol),
        kind=mention.kind,
        context=mention.context,
        line=cleaner.clean_line(mention.text.strip())[:_MAX_MENTION_CHARS],
    )
    inside = f" in {data['kind']} {format_code_span(data['name'])}" if "name" in data else ""
    context = "" if mention.context == "code" else f" ({mention.context})"
    place = cleaner.clean_line(f"{mention.path}:{mention.line}")
    text = f"- {place}{inside}{context}: {format_code_span(data.get('line', ''))}"
    return ReplyPart(text, data, key="mentions", title="Lines that mention it")


def build_unused_part(declaration: UnusedDeclaration, cleaner: Cleaner) -> ReplyPart:
    """Build the part of a declaration without a known use."""
    name = cleaner.clean_line(declaration.qualified_name)
    reasons = [cleaner.clean_line(reason) for reason in declaration.reasons]
    data = {
        "path": declaration.path,
        "start_line": declaration.start_line,
        "end_line": declaration.end_line,
        "name": name,
        "kind": declaration.kind,
        "certainty": declaration.certainty,
        "reasons": reasons,
    }
    place = cleaner.clean_line(format_location(declaration.path, declaration.start_line, declaration.end_line))
    text = f"- {format_code_span(name)} {declaration.kind} — {place}: {'; '.join(reasons)}"
    return ReplyPart(text, data, key="unused", title=declaration.certainty)


def _format_neighbour(data: Mapping[str, Any], cleaner: Cleaner) -> str:
    text = f"- {format_code_span(data['name'])} {data['kind']}"
    if data["path"] and data["path"] != data["name"]:
        text += f" — {cleaner.clean_line(format_location(data['path'], data['start_line'], data['end_line']))}"
    if evidence := data.get("evidence", ""):
        path, _, line = evidence.rpartition(":")
        text += f", at line {line}" if path == data["path"] else f", at {cleaner.clean_line(evidence)}"
    text += f", {data['depth']} steps, through {format_code_span(data['via'])}" if "via" in data else ""
    return text + (f", confidence {data['confidence']}" if "confidence" in data else "")


def _drop_empty(**values: Any) -> dict[str, Any]:  # noqa: ANN401  # of a record in JSON
    return {key: value for key, value in values.items() if value or key in ("path", "start_line", "end_line")}
