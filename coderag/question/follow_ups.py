"""Questions that leave out what they are about, worded with what a conversation was about."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from coderag.question.classifier import Reading, load_classifier
from coderag.question.cues import load_cues, read_asking
from coderag.question.human_language import detect_language
from coderag.question.wording import read_tokens
from coderag.schema.vocabulary import QuestionKind

_MAX_CHARS: Final = 120
_MIN_CONFIDENCE: Final = 0.5

_WORDINGS: Final[Mapping[tuple[str, str, str], str]] = MappingProxyType(
    {
        ("find_usage", "calls", "in"): "who calls {it}",
        ("find_usage", "calls", "out"): "what does {it} call",
        ("find_usage", "uses", "in"): "where is {it} used",
        ("find_usage", "uses", "out"): "what does {it} use",
        ("find_usage", "any", "in"): "what depends on {it}",
        ("find_usage", "any", "out"): "what does {it} depend on",
        ("find_usage", "imports", "in"): "who imports {it}",
        ("find_usage", "imports", "out"): "what does {it} import",
        ("find_usage", "instantiates", "in"): "who instantiates {it}",
        ("find_usage", "reads", "in"): "where is {it} read",
        ("find_usage", "writes", "in"): "where is {it} set",
        ("hierarchy", "inherits", "in"): "what extends {it}",
        ("hierarchy", "inherits", "out"): "what does {it} extend",
        ("hierarchy", "implements", "in"): "what implements {it}",
        ("hierarchy", "implements", "out"): "what does {it} implement",
        ("hierarchy", "overrides", "in"): "what overrides {it}",
        ("hierarchy", "overrides", "out"): "what does {it} override",
        ("hierarchy", "any", "in"): "class tree of {it}",
        ("find_tests", "tests", "in"): "what tests {it}",
    }
)
_WORDINGS_OF_KINDS: Final[Mapping[QuestionKind, str]] = MappingProxyType(
    {
        "impact": "what breaks if {it} changes",
        "find_definition": "where is {it} defined",
        "understand": "explain {it}",
        "failure": "what errors does {it} raise",
        "setting": "what is the default of {it}",
        "find_similar": "code similar to {it}",
        "documentation": "what do the docs say about {it}",
        "history": "who changed {it} last",
    }
)
_UNUSED: Final = "is {it} unused"
_SHOWN: Final = "show me {it}"
_WHOLE: Final = frozenset({"project", "folder"})  # concepts of questions that stand alone
_SIGNATURE: Final = "what are the parameters of {it}"


def complete_question(text: str, focus: str) -> str:
    """Return the question that a text asks of what was talked about; empty if the text itself says of what, or asks nothing.

    Args:
        text: As typed, in any language that the classifier knows.
        focus: What was talked about, as a question names it.
    """
    if len(text) > _MAX_CHARS:
        return ""
    tokens = read_tokens(text, detect_language(text))
    asking = read_asking(load_cues().read(tokens))
    says_more = any(
        token.is_mask or (token.is_word and at not in asking and not token.is_stop_word)
        for at, token in enumerate(tokens)
    )
    concepts = frozenset[str]().union(*asking.values())
    if says_more or not concepts - _WHOLE or concepts & _WHOLE:
        return ""
    return _choose_wording(load_classifier().classify(tokens), concepts).format(it=focus)


def _choose_wording(reading: Reading, concepts: frozenset[str]) -> str:
    if reading.confidence < _MIN_CONFIDENCE or (reading.kind == "failure" and len(concepts) > 1):
        return ""
    if reading.kind == "find_definition" and "signature" not in concepts and not concepts.isdisjoint(("show", "code")):
        return _SHOWN
    if reading.form == "unused":
        return _UNUSED
    if reading.kind == "find_definition" and (reading.form == "value" or "signature" in concepts):
        return _SIGNATURE
    wording = _WORDINGS.get((reading.kind, reading.relation, reading.direction))
    return wording or next((text for kind, text in _WORDINGS_OF_KINDS.items() if kind == reading.kind), "")
