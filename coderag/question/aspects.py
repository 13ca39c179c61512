"""Aspects of a declaration that a question asks for: its signature, what it returns or raises, its members or its code."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from coderag.question.cues import QUESTION_CONCEPTS, Asking
from coderag.schema.vocabulary import AnswerForm, AskedAspect, QuestionKind


class _Lookup(NamedTuple):
    kind: QuestionKind
    form: AnswerForm


LOOKUPS: Final[Mapping[AskedAspect, _Lookup]] = MappingProxyType(
    {
        "signature": _Lookup("find_definition", "value"),
        "parameters": _Lookup("find_definition", "value"),
        "returns": _Lookup("find_definition", "value"),
        "raises": _Lookup("failure", "list"),
        "members": _Lookup("find_definition", "list"),
        "code": _Lookup("find_definition", "place"),
    }
)
"""Kind and form of a question for an aspect."""

_KINDS: Final = frozenset({"find_definition", "understand", "failure", "general", "setting"})
"""Kinds that a question for an aspect may be classified as."""

_OTHER_CONCEPTS: Final = frozenset(
    {"why", "how", "handle", "if", "difference", "compare", "when", "default", "similar"}
)
"""Concepts of questions that only mention an aspect."""


def find_aspect(asking: Asking, concepts: Collection[str], kind: str) -> AskedAspect:
    """Return the aspect that a question asks for; empty if it asks for none, or for several.

    Args:
        asking: The words of the question that ask for an aspect.
        concepts: Concepts of its cues.
        kind: Kind that it is classified as.
    """
    if kind not in _KINDS or not _OTHER_CONCEPTS.isdisjoint(concepts):
        return ""
    read = frozenset[str]().union(*asking.values())
    raises = "raises" in read or "errors" in read or ("fails" in read and "can" in concepts)
    shows_code = "code" in read and ("show" in concepts or QUESTION_CONCEPTS.isdisjoint(concepts))
    aspects = [aspect for aspect in LOOKUPS if aspect in read and aspect not in ("raises", "code")]
    if raises:
        aspects.append("raises")
    if shows_code and not aspects:
        aspects.append("code")
    return aspects[0] if len(aspects) == 1 else ""
