"""What is related to a declaration in the code graph, sorted out for a reader: users, relatives, tests, what it uses itself."""

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from coderag.answering.evidence.index_reader import FILE, PERHAPS, TYPES, Declared, IndexReader
from coderag.answering.extractive.wording import counted
from coderag.schema.chunks import get_module_name
from coderag.schema.graph import GraphNeighbour
from coderag.schema.graph_queries import GraphQuery
from coderag.schema.query import QueryState
from coderag.schema.vocabulary import GraphRelation

_MOST_MEANT = 6  # declarations of one name that are told apart
_DEPTH = 3


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
    return _sorted_out(_users(index, [declared]))


def _users(index: IndexReader, declared: Sequence[Declared]) -> list[GraphNeighbour]:
    """Return what uses any of some declarations.

    A file that imports only the type around one, or something else of its file, does not use it.
    """
    found: list[GraphNeighbour] = []
    for one in declared:
        importers = () if "." in one.name and one.kind != FILE else index.graph.importers(one.key)
        derived = index.graph.subclasses(one.key) if one.kind in TYPES else ()
        users = index.graph.users(one.key)
        found += [*derived, *users, *(near for near in importers if near.confidence > PERHAPS)]
    return found


def _wanted(
    state: QueryState, kind: str, neighbours: Sequence[GraphNeighbour], looked_up: Collection[tuple[str, str]]
) -> list[GraphNeighbour]:
    """Return those of a group that belong to the answer: what the filters let through, imports only if they are asked for."""
    if any((state.get("filters") or {}).values()):
        return [
            one for one in neighbours if key(one) in looked_up or (one.path, get_module_name(one.path)) in looked_up
        ]
    is_asked = state["analysis"]["reading"]["relation"] == "imports"
    return [] if kind == "imports" and not is_asked else [*neighbours]


def groups_of(index: IndexReader, state: QueryState, name: str, looked_up: Collection[tuple[str, str]]) -> Groups:
    """Return the relations of a name that a question asks for, none of them empty.

    Args:
        index: The open index.
        state: With the analysis and the filters.
        name: Of a declaration, file or package.
        looked_up: Path and name of the results that the code graph named, which filters let through.
    """
    found = _asked(index, state, name)
    return {kind: kept for kind, group in found.items() if (kept := _wanted(state, kind, group, looked_up))}


def _asked(index: IndexReader, state: QueryState, name: str) -> Groups:
    graph, intent, reading = index.graph, state["analysis"]["intent"], state["analysis"]["reading"]
    if intent == "hierarchy":
        related = [*graph.subclasses(name, _DEPTH), *graph.bases(name, _DEPTH)]
        related = related or [*graph.overrides(name, _DEPTH), *graph.overridden(name, _DEPTH)]
        return _sorted_out(related, tests_apart=False)
    if intent == "find_tests":
        tests = [*graph.tests(name), *(one for one in graph.callers(name, _DEPTH) if one.role == "test")]
        return {"tested": list({key(one): one for one in reversed(tests)}.values())[::-1]}
    is_outward = reading["direction"] == "out"
    if reading["relation"] == "imports":
        return _sorted_out(graph.imports(name) if is_outward else graph.importers(name))
    if reading["kind"] == "impact":
        found = graph.impact(name, _DEPTH)
        only_members = all("." in one.name and one.kind != FILE for one in index.named(name))
        return _sorted_out([one for one in found if one.relation != "imported_by"] if only_members else found)
    if is_outward:
        return _sorted_out([*graph.uses(name), *graph.imports(name)])
    meant = index.named(name)
    few = 0 < len(meant) <= _MOST_MEANT
    importers = graph.importers(name) if not meant else ()  # of a package; what is declared here is asked one by one
    return _sorted_out(_users(index, meant) if few else [*graph.users(name), *importers])


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
