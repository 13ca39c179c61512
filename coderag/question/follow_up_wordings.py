"""Standalone wordings of questions that leave out what they are about."""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from coderag.question.classifier import Reading
from coderag.schema.vocabulary import AskedAspect, QuestionKind

_MIN_CONFIDENCE: Final = 0.5

_BARE_WORDINGS: Final[Sequence[tuple[frozenset[str], str]]] = (
    (frozenset({"why"}), "why is {it} like this"),
    (frozenset({"how"}), "how does {it} work"),
    (frozenset({"where"}), "where is {it} defined"),
    (frozenset({"who"}), "who uses {it}"),
    (frozenset({"who", "more"}), "who else uses {it}"),
    (frozenset({"when"}), "when is {it} used"),
    (frozenset({"purpose"}), "what is {it} for"),
    (frozenset({"what", "head"}), "what is {it} for"),
    (frozenset({"next"}), "what happens after {it}"),
    (frozenset({"what", "next"}), "what happens after {it}"),
    (frozenset({"which", "file"}), "which file is {it} in"),
    (frozenset({"what", "file"}), "which file is {it} in"),
    (frozenset({"detail"}), "explain {it} in detail"),
    (frozenset({"explain"}), "explain {it}"),
    (frozenset({"example"}), "give examples of {it}"),
    (frozenset({"overview"}), "summarize {it}"),
)
"""Wordings of questions of a word or two, by all their concepts besides those that any question has."""

_IGNORED: Final = frozenset({"filler", "is", "do", "it", "demonstrative", "within", "please", "show", "article", "my"})

WORDINGS: Final[Mapping[tuple[str, str, str], str]] = MappingProxyType(
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
        ("find_usage", "writes", "in"): "where is {it} assigned",
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
        "setting": "what is the default of {it}",
        "find_similar": "code similar to {it}",
        "documentation": "what do the docs say about {it}",
        "history": "who changed {it} last",
    }
)
_WORDINGS_OF_ASPECTS: Final[Mapping[AskedAspect, str]] = MappingProxyType(
    {
        "signature": "what is the signature of {it}",
        "parameters": "what are the parameters of {it}",
        "returns": "what does {it} return",
        "raises": "what errors does {it} raise",
        "members": "what methods does {it} have",
        "code": "show me the code of {it}",
    }
)
_UNUSED: Final = "is {it} unused"
TESTS: Final = "what tests {it}"


def list_wordings() -> list[str]:
    """Return all wordings of relations, kinds and aspects, each with ``{it}`` for what it is about."""
    return [*WORDINGS.values(), *_WORDINGS_OF_KINDS.values(), *_WORDINGS_OF_ASPECTS.values(), _UNUSED]


def choose_bare_wording(concepts: Sequence[Collection[str]]) -> str:
    """Return the wording of a text of a word or two; empty if it says more.

    Args:
        concepts: Concepts of each of its words.
    """
    for key, wording in _BARE_WORDINGS:
        asking = [word for word in concepts if not key.isdisjoint(word)]
        rest = (word for word in concepts if key.isdisjoint(word))
        if key <= frozenset().union(*asking) and all(not _IGNORED.isdisjoint(word) for word in rest):
            return wording
    return ""


def choose_wording(reading: Reading, aspect: AskedAspect, concepts: Collection[str]) -> str:
    """Return the wording of what a text asks; empty if that is not sure enough.

    Args:
        reading: What the classifier reads in it.
        aspect: The aspect that it asks for.
        concepts: Concepts of all its words.
    """
    if aspect:
        return _WORDINGS_OF_ASPECTS[aspect]
    if reading.confidence < _MIN_CONFIDENCE:
        return ""
    if reading.form == "unused":
        return _UNUSED
    if reading.kind == "find_definition" and "show" in concepts:
        return _WORDINGS_OF_ASPECTS["code"]
    wording = WORDINGS.get((reading.kind, reading.relation, reading.direction))
    return wording or next((text for kind, text in _WORDINGS_OF_KINDS.items() if kind == reading.kind), "")
