"""Evidence of literals: whether the results have the name or text that the question gives as it is written."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from coderag.retrieval.literals import CHANNEL
from coderag.schema.query import Analysis, Candidate
from coderag.schema.vocabulary import Evidence

_MAX_JUDGED_RESULTS = 5
_MIN_QUERY_QUALITY = 0.3  # the least of any match of a query that is one literal
_MIN_QUESTION_QUALITY = 0.5  # the literal as typed, in few chunks
_MIN_KEY_QUALITY = 0.86  # the literal begins its line, as a key does: "e-mails" in a comment is prose

_LOWER: Final[Mapping[Evidence, Evidence]] = MappingProxyType({"found": "weak", "weak": "not_found"})
_HIGHER: Final[Mapping[Evidence, Evidence]] = MappingProxyType({"not_found": "weak", "weak": "found"})


def has_literal_answer(analysis: Analysis, results: Sequence[Candidate]) -> bool:
    """Return whether one of the first results has the literal of a query, or a telling one of a question."""
    if analysis["literal_query"]:
        min_quality = _MIN_QUERY_QUALITY
    else:
        is_prose = all(map(_is_hyphenated_prose, analysis["literals"]))
        min_quality = _MIN_KEY_QUALITY if is_prose else _MIN_QUESTION_QUALITY
    return any(result["channels"].get(CHANNEL, 0.0) >= min_quality for result in results[:_MAX_JUDGED_RESULTS])


def adjust_to_literals(verdict: Evidence, analysis: Analysis, *, has_literal: bool) -> Evidence:
    """Adjust a verdict that the words led to.

    A question whose literal the results have is answered more surely. A query for a name that nothing has, in any
    convention, is not answered; what may be words of prose is less surely.
    """
    if has_literal:
        return _HIGHER.get(verdict, verdict)
    if not analysis["literal_query"] or _is_word(analysis["literals"][0]):
        return verdict
    return _LOWER.get(verdict, verdict) if _is_hyphenated_prose(analysis["literals"][0]) else "not_found"


def _is_word(literal: str) -> bool:
    """Return whether a literal is one word, perhaps with a capital, or a text of several words."""
    return " " in literal or (literal.isalpha() and literal[1:].islower())


def _is_hyphenated_prose(literal: str) -> bool:
    words = literal.split("-")
    return all(word.isalpha() and word.islower() for word in words)
