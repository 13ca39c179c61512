"""Search results with the lines that match a query instead of their whole text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from coderag.interfaces.excerpt import find_matching_lines
from coderag.question.entities import find_entities, names_in
from coderag.schema.search import SearchHit
from coderag.schema.vocabulary import Evidence

MAX_LINES: Final = 12
"""Lines of a result, at most, without single lines between them."""

_MAX_MATCHES: Final = 4
_MIN_NAME_CHARS: Final = 3
_MAX_LINE_CHARS: Final = 400
_MAX_SCANNED_LINES: Final = 5_000
_MAX_SUMMARY_CHARS: Final = 600


@dataclass(frozen=True, slots=True)
class PreviewLine:
    """Line of a result.

    Attributes:
        text: Its text, cut after 400 characters.
        is_match: Whether it has words of the query.
    """

    number: int
    text: str
    is_match: bool


@dataclass(frozen=True, slots=True)
class PreviewHit:
    """Search result with the lines that match the query.

    Attributes:
        score: Higher is better; comparable only within one query.
        lines: First line and the best matching lines with those around them, in order; numbers may have gaps.
        duplicates: Other locations with the same text apart from white space, as ``path:start-end``.
    """

    chunk_id: str
    path: str
    start_line: int
    end_line: int
    kind: str
    name: str
    qualified_name: str
    summary: str
    language: str
    role: str
    score: float
    lines: Sequence[PreviewLine]
    duplicates: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class PreviewReply:
    """Results of a search with their matching lines, best first, and the verdict.

    Attributes:
        evidence, confidence, not_indexed, notes: As of `coderag.schema.search.SearchHits`.
        next_offset: `offset` of the next page; None if there is none.
        ms: Milliseconds that the search took.
    """

    query: str
    root: str
    repository: str
    hits: Sequence[PreviewHit]
    evidence: Evidence
    confidence: float
    not_indexed: Sequence[str]
    notes: Sequence[str]
    next_offset: int | None
    ms: float


def build_previews(hits: Sequence[SearchHit], query: str) -> list[PreviewHit]:
    """Build the previews of hits."""
    names = [name for name in names_in(find_entities(query)) if len(name) >= _MIN_NAME_CHARS]
    return [_build_preview(hit, query, names) for hit in hits]


def _build_preview(hit: SearchHit, query: str, names: Sequence[str]) -> PreviewHit:
    return PreviewHit(
        chunk_id=hit.chunk_id,
        path=str(hit.path),
        start_line=hit.start_line,
        end_line=hit.end_line,
        kind=hit.kind,
        name=hit.name,
        qualified_name=hit.qualified_name,
        summary=hit.summary[:_MAX_SUMMARY_CHARS],
        language=hit.language,
        role=hit.role,
        score=hit.score,
        lines=_select_lines(hit, query, names),
        duplicates=hit.duplicates[:MAX_LINES],
    )


def _select_lines(hit: SearchHit, query: str, names: Sequence[str]) -> list[PreviewLine]:
    """Select the lines of a hit that show best why it matches: the first, and the matching ones with their surroundings."""
    code = hit.text.rstrip("\n").split("\n", _MAX_SCANNED_LINES)[:_MAX_SCANNED_LINES]
    matching = set(_find_named_lines(code, names) or find_matching_lines(code, query, _MAX_MATCHES))
    selected = {0, *matching}
    for index in _list_surroundings(sorted(selected)):
        if len(selected) >= MAX_LINES:
            break
        if 0 <= index < len(code):
            selected.add(index)
    selected |= {index for index in range(len(code)) if {index - 1, index + 1} <= selected}  # no gap of one line
    return [
        PreviewLine(hit.start_line + index, code[index][:_MAX_LINE_CHARS], index in matching)
        for index in sorted(selected)
    ]


def _find_named_lines(code: Sequence[str], names: Sequence[str]) -> list[int]:
    """Return the indexes of the first lines with a name that the query spells out, such as ``atomic_write``."""
    named = (index for index, line in enumerate(code) if any(name in line for name in names))
    return list(islice(named, _MAX_MATCHES))


def _list_surroundings(indexes: Sequence[int]) -> Iterator[int]:
    """Yield the indexes around some lines, nearest first."""
    for distance in range(1, MAX_LINES):
        for index in indexes:
            yield index + distance
            yield index - distance
