"""Answer the relation that a question asks for from the code graph."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from coderag.codegraph.declaration_groups import DISPATCH_CONFIDENCE
from coderag.codegraph.graph import CodeGraph
from coderag.schema.graph import GraphNeighbour
from coderag.schema.query import Analysis, QuestionReading
from coderag.schema.vocabulary import AskedRelation, Intent

_HIERARCHY_DEPTH, _IMPACT_DEPTH = 4, 3
_TEST_DEPTH = 2  # a test and what helps it
_ENOUGH = 50  # that are near; what is further away would come after them
_CALLS: Final = frozenset({"calls", "instantiates"})
_N_ENDS: Final = 2


def answer(graph: CodeGraph, analysis: Analysis, names: Sequence[str]) -> list[GraphNeighbour]:
    """Return what the code graph knows of the relation that a question asks for, the best first.

    Args:
        graph: The graph; a name of several declarations means all of them.
        analysis: Of the question.
        names: What it is about.
    """
    reading = analysis["reading"]
    if reading["kind"] == "path" and len(reading["ends"]) == _N_ENDS:
        return graph.path(*reading["ends"])
    list_neighbours = _LISTS.get(analysis["intent"])
    if list_neighbours is None:
        return []
    return [neighbour for name in names for neighbour in list_neighbours(graph, reading, name)]


def _list_users(graph: CodeGraph, reading: QuestionReading, name: str) -> Iterable[GraphNeighbour]:
    relation = reading["relation"]
    if reading["kind"] == "impact":
        near = _list_impact(graph, name, 1)
        return near if len(near) >= _ENOUGH else _list_impact(graph, name, _IMPACT_DEPTH)
    if reading["direction"] == "out":
        return _list_used(graph, relation, name)
    if relation == "imports":
        return graph.importers(name)
    if relation == "any":
        return [*graph.users(name), *graph.importers(name)]
    calling = graph.callers(name) if relation in _CALLS else []
    return calling or graph.users(name) or ([] if graph.is_member(name) else graph.importers(name))


def _list_used(graph: CodeGraph, relation: AskedRelation, name: str) -> Iterable[GraphNeighbour]:
    if relation == "imports":
        return graph.imports(name)
    if relation == "any":
        return [*graph.uses(name), *graph.imports(name)]
    return graph.callees(name) if relation in _CALLS else graph.uses(name)


def _list_impact(graph: CodeGraph, name: str, depth: int) -> list[GraphNeighbour]:
    """Return what a change may break: not what overrides the same method as the one that changes."""
    return [
        neighbour
        for neighbour in graph.impact(name, depth)
        if neighbour.relation != "override" or neighbour.confidence > DISPATCH_CONFIDENCE
    ]


def _list_relatives(graph: CodeGraph, reading: QuestionReading, name: str) -> Iterable[GraphNeighbour]:
    relation, is_outward = reading["relation"], reading["direction"] == "out"
    if relation == "overrides":
        return (graph.overridden if is_outward else graph.overrides)(name, _HIERARCHY_DEPTH)
    if is_outward:
        return graph.bases(name, _HIERARCHY_DEPTH)
    if relation == "implements":
        return graph.implementations(name, _HIERARCHY_DEPTH) or graph.subclasses(name, _HIERARCHY_DEPTH)
    below = graph.subclasses(name, _HIERARCHY_DEPTH)
    return below if relation == "inherits" else [*below, *graph.bases(name, _HIERARCHY_DEPTH)]


def _list_tests(graph: CodeGraph, reading: QuestionReading, name: str) -> Iterable[GraphNeighbour]:
    if reading["direction"] == "out":
        return graph.callees(name)
    direct = graph.tests(name)
    calling = [] if len(direct) >= _ENOUGH else graph.callers(name, _TEST_DEPTH)
    return [*direct, *(neighbour for neighbour in calling if neighbour.role == "test")]


_LISTS: Final[Mapping[Intent, Callable[[CodeGraph, QuestionReading, str], Iterable[GraphNeighbour]]]] = (
    MappingProxyType({"find_usage": _list_users, "hierarchy": _list_relatives, "find_tests": _list_tests})
)
"""What each intent asks of the graph."""
