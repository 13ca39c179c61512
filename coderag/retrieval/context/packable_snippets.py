"""Packable snippets: deduplicated lines of code, with the levels of detail at which a context may show them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from coderag.retrieval.context.elision import (
    WeightedLine,
    count_head_lines,
    elide_lines,
    join_with_markers,
    weigh_lines,
)
from coderag.retrieval.context.parts import to_single_line
from coderag.retrieval.context.shown_lines import ShownLines
from coderag.schema.vocabulary import Detail
from coderag.stores.snippets import Snippet
from coderag.text.token_counts import estimate_tokens

_UNMATCHED_PART_VALUE = 0.4  # of a line, in parts of a long declaration that are not results themselves
_MIN_ELIDED_LINES = 10  # a shorter body is not elided
_ELIDED_LINES = (3, 12, 24, 48)  # lines after the head, in an elided body
_SIGNATURE_SHARE = 0.2  # of the value of a whole declaration, for its head alone
_NAME_SHARE = 0.1  # for its name alone
_MAX_SIGNATURE_CHARS = 120
_LINE_OVERHEAD, _CODE_OVERHEAD = 12, 24  # tokens of an item besides its names and its text

_RESULT_LINE_VALUE: Final = 0.02
"""Value of mentioning a result in one line; further candidates have none."""

_RELATED_LINE_VALUE: Final = 0.05
"""Value of mentioning the first related declaration of a result that is certainly needed; later ones have less."""

_DISTANT_RELEVANCE = 0.05  # of a result, for what is related to it through other code

_EVIDENCE_RELATIONS: Final = frozenset({"caller", "test_for"})
"""Relations whose line of evidence is in the related code; it says more than its signature."""

SectionName = Literal["primary", "related"]


class DetailLevel(NamedTuple):
    """Way to show a snippet.

    Attributes:
        value: Value to the reader: at most the relevance and the value of a line.
        tokens: Approximate number of tokens.
        text: Text to show.
        lines: Shown source lines; none for a single line about the snippet.
    """

    detail: Detail
    value: float
    tokens: int
    text: str
    lines: Sequence[WeightedLine] = ()


@dataclass(frozen=True, slots=True)
class PackableSnippet:
    """Snippet with its lines to show.

    Attributes:
        section: Section of the context.
        relevance: Probability that it is needed.
        line_value: Value of mentioning it in one line.
        lines: Lines that no other snippet has and that were not shown before.
        first_line: First line that is not blank.
        last_line: Last line that is not blank.
        shown_before: Numbers of lines that were shown before.
        is_listed: Whether it is listed if omitted; else it is only a further candidate.
    """

    snippet: Snippet
    section: SectionName
    relevance: float
    line_value: float
    lines: Sequence[WeightedLine]
    first_line: int
    last_line: int
    shown_before: Set[int]
    is_listed: bool

    def build_levels(self) -> Iterator[DetailLevel]:
        """Yield the levels of detail, the smallest first."""
        snippet = self.snippet
        if snippet.relation != "value":  # without its value, it says nothing
            yield self._build_line("line", _NAME_SHARE, "" if snippet.name else snippet.summary, 0.7)
        evidence = self._find_evidence()
        signature = to_single_line(snippet.signature)[:_MAX_SIGNATURE_CHARS]
        if evidence:
            yield self._build_line("line", _NAME_SHARE, evidence)
        elif signature and signature != snippet.name.rpartition(" > ")[2]:  # a section's is in its name
            yield self._build_line("signature", _SIGNATURE_SHARE, signature)
        if not self.lines:
            return
        if len(self.lines) >= _MIN_ELIDED_LINES:
            head = count_head_lines([line.text for line in self.lines], snippet.signature)
            for count in _ELIDED_LINES:
                elided = elide_lines(self.lines, head, count)
                if len(elided) < len(self.lines):
                    yield self._build_code("elided", elided)
        yield self._build_code("elided" if snippet.member_lines else "full", self.lines)

    def _find_evidence(self) -> str:
        """Return the line of code that proves the relation, if the snippet has it."""
        snippet = self.snippet
        if snippet.relation not in _EVIDENCE_RELATIONS:
            return ""
        texts = snippet.text.split("\n")
        position = snippet.evidence_line - snippet.start_line
        return to_single_line(texts[position])[:_MAX_SIGNATURE_CHARS] if 0 <= position < len(texts) else ""

    def _build_line(self, detail: Detail, share: float, text: str, line_share: float = 1.0) -> DetailLevel:
        tokens = _LINE_OVERHEAD + self._estimate_name_tokens() + estimate_tokens(text.encode("utf-8", "replace"))
        return DetailLevel(detail, share * self.relevance + line_share * self.line_value, tokens, text)

    def _build_code(self, detail: Detail, lines: Sequence[WeightedLine]) -> DetailLevel:
        text = join_with_markers(lines, self.first_line, self.last_line, self.shown_before)
        tokens = (
            (_CODE_OVERHEAD if "\n" in text else _LINE_OVERHEAD)
            + self._estimate_name_tokens()
            + estimate_tokens(text.encode("utf-8", "replace"))
        )
        share = _SIGNATURE_SHARE + (1 - _SIGNATURE_SHARE) * _sum_values(lines) / _sum_values(self.lines)
        return DetailLevel(detail, share * self.relevance + self.line_value, tokens, text, lines)

    def _estimate_name_tokens(self) -> int:
        snippet = self.snippet
        return estimate_tokens(f"{snippet.path}{snippet.name}{snippet.related_to}".encode("utf-8", "replace"))


def build_packable_snippets(
    candidates: Sequence[Snippet],
    n_results: int,
    relevance: Sequence[float],
    term_idf: Mapping[str, float],
    shown_lines: ShownLines,
) -> tuple[list[PackableSnippet], list[Snippet]]:
    """Build snippets without duplicate lines; return them, and the results that were entirely shown before.

    A line belongs to the first snippet that has it.

    Args:
        candidates: Results, then further candidates, best first.
        n_results: Number of results.
        relevance: Probability that each candidate is needed.
        term_idf: IDF of each question term, positive.
        shown_lines: Lines of earlier contexts.
    """
    taken_lines: dict[str, set[int]] = defaultdict(set)
    packable: list[PackableSnippet] = []
    shown_before: list[Snippet] = []
    for position, (snippet, probability) in enumerate(zip(candidates, relevance, strict=True)):
        is_result = position < n_results
        lines = _strip_blank_lines(_weigh_snippet(snippet, term_idf))
        file_lines = taken_lines[snippet.path]
        seen_before = shown_lines.find_shown(snippet.path, lines)
        hidden = file_lines | seen_before
        remaining = _strip_blank_lines([line for line in lines if line.number not in hidden]) if hidden else lines
        if remaining or not lines:
            first, last = (lines[0].number, lines[-1].number) if lines else (snippet.start_line, snippet.end_line)
            packable.append(
                PackableSnippet(
                    snippet=snippet,
                    section="primary",
                    relevance=probability * _sum_values(remaining) / _sum_values(lines),
                    line_value=_RESULT_LINE_VALUE if is_result else 0.0,
                    lines=remaining,
                    first_line=first,
                    last_line=last,
                    shown_before=seen_before,
                    is_listed=is_result,
                )
            )
        elif seen_before and is_result:
            shown_before.append(snippet)
        file_lines.update(line.number for line in lines if line.number not in snippet.member_lines)
    return packable, shown_before


def build_related_lines(related: Sequence[Snippet], relevance_by_chunk: Mapping[str, float]) -> list[PackableSnippet]:
    """Build a line for each related declaration, which is worth more the more its result is needed.

    Args:
        related: Related code, best first.
        relevance_by_chunk: Probability that each result is needed, by its chunk's id.
    """
    return [
        PackableSnippet(
            snippet=snippet,
            section="related",
            relevance=0.0,
            line_value=_RELATED_LINE_VALUE
            * snippet.score
            * relevance_by_chunk.get(snippet.origin, _DISTANT_RELEVANCE)
            / (1 + rank),
            lines=(),
            first_line=snippet.start_line,
            last_line=snippet.end_line,
            shown_before=frozenset(),
            is_listed=True,
        )
        for rank, snippet in enumerate(related)
    ]


def _sum_values(lines: Sequence[WeightedLine]) -> float:
    return sum(line.value for line in lines) or 1.0


def _weigh_snippet(snippet: Snippet, term_idf: Mapping[str, float]) -> list[WeightedLine]:
    """Weigh the lines of a snippet; of a type whose members are chunks of their own, its outline."""
    numbered = list(enumerate(snippet.text.split("\n"), snippet.start_line))
    first, last = snippet.matched_lines or (snippet.start_line, snippet.end_line)
    if snippet.member_lines:
        members = {*snippet.member_lines, snippet.end_line}
        numbered = [(number, text) for number, text in numbered if first <= number <= last or number in members]
    values = weigh_lines("\n".join([text for _, text in numbered]), term_idf)
    return [
        WeightedLine(number, text, value if first <= number <= last else value * _UNMATCHED_PART_VALUE)
        for (number, text), value in zip(numbered, values, strict=True)
    ]


def _strip_blank_lines(lines: Sequence[WeightedLine]) -> list[WeightedLine]:
    """Strip blank lines at both ends."""
    first, last = 0, len(lines)
    while first < last and not lines[first].text.strip():
        first += 1
    while first < last and not lines[last - 1].text.strip():
        last -= 1
    return list(lines[first:last])
