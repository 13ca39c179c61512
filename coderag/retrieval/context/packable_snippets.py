"""Packable snippets: deduplicated lines of code, with their value in a context."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from coderag.retrieval.context.elision import (
    WeightedLine,
    count_head_lines,
    elide_lines,
    join_with_markers,
    weigh_lines,
)
from coderag.retrieval.context.shown_lines import ShownLines
from coderag.schema.vocabulary import Detail
from coderag.stores.snippets import Snippet
from coderag.text.token_counts import estimate_tokens

RANK_OFFSET: Final = 2.0
"""A result's value is 1 / (0-based rank + this), from golden sets, see ``docs/context.md``."""

RELATED_VALUE: Final = 0.4
"""Value of related code, relative to a result of the same rank."""

UNMATCHED_PART_VALUE: Final = 0.4
"""Value of unmatched parts of a long declaration."""

_MAX_TERM_VALUE = 1.0
_ELIDED_SHARES = (0.6, 0.3)  # of the lines, in an elided body
_MIN_ELIDED_LINES = 10  # lines; a shorter body is not elided
_SIGNATURE_VALUE, _SUMMARY_VALUE = 2.0, 1.0  # relative to a plain line

SectionName = Literal["primary", "related"]


class DetailLevel(NamedTuple):
    """Way to show a snippet.

    Attributes:
        value: Value to the reader.
        tokens: Approximate number of tokens.
        lines: Shown source lines; none for a signature or one line.
    """

    detail: Detail
    value: float
    tokens: int
    lines: Sequence[WeightedLine]


@dataclass(frozen=True, slots=True)
class PackableSnippet:
    """Snippet with its lines to show.

    Attributes:
        section: Section of the context.
        line_value: Value of a plain line.
        lines: Lines that no other snippet has and that were not shown before.
        first_line: First line that is not blank.
        last_line: Last line that is not blank.
        shown_before: Numbers of lines that were shown before.
        is_listed: Whether it is listed if omitted; else it is only a filler.
    """

    snippet: Snippet
    section: SectionName
    line_value: float
    lines: Sequence[WeightedLine]
    first_line: int
    last_line: int
    shown_before: Set[int]
    is_listed: bool

    def build_levels(self) -> Iterator[DetailLevel]:
        """Yield the levels that compete with other snippets, the smallest first."""
        snippet = self.snippet
        total_value = sum(line.value for line in self.lines) or 1.0
        if snippet.summary or snippet.name:
            yield DetailLevel(
                "line",
                self.line_value * min(_SUMMARY_VALUE, total_value / 4),
                estimate_tokens(snippet.summary.encode()),
                (),
            )
        if snippet.signature or snippet.name:
            text = f"{snippet.signature or snippet.name}{snippet.docstring}"
            yield DetailLevel(
                "signature",
                self.line_value * min(_SIGNATURE_VALUE, total_value / 2),
                estimate_tokens(text.encode()),
                (),
            )
        if not self.lines:
            return
        if snippet.matched_lines:
            yield from self.build_elided_levels()
        yield self._build_level("full", self.lines)

    def build_elided_levels(self) -> Iterator[DetailLevel]:
        """Yield elided levels, the largest first; none for a short snippet."""
        if len(self.lines) < _MIN_ELIDED_LINES:
            return
        head = count_head_lines([line.text for line in self.lines], self.snippet.signature)
        for share in _ELIDED_SHARES:
            elided = elide_lines(self.lines, head, share)
            if len(elided) < len(self.lines):
                yield self._build_level("elided", elided)

    def format_text(self, lines: Sequence[WeightedLine]) -> str:
        """Format some of the lines, with markers for gaps."""
        return join_with_markers(lines, self.first_line, self.last_line, self.shown_before)

    def _build_level(self, detail: Detail, lines: Sequence[WeightedLine]) -> DetailLevel:
        text = "\n".join(line.text for line in lines)
        value = self.line_value * sum(line.value for line in lines)
        return DetailLevel(detail, value, estimate_tokens(text.encode("utf-8", "replace")), lines)


def build_packable_snippets(
    results: Sequence[Snippet],
    reserve: Sequence[Snippet],
    related: Sequence[Snippet],
    term_idf: Mapping[str, float],
    shown_lines: ShownLines,
) -> tuple[list[PackableSnippet], list[Snippet]]:
    """Build snippets without duplicate lines; return them, and those that were entirely shown before.

    A line belongs to the first snippet that has it.

    Args:
        results: Primary results, best first.
        reserve: Further results, for the remaining budget.
        related: Related code, best first.
        term_idf: IDF of each question term, positive.
        shown_lines: Lines of earlier contexts.
    """
    taken_lines: dict[str, set[int]] = defaultdict(set)
    packable: list[PackableSnippet] = []
    shown_before: list[Snippet] = []
    for snippet, section, line_value, is_listed in _order_snippets(results, reserve, related):
        lines = _strip_blank_lines(_weigh_snippet(snippet, term_idf))
        file_lines = taken_lines[snippet.path]
        seen_before = shown_lines.find_shown(snippet.path, lines)
        hidden = file_lines | seen_before
        remaining = _strip_blank_lines([line for line in lines if line.number not in hidden]) if hidden else lines
        if remaining or not lines:
            first, last = (lines[0].number, lines[-1].number) if lines else (snippet.start_line, snippet.end_line)
            packable.append(
                PackableSnippet(snippet, section, line_value, remaining, first, last, seen_before, is_listed)
            )
        elif seen_before and is_listed:
            shown_before.append(snippet)
        file_lines.update(line.number for line in lines)
    return packable, shown_before


def _order_snippets(
    results: Sequence[Snippet], reserve: Sequence[Snippet], related: Sequence[Snippet]
) -> Iterator[tuple[Snippet, SectionName, float, bool]]:
    for rank, snippet in enumerate(results):
        yield snippet, "primary", 1 / (rank + RANK_OFFSET), True
    for rank, snippet in enumerate(related):
        yield snippet, "related", RELATED_VALUE / (rank + RANK_OFFSET), True
    for rank, snippet in enumerate(reserve, len(results)):
        yield snippet, "primary", 1 / (rank + RANK_OFFSET), False


def _weigh_snippet(snippet: Snippet, term_idf: Mapping[str, float]) -> list[WeightedLine]:
    texts = snippet.text.split("\n")
    first, last = snippet.matched_lines or (snippet.start_line, snippet.end_line)
    values = weigh_lines(snippet.text, term_idf, _MAX_TERM_VALUE)
    return [
        WeightedLine(number, text, value if first <= number <= last else value * UNMATCHED_PART_VALUE)
        for number, (text, value) in enumerate(zip(texts, values, strict=True), snippet.start_line)
    ]


def _strip_blank_lines(lines: Sequence[WeightedLine]) -> list[WeightedLine]:
    """Strip blank lines at both ends."""
    first, last = 0, len(lines)
    while first < last and not lines[first].text.strip():
        first += 1
    while first < last and not lines[last - 1].text.strip():
        last -= 1
    return list(lines[first:last])


def sort_by_reading_order(candidates: Iterable[PackableSnippet]) -> list[PackableSnippet]:
    """Group snippets by file, in the order of first occurrence, and sort each group by line."""
    by_file: dict[str, list[PackableSnippet]] = {}
    for candidate in candidates:
        by_file.setdefault(candidate.snippet.path, []).append(candidate)
    return [
        candidate
        for group in by_file.values()
        for candidate in sorted(group, key=lambda packable: packable.snippet.start_line)
    ]
