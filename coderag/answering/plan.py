"""Plan of an answer: which sections it has, by what the question asks and what was found."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from coderag.schema.query import Analysis, QueryState
from coderag.schema.vocabulary import AnswerSectionKind, AnswerShape, AnswerTopic, Intent, QuestionKind

AnswerPlan = Sequence[Sequence[AnswerSectionKind]]
"""Sections in order. Of several in one place, the first that has something to say is written."""

PLANS: Final[Mapping[AnswerTopic, AnswerPlan]] = MappingProxyType(
    {
        "overview": (("overview", "place"), ("layout",), ("central",), ("documents",)),
        "unused": (("unused", "absent"), ("mentions",)),
        "absent": (("message", "absent"), ("nearest",), ("unindexed",)),
        "report": (("message", "place"), ("code",), ("next",)),
        "message": (("message", "place"), ("writers", "code"), ("next",)),
        "comparison": (("comparison", "place"), ("difference", "code"), ("common", "next")),
        "flow": (("flow", "place"), ("steps", "code"), ("next",)),
        "definition": (("definition", "absent"), ("members",), ("users",), ("nearest",)),
        "detail": (("detail", "definition", "place"), ("lines", "code"), ("next",)),
        "relation": (("relation", "place"), ("mentions", "code"), ("next",)),
        "setting": (("setting", "place"), ("readers", "code"), ("documentation", "next")),
        "failure": (("failure", "place"), ("handling", "code"), ("next",)),
        "similar": (("place",), ("code",), ("next",)),
        "place": (("message", "place"), ("code",), ("next",)),
    }
)

SHAPES: Final[Mapping[AnswerSectionKind, AnswerShape]] = MappingProxyType(
    {
        "definition": "definition", "relation": "usages", "unused": "usages", "flow": "flow", "comparison": "comparison",
        "absent": "not_found",
    }
)  # fmt: skip
"""Shape of an answer by its first section; all others explain."""

_TOPICS_OF_INTENTS: Final[Mapping[Intent, AnswerTopic]] = MappingProxyType(
    {
        "find_usage": "relation", "hierarchy": "relation", "find_tests": "relation", "find_definition": "definition",
        "find_similar": "similar",
    }
)  # fmt: skip
_TOPICS_OF_KINDS: Final[Mapping[QuestionKind, AnswerTopic]] = MappingProxyType(
    {"flow": "flow", "path": "flow", "setting": "setting", "failure": "failure"}
)
_DETAILS: Final = frozenset({"signature", "parameters", "returns", "raises"})
_SHAPES_OF_TOPICS: Final[Mapping[AnswerTopic, AnswerShape]] = MappingProxyType(
    {
        "absent": "not_found", "comparison": "comparison", "flow": "flow", "relation": "usages", "unused": "usages",
        "definition": "definition",
    }
)  # fmt: skip


def choose_topic(state: QueryState) -> AnswerTopic:
    """Choose what the answer is about, from the reading of the question and the verdict on what was found."""
    analysis = state["analysis"]
    reading = analysis["reading"]
    if reading["is_of_whole"]:
        return "overview"
    if analysis.get("about_unused"):
        return "unused"
    if reading["form"] == "overview" and _names_something(analysis):
        return "overview"
    if state["evidence"] == "not_found" or not state["results"]:
        return "absent"
    if analysis["report"]:
        return "report"
    return _choose_by_reading(analysis)


def _choose_by_reading(analysis: Analysis) -> AnswerTopic:
    """Choose the topic of a question about a part of the repository that results answer."""
    reading = analysis["reading"]
    if reading["kind"] == "documentation" or reading.get("aspect", "") in _DETAILS:
        return "detail"
    if reading["form"] == "comparison" and reading["ends"]:
        return "comparison"
    if reading["form"] == "overview":
        return "overview"
    topic = _TOPICS_OF_KINDS.get(reading["kind"]) if reading["kind"] in ("flow", "path") else None
    topic = topic or _TOPICS_OF_INTENTS.get(analysis["intent"]) or _TOPICS_OF_KINDS.get(reading["kind"])
    return topic or ("message" if analysis["is_statement"] else "place")


def _names_something(analysis: Analysis) -> bool:
    """Return whether a question names a path or a declaration."""
    return bool(analysis["reading"]["subjects"]) or any(entity["kind"] == "path" for entity in analysis["entities"])


def choose_shape(state: QueryState) -> AnswerShape:
    """Choose the shape of a generated answer."""
    return _SHAPES_OF_TOPICS.get(choose_topic(state), "explanation")
