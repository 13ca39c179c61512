"""Choose which lines of a long piece are shown: its first ones, unless the question's words are further down."""

from collections.abc import Mapping, Sequence
from typing import Final

from coderag.answering.evidence.index_reader import LONGEST_LINE, IndexReader
from coderag.schema.query import QueryState

_HEAD = 2  # lines that say what the piece is, before those that answer
_ENOUGH: Final = 0.7  # of what the best lines have of the question: then the first lines are as good, and read better
_TOGETHER: Final = 0.5  # of what one line has, against words that are spread over several

Rarities = Mapping[str, float]
"""How telling each term of a question is, above 0."""


def rarities_of(index: IndexReader, state: QueryState) -> Rarities:
    """Return how telling the words of a question are in this repository; of a report by what its parts count for."""
    analysis = state["analysis"]
    weights = analysis["report"]["terms"] if analysis["report"] else dict.fromkeys(analysis["terms"], 1.0)
    found = {term: weight * index.corpus.idf(term) for term, weight in weights.items() if not term.startswith("=")}
    names = (one["text"].lower() for one in analysis["entities"] if one["kind"] in ("identifier", "qualified_name"))
    return found | dict.fromkeys(names, 2 * max(found.values(), default=1.0))


def telling(lines: Sequence[str], longest: int, rarities: Rarities, first: int = 0) -> list[range]:
    """Return the lines to show of a piece, as one run or as its head and a later run.

    Args:
        lines: All lines of the piece.
        longest: How many are shown.
        rarities: Of the terms of the question.
        first: Number of the line that names the piece, from 0.
    """
    if len(lines) - longest <= 1:
        return [range(len(lines))]
    top = range(first, min(first + longest, len(lines)))
    terms = [{term for term in rarities if term in line[:LONGEST_LINE].lower()} for line in lines]
    length = max(longest - _HEAD, 1)
    starts = range(first, len(lines) - length + 1)
    values = [_value(terms[start : start + length], rarities) for start in starts]
    best = max(values, default=0.0)
    if _value(terms[top.start : top.stop], rarities) >= _ENOUGH * best:
        return [top]
    among = [start for start, value in zip(starts, values, strict=True) if value == best]
    start = _middle(among)
    if start - first <= _HEAD + 1:  # a gap of one line is not worth a mark
        return [range(first, start + length)]
    return [range(first, first + _HEAD), range(start, start + length)]


def _value(terms: Sequence[set[str]], rarities: Rarities) -> float:
    """Return how much of the question some lines have between them, and the most that one of them has."""
    together = sum(rarities[term] for term in set[str]().union(*terms))
    return together + _TOGETHER * max((sum(rarities[term] for term in of_line) for of_line in terms), default=0.0)


def _middle(starts: Sequence[int]) -> int:
    """Return the middle of the first run of starts that follow each other: the lines that count are amid what is shown."""
    run = [start for place, start in enumerate(starts) if start - place == starts[0]]
    return run[len(run) // 2]
