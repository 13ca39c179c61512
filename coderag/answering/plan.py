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
        "unused": (("unused", "absent"), ("candidates", "related", "mentions"), ("tests",)),
        "absent": (("message", "absent", "place"), ("nearest",), ("unindexed",)),
        "report": (("message", "place"), ("code",), ("next",)),
        "message": (("message", "place"), ("writers", "code"), ("next",)),
        "comparison": (("comparison", "place"), ("difference", "code"), ("common",)),
        "flow": (("flow", "place"), ("steps", "code"), ("next",)),
        "definition": (("definition", "absent"), ("members",), ("users",), ("origin",), ("nearest",)),
        "detail": (("detail", "definition", "place"), ("lines",), ("next",)),
        "relation": (("relation", "place"), ("related", "mentions"), ("further",), ("tests",), ("mentions",)),
        "setting": (("setting", "place"), ("readers", "code"), ("origin",), ("documentation", "next")),
        "failure": (("message", "failure", "place"), ("writers", "handling", "code"), ("next",)),
        "history": (("history", "place"), ("code",), ("commits",), ("next",)),
        "similar": (("place",), ("code",), ("next",)),
        "place": (("message", "place"), ("code",), ("origin",), ("next",)),
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
        "find_similar": "similar", "history": "history",
    }
)  # fmt: skip
_TOPICS_OF_KINDS: Final[Mapping[QuestionKind, AnswerTopic]] = MappingProxyType(
    {"setting": "setting", "failure": "failure"}
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
    is_compared = reading["form"] == "comparison" and bool(reading["ends"])
    rules: Sequence[tuple[bool, AnswerTopic]] = (
        (reading["is_of_whole"], "overview"),
        (bool(analysis.get("about_unused")), "unused"),
        (_is_answered_by_history(state), "history"),
        (reading["form"] == "overview" and _has_named_part(analysis), "overview"),
        (state["evidence"] == "not_found" or not state["results"], "absent"),
        (analysis["report"] is not None, "report"),
        (reading["kind"] == "documentation" or reading.get("aspect", "") in _DETAILS, "detail"),
        (is_compared, "comparison"),
        (reading["form"] == "overview", "overview"),
        (reading["kind"] in ("flow", "path"), "flow"),
        (analysis["intent"] in _TOPICS_OF_INTENTS, _TOPICS_OF_INTENTS.get(analysis["intent"], "place")),
        (reading["kind"] in _TOPICS_OF_KINDS, _TOPICS_OF_KINDS.get(reading["kind"], "place")),
        (analysis["is_statement"], "message"),
    )
    return next((topic for holds, topic in rules if holds), "place")


def _is_answered_by_history(state: QueryState) -> bool:
    """Return whether commits answer: if the history is asked for, or if one of them says why code is as it is."""
    lineage = state.get("lineage")
    if lineage is None:
        return False
    history = state["analysis"]["reading"].get("history")
    is_reason = history is not None and history["aspect"] == "why" and bool(lineage["is_deciding"])
    return state["analysis"]["intent"] == "history" or is_reason


def _has_named_part(analysis: Analysis) -> bool:
    """Return whether a question names a path or a declaration."""
    return bool(analysis["reading"]["subjects"]) or any(entity["kind"] == "path" for entity in analysis["entities"])


def choose_shape(state: QueryState) -> AnswerShape:
    """Choose the shape of a generated answer."""
    return _SHAPES_OF_TOPICS.get(choose_topic(state), "explanation")
