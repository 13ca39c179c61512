"""Excerpts of code: the head of a declaration and the lines that decide, by the words of the question."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.evidence.line_reader import MAX_LINE_CHARS
from coderag.answering.extractive.sections import Excerpt
from coderag.retrieval.context.elision import count_head_lines

MAX_EXCERPT_LINES: Final = 12
_MAX_HEAD_LINES: Final = 3
_MAX_DOCUMENTATION_LINES: Final = 60
_MIN_SIGNATURE_CHARS: Final = 4  # a shorter first line, such as ``{``, is in many places
_ENOUGH_SHARE: Final = 0.7  # of what the best lines have of the question: then the first lines read better
_LINE_SHARE: Final = 0.5  # of what one line has, against words that are spread over several


def build_excerpt(
    lines: CitedLines,
    language: str,
    term_idf: Mapping[str, float],
    *,
    signature: str = "",
    max_lines: int = MAX_EXCERPT_LINES,
) -> Excerpt:
    """Build an excerpt of at most about `max_lines`: the head, and the run of lines with most of the question.

    Args:
        lines: All lines.
        language: Their language.
        term_idf: IDF of the question's terms.
        signature: Signature of the declaration; what comes before its end is its head.
        max_lines: Number of lines; one more where a gap would be a single line.
    """
    texts = [text[:MAX_LINE_CHARS] for text in lines.text.split("\n")]
    while len(texts) > 1 and not texts[-1].strip():
        texts.pop()
    if len(texts) <= max_lines + 1:
        return Excerpt(lines, [range(lines.start_line, lines.start_line + len(texts))], language)
    first = _find_signature(texts, signature)
    head = first + min(count_head_lines(texts[first:], signature), _MAX_HEAD_LINES)
    window = _find_best_window(texts, head, max_lines - (head - first), term_idf)
    positions = [*range(first, head), *window]
    if window.start - head == 1:  # a gap of one line is not worth a marker
        positions.insert(head - first, head)
    return Excerpt(lines, group_runs([lines.start_line + position for position in positions]), language)


def _find_signature(texts: Sequence[str], signature: str) -> int:
    """Find the position of the line that begins the signature: behind documentation, which the statement tells already."""
    compact_signature = "".join(signature.split())
    for position, text in enumerate(texts[:_MAX_DOCUMENTATION_LINES] if compact_signature else ()):
        compact_text = "".join(text.split())
        begins = compact_signature.startswith(compact_text) and len(compact_text) >= _MIN_SIGNATURE_CHARS
        if begins or compact_text.startswith(compact_signature):
            return position
    return 0


def _find_best_window(texts: Sequence[str], head: int, length: int, term_idf: Mapping[str, float]) -> range:
    """Find the run of lines behind the head with most of the question: its first ones if those are as good."""
    terms = [{term for term in term_idf if term in text.lower()} for text in texts]
    starts = range(head, max(len(texts) - length, head) + 1)
    values = [_rate_lines(terms[start : start + length], term_idf) for start in starts]
    best = max(values)
    if values[0] >= _ENOUGH_SHARE * best:
        return range(head, min(head + length, len(texts)))
    among = [start for start, value in zip(starts, values, strict=True) if value == best]
    run = [start for offset, start in enumerate(among) if start - offset == among[0]]
    middle = run[len(run) // 2]  # the lines that count are amid what is shown
    return range(middle, middle + length)


def _rate_lines(terms: Sequence[set[str]], term_idf: Mapping[str, float]) -> float:
    """Return how much of the question some lines have between them, and the most that one of them has."""
    together = sum(term_idf[term] for term in set[str]().union(*terms))
    best_line = max((sum(term_idf[term] for term in of_line) for of_line in terms), default=0.0)
    return together + _LINE_SHARE * best_line


def group_runs(numbers: Sequence[int]) -> list[range]:
    """Group ascending numbers into ranges without gaps."""
    runs: list[range] = []
    for number in numbers:
        if runs and runs[-1].stop == number:
            runs[-1] = range(runs[-1].start, number + 1)
        else:
            runs.append(range(number, number + 1))
    return runs


def list_shown_lines(excerpt: Excerpt) -> list[str]:
    """List the shown lines of an excerpt, without their common indentation, with a marker for each gap."""
    return _strip_indent([text for _, text in _iter_shown(excerpt)])


def list_shown_numbers(excerpt: Excerpt) -> list[int]:
    """List the line numbers of `list_shown_lines`, as indexed; 0 for a gap."""
    return [number for number, _ in _iter_shown(excerpt)]


def _iter_shown(excerpt: Excerpt) -> Iterator[tuple[int, str]]:
    texts = excerpt.lines.text.split("\n")
    first = next_number = excerpt.lines.start_line
    for run in excerpt.line_ranges:
        if run.start > next_number:
            yield 0, _format_gap(texts[run.start - first], run.start - next_number)
        for number in run:
            if number - first < len(texts):
                yield number, texts[number - first]
        next_number = run.stop
    if rest := len(texts) - (next_number - first):
        yield 0, _format_gap(texts[next_number - first - 1], rest)


def _format_gap(neighbour: str, length: int) -> str:
    indent = neighbour[: len(neighbour) - len(neighbour.lstrip())]
    return f"{indent}… {length} line{'' if length == 1 else 's'}"


def _strip_indent(lines: Sequence[str]) -> list[str]:
    indents = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    margin = min(indents, default=0)
    return [line[margin:] for line in lines]
