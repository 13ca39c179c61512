"""Shape of an answer: by what the question asks, and by the evidence."""

from typing import Final, NamedTuple

from coderag.schema.query import Analysis, QueryState
from coderag.schema.vocabulary import AnswerShape, Intent, QuestionKind

_LISTED: Final[frozenset[Intent]] = frozenset({"find_usage", "hierarchy", "find_tests"})
_FLOWING: Final[frozenset[QuestionKind]] = frozenset({"flow", "path"})


class Ends(NamedTuple):
    """Two things that a question names, as it puts them: the sides of a comparison, or where a flow begins and ends."""

    first: str
    last: str


def choose_shape(state: QueryState) -> AnswerShape:
    """Return the shape of the answer to a question for which evidence has been looked for."""
    analysis = state["analysis"]
    intent, reading = analysis["intent"], analysis["reading"]
    if state["evidence"] == "not_found" or not state["results"]:
        return "not_found"
    if analysis["report"]:
        return "explanation"
    if reading["form"] == "comparison" and reading["ends"]:
        return "comparison"
    if reading["kind"] in _FLOWING:
        return "flow"
    if intent in _LISTED:
        return "usages"
    return "definition" if intent == "find_definition" else "explanation"


def get_ends(analysis: Analysis) -> Ends | None:
    """Return the two things that a question compares or connects; None if it names none."""
    ends = analysis["reading"]["ends"]
    return Ends(*ends) if ends else None
