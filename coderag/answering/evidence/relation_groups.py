"""What is related to a declaration in the code graph, sorted out for a reader: users, relatives, tests, what it uses itself."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from coderag.answering.evidence.index_reader import FILE, PERHAPS, Declared, IndexReader
from coderag.answering.extractive.wording import counted
from coderag.codegraph.relation_queries import find_relations, find_users
from coderag.schema.graph import GraphNeighbour
from coderag.schema.graph_queries import GraphQuery
from coderag.schema.query import QueryState
from coderag.schema.records import to_relations
from coderag.schema.vocabulary import MIN_RESOLVED_CONFIDENCE, GraphRelation


class Kind(NamedTuple):
    """A kind of relation: its heading, how the lead counts it, and the command that lists all, if there is one."""

    heading: str
    counted: Callable[[int], str]
    command: GraphQuery | Literal[""]


KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        "called": Kind("Called by", lambda n: f"called by {counted(n, 'declaration')}", "callers"),
        "imported": Kind("Imported by", lambda n: f"imported by {counted(n, 'file')}", "importers"),
        "derived": Kind("Extended or implemented by", lambda n: f"a base of {counted(n, 'type')}", "subclasses"),
        "overridden": Kind("Overridden by", lambda n: f"overridden by {counted(n, 'method')}", "overrides"),
        "referenced": Kind("Referred to by", lambda n: f"referred to by {counted(n, 'declaration')}", "references"),
        "tested": Kind("In tests", lambda n: f"used by {counted(n, 'place in tests', 'places in tests')}", "tests"),
        "calls": Kind("Calls", lambda n: f"calls {counted(n, 'declaration')}", "callees"),
        "imports": Kind("Imports", lambda n: f"imports {counted(n, 'file or package', 'files and packages')}", "imports"),
        "refers": Kind("Refers to", lambda n: f"refers to {counted(n, 'declaration')}", ""),
        "bases": Kind("Extends", lambda n: f"extends {counted(n, 'type')}", "bases"),
        "overrides": Kind("Overrides", lambda n: f"overrides {counted(n, 'method')}", "overridden"),
        "further": Kind("Further away", lambda n: f"reached by {counted(n, 'more', 'more')} through those", "impact"),
    }
)  # fmt: skip
"""In the order in which an answer lists them."""

_OF_RELATION: Final[Mapping[GraphRelation, str]] = MappingProxyType(
    {
        "caller": "called", "callee": "calls", "imports": "imports", "imported_by": "imported", "base": "bases",
        "interface_of": "bases", "derived": "derived", "implementation": "derived", "override": "overridden",
        "overridden": "overrides", "user": "referenced", "used": "refers", "test_for": "tested", "tested": "calls",
    }
)  # fmt: skip
RELATIONS_OF: Final[Mapping[str, frozenset[GraphRelation]]] = MappingProxyType(
    {kind: frozenset(relation for relation, of in _OF_RELATION.items() if of == kind) for kind in KINDS}
)
INWARDS: Final = frozenset({"called", "imported", "derived", "overridden", "referenced", "tested", "further"})

Groups = dict[str, list[GraphNeighbour]]


def users_of(index: IndexReader, declared: Declared) -> Groups:
    """Return what uses a declaration: one list for each relation, tests apart."""
    return _sorted_out(_without_files(find_users(index.graph, declared.key)))


def neighbours_of(index: IndexReader, state: QueryState, name: str) -> list[GraphNeighbour]:
    """Return the neighbours of a name that a question asks for: those in the state, else the code graph's."""
    known = [query for query in to_relations(state["relations"]) if query.subject == name and not query.end]
    queries = known or find_relations(index.graph, state["analysis"]["reading"], [name])
    return [one for query in queries for one in query.neighbours]


def groups_of(state: QueryState, neighbours: Sequence[GraphNeighbour]) -> Groups:
    """Return the resolved relations that a question asks for, none of them empty.

    Args:
        state: With the analysis.
        neighbours: Of a name, see `neighbours_of`.
    """
    reading = state["analysis"]["reading"]
    found = [one for one in neighbours if one.confidence >= MIN_RESOLVED_CONFIDENCE]
    if reading["kind"] == "find_tests" and reading["direction"] != "out":
        return {"tested": found} if found else {}
    if reading["relation"] != "imports":
        found = _without_files(found)
    groups = _sorted_out(found, tests_apart=reading["kind"] != "hierarchy")
    return {kind: group for kind, group in groups.items() if group}


def _without_files(neighbours: Sequence[GraphNeighbour]) -> list[GraphNeighbour]:
    """Return the neighbours without files that import something else of the same file, perhaps."""
    return [one for one in neighbours if one.relation != "imported_by" or one.confidence > PERHAPS]


def _sorted_out(neighbours: Sequence[GraphNeighbour], *, tests_apart: bool = True) -> Groups:
    groups: Groups = {kind: [] for kind in KINDS}
    seen: set[tuple[str, str, str]] = set()
    for one in neighbours:
        kind = _OF_RELATION.get(one.relation, "")
        if tests_apart and one.role == "test" and kind in INWARDS:
            kind = "tested"
        elif one.depth > 1 and one.relation not in ("base", "derived", "implementation", "interface_of"):
            kind = "further"
        if kind and (kind, one.path, one.qualified_name) not in seen:
            seen.add((kind, one.path, one.qualified_name))
            groups[kind].append(one)
    derived = {key(one) for one in groups["derived"]}
    groups["referenced"] = [one for one in groups["referenced"] if key(one) not in derived]
    in_tests = {one.path for one in groups["tested"] if one.kind != FILE}
    groups["tested"] = [one for one in groups["tested"] if one.kind != FILE or one.path not in in_tests]
    users = {one.path for kind in ("called", "referenced", "derived", "tested") for one in groups[kind]}
    # What imports a name and uses it is listed as its user; the import says nothing more. Nor does a name beside its file.
    groups["imported"] = [one for one in groups["imported"] if one.path not in users]
    groups["imports"] = list({(one.evidence, one.line): one for one in reversed(groups["imports"])}.values())[::-1]
    return groups


def key(one: GraphNeighbour) -> tuple[str, str]:
    """Return path and qualified name, as results are known by."""
    return one.path, one.qualified_name


def all_of(groups: Groups) -> list[GraphNeighbour]:
    """Return the neighbours of all groups."""
    return [one for group in groups.values() for one in group]
