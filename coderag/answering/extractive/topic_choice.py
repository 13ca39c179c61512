"""Choice of an answer's topic where the wording leaves it open: by the evidence that the code has for each."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.evidence.failure_search import find_deciding_statements
from coderag.answering.plan import choose_topic
from coderag.retrieval.message_search import find_message_places, list_messages
from coderag.schema.vocabulary import AnswerForm, AnswerTopic

_MIN_STATEMENT_VALUE: Final = 0.45  # of a line that raises or handles
_MIN_SURE: Final = 0.6  # probability of a failure where a place is asked for
_NAME_KINDS: Final = frozenset({"identifier", "qualified_name"})
_MIN_VALUE_SCORE: Final = 1.0  # of a line that gives a default
_SETTLED_FORMS: Final = frozenset[AnswerForm]({"place", "comparison", "overview"})
"""Forms that the best declaration answers, whatever its lines do."""


class _Alternative(NamedTuple):
    """A topic that may be meant.

    Attributes:
        min_probability: Minimum probability by the wording. A failure is seldom put in words of its own, so it is low.
        replaces: Topics by the wording that it may replace.
        has_evidence: Whether the code has lines for it.
    """

    min_probability: float
    replaces: frozenset[AnswerTopic]
    has_evidence: Callable[[AnswerInput], bool]


def _has_failure(answer_input: AnswerInput) -> bool:
    if any(entity["kind"] in _NAME_KINDS for entity in answer_input.analysis["entities"]):
        return False  # what a name is asked for stands in the wording
    statements = find_deciding_statements(answer_input)
    return bool(statements) and statements[0].value >= _MIN_STATEMENT_VALUE


def _has_setting(answer_input: AnswerInput) -> bool:
    setting = answer_input.setting
    return setting is not None and bool(setting.values) and setting.values[0].score >= _MIN_VALUE_SCORE


def _has_flow(answer_input: AnswerInput) -> bool:
    return answer_input.flow is not None and bool(answer_input.flow.steps)


_ALTERNATIVES: Final[Mapping[AnswerTopic, _Alternative]] = MappingProxyType(
    {
        "setting": _Alternative(0.2, frozenset({"place", "flow"}), _has_setting),
        "flow": _Alternative(0.5, frozenset({"place"}), _has_flow),
        "failure": _Alternative(0.035, frozenset({"place"}), _has_failure),
    }
)  # in the order of the probability that each needs: what the wording says most surely comes first


_TOPICS_OF_MESSAGES: Final = frozenset[AnswerTopic]({"setting", "flow", "similar"})
"""Topics that the words of a message may resemble; the others look for a message themselves, or ask for more than its place."""


def _is_message(answer_input: AnswerInput) -> bool:
    """Return whether code writes a text that the question quotes or consists of, apart from the values in it."""
    corpus = answer_input.reader.corpus
    return any(
        place.is_complete and not place.is_repeated
        for message in list_messages(answer_input.analysis)
        for place in find_message_places(corpus, message)[:1]
    )


def choose_supported_topic(answer_input: AnswerInput) -> AnswerTopic:
    """Choose the topic by the wording; where that is unsure, the first that is likely enough and has evidence."""
    topic, reading = choose_topic(answer_input.state), answer_input.reading
    probabilities = reading.get("topic_probabilities", {})
    if topic in _TOPICS_OF_MESSAGES and _is_message(answer_input):
        return "message"
    if reading["form"] in _SETTLED_FORMS:
        is_unsure = topic == "failure" and reading["form"] == "place" and probabilities.get(topic, 1.0) < _MIN_SURE
        return "place" if is_unsure else topic
    for name, alternative in _ALTERNATIVES.items():
        is_likely = probabilities.get(name, 0.0) >= alternative.min_probability
        if is_likely and topic in alternative.replaces and alternative.has_evidence(answer_input):
            return name
    return topic
