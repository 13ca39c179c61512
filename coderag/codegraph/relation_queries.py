"""Queries to the code graph that answer a question about a relation: one set of rules for results, contexts and answers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from coderag.codegraph.declaration_groups import DISPATCH_CONFIDENCE
from coderag.codegraph.graph import ABSTRACT_KINDS, CodeGraph
from coderag.schema.graph import GraphNeighbour, RelationQuery
from coderag.schema.query import QuestionReading
from coderag.schema.vocabulary import MIN_RESOLVED_CONFIDENCE, AskedRelation, GraphRelation, QuestionKind

_HIERARCHY_DEPTH, _IMPACT_DEPTH = 4, 3
_TEST_DEPTH = 2  # a test and what helps it
_ENOUGH = 50  # near neighbours; more distant ones come after them
_FEW = 3  # resolved neighbours, below which unresolved ones are listed as well
_N_ENDS: Final = 2

_CALLS: Final = frozenset[AskedRelation]({"calls", "instantiates"})
_DOWNWARD: Final = frozenset[AskedRelation]({"inherits", "implements", "overrides"})
_CALLERS: Final = frozenset[GraphRelation]({"caller"})
_CALLEES: Final = frozenset[GraphRelation]({"callee"})
_IMPORTERS: Final = frozenset[GraphRelation]({"imported_by"})
_DERIVED: Final = frozenset[GraphRelation]({"derived", "implementation"})
_BASES: Final = frozenset[GraphRelation]({"base", "interface_of"})
_OVERRIDES: Final = frozenset[GraphRelation]({"override"})
_OVERRIDDEN: Final = frozenset[GraphRelation]({"overridden"})


def find_relations(
    graph: CodeGraph, reading: QuestionReading, names: Iterable[str], *, in_full: bool = True
) -> list[RelationQuery]:
    """Return the relations that a question asks for, one query per name; none if it does not ask for a relation.

    Args:
        graph: The permissive graph: a name of several declarations means all of them.
        reading: Reading of the question.
        names: Names that it is about.
        in_full: Whether to add what only contexts and answers need: neighbours of further relations, distant ones after
            many near ones, and unresolved ones where few are resolved.
    """
    if reading["kind"] == "path" and len(reading["ends"]) == _N_ENDS:
        start, end = reading["ends"]
        return [RelationQuery(start, "calls", "out", 0, graph.path(start, end), end)]
    rule = _RULES.get(reading["kind"])
    if rule is None:
        return []
    return [_find_relation(graph, reading, rule, name, in_full=in_full) for name in dict.fromkeys(names)]


def find_users(
    graph: CodeGraph, name: str, *, calls: bool = False, in_full: bool = True, candidates: bool = False
) -> list[GraphNeighbour]:
    """Return what uses a declaration: types that derive from it, code that calls or names it, files that import it.

    Importing the type around a member is no use of the member. Files that import the whole file of a declaration are
    listed only if nothing else uses it; their confidence is at most `DISPATCH_CONFIDENCE`.

    Args:
        graph: The permissive graph.
        name: Name of the declaration.
        calls: Whether to list recursive calls, and as callers the code that names it as well.
        in_full: Whether to list other users where there are callers, and all types that derive from it as such.
        candidates: Whether to include unresolved neighbours.
    """
    users = graph.callers(name, candidates=candidates) if calls else []
    if users and not in_full:
        return users
    users += graph.subclasses(name, candidates=candidates) if in_full else []
    listed = set(map(_get_place, users))
    users += [user for user in graph.users(name, candidates=candidates) if _get_place(user) not in listed]
    importers = graph.importers(name, candidates=candidates, members=False)
    return [*users, *(file for file in importers if not users or file.confidence > DISPATCH_CONFIDENCE)]


def select_neighbours(reading: QuestionReading, neighbours: Sequence[GraphNeighbour]) -> list[GraphNeighbour]:
    """Return the resolved neighbours of the very relation that a question asks for.

    If nothing calls a declaration, what names it counts as its use; if nothing uses it, what imports it.
    """
    resolved = [neighbour for neighbour in neighbours if neighbour.confidence >= MIN_RESOLVED_CONFIDENCE]
    if reading["kind"] == "hierarchy":
        return _select_relatives(reading, resolved)
    if reading["kind"] != "find_usage" or reading["relation"] in ("imports", "any"):
        return resolved
    is_call = reading["relation"] in _CALLS
    if reading["direction"] == "out":
        return _select(resolved, _CALLEES) if is_call else resolved
    users = [neighbour for neighbour in resolved if neighbour.relation not in _IMPORTERS]
    return (_select(users, _CALLERS) if is_call else []) or users or resolved


def _select_relatives(reading: QuestionReading, resolved: Sequence[GraphNeighbour]) -> list[GraphNeighbour]:
    relation, is_outward = reading["relation"], reading["direction"] == "out"
    if relation == "overrides":
        return _select(resolved, _OVERRIDDEN if is_outward else _OVERRIDES)
    if is_outward:
        return _select(resolved, _BASES)
    if relation == "implements":
        implementing = _select(resolved, _DERIVED | _OVERRIDES)
        return [neighbour for neighbour in implementing if neighbour.kind not in ABSTRACT_KINDS] or implementing
    return _select(resolved, _DERIVED) if relation == "inherits" else [*resolved]


def _select(neighbours: Iterable[GraphNeighbour], relations: frozenset[GraphRelation]) -> list[GraphNeighbour]:
    return [neighbour for neighbour in neighbours if neighbour.relation in relations]


_Lister = Callable[[CodeGraph, QuestionReading, str, bool, bool], list[GraphNeighbour]]
"""Lists the neighbours of a name, given whether distant and whether unresolved ones are wanted."""


class _Rule(NamedTuple):
    """Rule for one kind of question.

    Attributes:
        depth: Maximum number of steps.
        relation: Relation of the query; empty for that of the question.
    """

    list_neighbours: _Lister
    depth: int
    relation: AskedRelation = ""


def _find_relation(
    graph: CodeGraph, reading: QuestionReading, rule: _Rule, name: str, *, in_full: bool
) -> RelationQuery:
    neighbours = rule.list_neighbours(graph, reading, name, in_full, False)
    if in_full and reading["direction"] != "out" and len(neighbours) < _FEW:
        candidates = rule.list_neighbours(graph, reading, name, False, True)
        neighbours += [other for other in candidates if other.confidence < MIN_RESOLVED_CONFIDENCE and other.path]
    return RelationQuery(name, rule.relation or reading["relation"], reading["direction"], rule.depth, neighbours)


def _list_usage(
    graph: CodeGraph, reading: QuestionReading, name: str, in_full: bool, candidates: bool
) -> list[GraphNeighbour]:
    relation, is_outward = reading["relation"], reading["direction"] == "out"
    if relation == "imports":
        return (graph.imports if is_outward else graph.importers)(name, candidates=candidates)
    is_call = relation in _CALLS
    if not is_outward:
        return find_users(graph, name, calls=is_call, in_full=in_full or candidates, candidates=candidates)
    used = graph.callees(name, candidates=candidates) if is_call else []
    if is_call and not in_full:
        return used
    listed = set(map(_get_place, used))
    used += [other for other in graph.uses(name, candidates=candidates) if _get_place(other) not in listed]
    return [*used, *(graph.imports(name, candidates=candidates) if relation == "any" else ())]


def _list_impact(
    graph: CodeGraph, reading: QuestionReading, name: str, in_full: bool, candidates: bool
) -> list[GraphNeighbour]:
    """Return what a change may break: not what overrides the same method as the one that changes."""
    del reading
    neighbours = [] if in_full else graph.impact(name, 1, candidates=candidates)
    if len(neighbours) < _ENOUGH:
        neighbours = graph.impact(name, _IMPACT_DEPTH, candidates=candidates)
    return [
        neighbour
        for neighbour in neighbours
        if neighbour.relation != "override" or neighbour.confidence > DISPATCH_CONFIDENCE
    ]


def _list_relatives(
    graph: CodeGraph, reading: QuestionReading, name: str, in_full: bool, candidates: bool
) -> list[GraphNeighbour]:
    """Return the types above and below a type, or the methods that a method overrides and that override it."""
    queries: list[tuple[Callable[..., list[GraphNeighbour]], ...]] = [
        (graph.subclasses, graph.bases),
        (graph.overrides, graph.overridden),
    ]
    is_upward, is_downward = reading["direction"] == "out", reading["relation"] in _DOWNWARD
    directions = slice(None) if in_full else slice(1, 2) if is_upward else slice(0, 1) if is_downward else slice(None)
    for pair in queries[::-1] if reading["relation"] == "overrides" else queries:
        if relatives := [
            neighbour
            for query in pair[directions]
            for neighbour in query(name, _HIERARCHY_DEPTH, candidates=candidates)
        ]:
            return relatives
    return []


def _list_tests(
    graph: CodeGraph, reading: QuestionReading, name: str, in_full: bool, candidates: bool
) -> list[GraphNeighbour]:
    """Return the tests of a declaration, then those that call it through a helper; outwards, what a test calls."""
    del in_full
    if reading["direction"] == "out":
        return graph.callees(name, candidates=candidates)
    direct = graph.tests(name, candidates=candidates)
    listed = set(map(_get_place, direct))
    callers = [] if len(direct) >= _ENOUGH else graph.callers(name, _TEST_DEPTH, candidates=candidates)
    return [*direct, *(caller for caller in callers if caller.role == "test" and _get_place(caller) not in listed)]


def _get_place(neighbour: GraphNeighbour) -> tuple[str, str, int]:
    return neighbour.path, neighbour.qualified_name, neighbour.start_line


_RULES: Final[Mapping[QuestionKind, _Rule]] = MappingProxyType(
    {
        "find_usage": _Rule(_list_usage, 1),
        "path": _Rule(_list_usage, 1),  # of which only one end is known
        "impact": _Rule(_list_impact, _IMPACT_DEPTH, "any"),
        "hierarchy": _Rule(_list_relatives, _HIERARCHY_DEPTH),
        "find_tests": _Rule(_list_tests, _TEST_DEPTH, "tests"),
    }
)
