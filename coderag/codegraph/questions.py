"""Answer questions in words from the code graph: which relation is asked for, and in which direction."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from coderag.codegraph.declaration_groups import DISPATCH_CONFIDENCE
from coderag.codegraph.graph import CodeGraph
from coderag.schema.graph import GraphNeighbour
from coderag.schema.query import Analysis

_HIERARCHY_DEPTH, _IMPACT_DEPTH = 4, 3
_TEST_DEPTH = 2  # a test and what helps it
_ENOUGH = 50  # that are near; what is further away would come after them

_ABOUT_IMPACT: Final = re.compile(
    r"\b(?:break\w*|broken|fails?|affect\w*|impact\w*|effects?|consequences|happens?|blast\s+radius)\b", re.IGNORECASE
)
_ABOUT_IMPORTS: Final = re.compile(r"\b(?:imports?|imported|importers?)\b", re.IGNORECASE)
_ABOUT_DEPENDENCE: Final = re.compile(r"\b(?:depends?|dependents?|dependenc(?:y|ies)|rel(?:y|ies))\b", re.IGNORECASE)
_ABOUT_CALLS: Final = re.compile(
    r"\b(?:call\w*|invo(?:ke|cation)\w*|instan(?:ce|tiat)\w*|creat\w*|construct\w*|initiali[sz]ed|builds?|makes?(?!\s+use))\b",
    re.IGNORECASE,
)
_ABOUT_OVERRIDES: Final = re.compile(r"\boverrid\w*", re.IGNORECASE)
_ABOUT_IMPLEMENTATIONS: Final = re.compile(r"\bimplement\w*", re.IGNORECASE)
_ABOUT_SUBTYPES: Final = re.compile(
    r"\b(?:sub\w+|derived?|derives|deriving|extend\w*|inherit(?!ance)\w*|child(?:ren)?|descendants)\b", re.IGNORECASE
)
_ABOUT_BASES: Final = re.compile(r"\b(?:base\w*|super\w+|parents?|ancestors?)\b", re.IGNORECASE)
_ABOUT_A_PATH: Final = re.compile(
    r"\b(?:reach(?:es)?|gets?\s+(?:from|to)|(?:path|way|route|flow|chain)\s+(?:from|between)|ends?\s+up)\b",
    re.IGNORECASE,
)

_VERB: Final = (
    r"(?:call|use|invoke|instantiate|import|depend|rely|reference|extend|implement|inherit|subclass|derive|override)"
)
_DONE: Final = r"(?:called|used|invoked|instantiated|imported|referenced|extended|implemented|inherited|overridden)"
_FROM_HERE: Final = "|".join(
    (
        rf"\bdo(?:es)?\b[^?]*{{name}}[^?]*\b{_VERB}\b",  # what does NAME call
        rf"\b{_DONE}\s+by\b[^?]*{{name}}",  # what is called by NAME
        r"\b(?:callees|dependencies|imports)\s+of\b[^?]*{name}",
    )
)


def answer(graph: CodeGraph, analysis: Analysis, names: Sequence[str]) -> list[GraphNeighbour]:
    """Return what the code graph knows of the relation that a question asks for, the best first.

    Args:
        graph: The graph; a name of several declarations means all of them.
        analysis: Of the question.
        names: What it is about.
    """
    text = analysis["text"]
    words = re.sub("|".join(map(_whole, names)), " ", text) if names else text
    if len(names) > 1 and _ABOUT_A_PATH.search(words):
        start, end = sorted(names[:2], key=text.find)
        return graph.path(start, end)
    asks = _ASKS.get(analysis["intent"])
    if asks is None:
        return []
    return [neighbour for name in names for neighbour in asks(graph, words, name, _is_from_here(text, name))]


def _usage(graph: CodeGraph, words: str, name: str, from_here: bool) -> Iterable[GraphNeighbour]:
    if _ABOUT_IMPACT.search(words):
        near = _impact(graph, name, 1)
        return near if len(near) >= _ENOUGH else _impact(graph, name, _IMPACT_DEPTH)
    if from_here:
        if _ABOUT_IMPORTS.search(words):
            return graph.imports(name)
        return graph.callees(name) if _ABOUT_CALLS.search(words) else graph.uses(name)
    if _ABOUT_IMPORTS.search(words):
        return graph.importers(name)
    if _ABOUT_DEPENDENCE.search(words):
        return [*graph.users(name), *graph.importers(name)]
    calling = graph.callers(name) if _ABOUT_CALLS.search(words) else []
    return calling or graph.users(name) or ([] if graph.is_member(name) else graph.importers(name))


def _impact(graph: CodeGraph, name: str, depth: int) -> list[GraphNeighbour]:
    """Return what a change may break: not what overrides the same method as the one that changes."""
    return [
        one for one in graph.impact(name, depth) if one.relation != "override" or one.confidence > DISPATCH_CONFIDENCE
    ]


def _hierarchy(graph: CodeGraph, words: str, name: str, from_here: bool) -> Iterable[GraphNeighbour]:
    if _ABOUT_OVERRIDES.search(words):
        return (graph.overridden if from_here else graph.overrides)(name, _HIERARCHY_DEPTH)
    if from_here or _ABOUT_BASES.search(words):
        return graph.bases(name, _HIERARCHY_DEPTH)
    if _ABOUT_IMPLEMENTATIONS.search(words):
        return graph.implementations(name, _HIERARCHY_DEPTH) or graph.subclasses(name, _HIERARCHY_DEPTH)
    below = graph.subclasses(name, _HIERARCHY_DEPTH)
    return below if _ABOUT_SUBTYPES.search(words) else [*below, *graph.bases(name, _HIERARCHY_DEPTH)]


def _tests(graph: CodeGraph, words: str, name: str, from_here: bool) -> Iterable[GraphNeighbour]:
    del words, from_here
    direct = graph.tests(name)
    calling = [] if len(direct) >= _ENOUGH else graph.callers(name, _TEST_DEPTH)
    return [*direct, *(one for one in calling if one.role == "test")]


_ASKS: Final[Mapping[str, Callable[[CodeGraph, str, str, bool], Iterable[GraphNeighbour]]]] = MappingProxyType(
    {"find_usage": _usage, "hierarchy": _hierarchy, "find_tests": _tests}
)
"""What each intent asks: of the graph, with the question's other words, a name, and whether it is what that does itself."""


def _is_from_here(text: str, name: str) -> bool:
    """Whether the question is what the name's declaration does, not what is done to it."""
    return re.search(_FROM_HERE.format(name=_whole(name)), text, re.IGNORECASE) is not None


def _whole(name: str) -> str:
    """Return the pattern of a name that is no part of a longer one."""
    return rf"(?<!\w){re.escape(name)}(?!\w)"
