"""Relations of what a question is about, from the query state or the code graph, grouped for a reader."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

from coderag.answering.evidence.declared import FILE, MAX_UNSURE_CONFIDENCE, TYPES, Declared
from coderag.answering.evidence.index_reader import IndexReader
from coderag.codegraph.relation_queries import find_relations, find_users, select_neighbours
from coderag.schema.graph import GraphNeighbour
from coderag.schema.graph_queries import GraphQuery
from coderag.schema.query import QueryState
from coderag.schema.records import to_relations
from coderag.schema.vocabulary import MIN_RESOLVED_CONFIDENCE, GraphRelation
from coderag.text.tokenizer import tokenize_text

RelationGroup = Literal[
    "called", "derived", "overridden", "referenced", "imported", "tested", "calls", "refers", "imports", "bases",
    "overrides", "further",
]  # fmt: skip
"""Group of related declarations; ``further``: what reaches the subject in several steps."""

Groups = dict[RelationGroup, list[GraphNeighbour]]

USERS: Final[Sequence[RelationGroup]] = ("called", "derived", "overridden", "referenced", "imported")
"""Groups of what uses a declaration in source code, by the directness of the use."""

_GROUPS: Final[Mapping[GraphRelation, RelationGroup]] = MappingProxyType(
    {
        "caller": "called", "callee": "calls", "imports": "imports", "imported_by": "imported", "base": "bases",
        "interface_of": "bases", "derived": "derived", "implementation": "derived", "override": "overridden",
        "overridden": "overrides", "user": "referenced", "used": "refers", "test_for": "tested", "tested": "calls",
    }
)  # fmt: skip
GROUP_QUERIES: Final[Mapping[RelationGroup, GraphQuery]] = MappingProxyType(
    {
        "called": "callers", "derived": "subclasses", "overridden": "overrides", "referenced": "references",
        "imported": "importers", "tested": "tests", "calls": "callees", "refers": "callees", "imports": "imports",
        "bases": "bases", "overrides": "overridden", "further": "impact",
    }
)  # fmt: skip
"""Query to the code graph that lists all of a group."""

_ORDER: Final[Sequence[RelationGroup]] = (
    *USERS,
    "tested",
    "calls",
    "refers",
    "imports",
    "bases",
    "overrides",
    "further",
)
_INWARD: Final = frozenset({*USERS, "tested", "further"})
_HIERARCHY: Final = frozenset({"derived", "bases"})
_MAX_NAMESAKES: Final = 6  # of one name whose relations are tried
_MAX_RESULTS: Final = 3  # whose relations are tried where a question names nothing
_DISPATCHED: Final = frozenset({"caller", "callee", "test_for", "tested"})
_ASKABLE_KINDS: Final = frozenset({"find_usage", "impact", "hierarchy", "find_tests"})


@dataclass(frozen=True, slots=True)
class RelatedDeclarations:
    """Declarations related to the subject of a question.

    Attributes:
        name: The subject as the question puts it, or as it is declared.
        declared: Its declaration, the likeliest of several; None if it is not in the repository.
        namesakes: Other declarations of the name.
        groups: Resolved neighbours by relation; none is empty.
        unresolved: Neighbours that nothing ties to the subject but its name.
        is_assumed: Whether the question does not name the subject: a result is taken, which a misspelt name is close to.
    """

    name: str
    declared: Declared | None = None
    namesakes: Sequence[Declared] = ()
    groups: Groups = field(default_factory=dict)
    unresolved: Sequence[GraphNeighbour] = ()
    is_assumed: bool = False


def find_related(
    reader: IndexReader, state: QueryState, names: Sequence[str], results: Sequence[Declared]
) -> RelatedDeclarations | None:
    """Find what is related to the subject of a question, as it asks.

    Args:
        reader: The open index.
        state: With the analysis and the relations that were looked up.
        names: Names that the question mentions.
        results: Declarations that it found, best first: the subject of a question that names none.

    Returns:
        The first subject with relations, else the first that is known; None if there is none.
    """
    known: RelatedDeclarations | None = None
    subjects = state["analysis"]["reading"]["subjects"]
    for name in [name for name in names if name in subjects] or names:
        related = _find_of_name(reader, state, name)
        if related and related.groups:
            return related
        known = known or related
    if known or state["analysis"]["reading"]["kind"] not in _ASKABLE_KINDS:
        return known
    kind = state["analysis"]["reading"]["kind"]
    candidates = (_add_types(reader, results) if kind == "hierarchy" else results)[:_MAX_RESULTS]
    if kind == "find_tests" and any(declared.role == "test" for declared in candidates):
        return None  # the tests of a behaviour are results themselves
    close = {other for name in names for other in reader.corpus.symbols.suggest_names(name, _MAX_NAMESAKES)}
    for declared in candidates:
        is_close = not names or bool(close.intersection((declared.name, declared.name.rpartition(".")[2])))
        if declared.role == "test" or not is_close:
            continue
        groups, _ = _group_asked(state, list_neighbours(reader, state, declared.key))
        if groups:
            return RelatedDeclarations(declared.name, declared, (), groups, is_assumed=True)
    return None


def list_neighbours(reader: IndexReader, state: QueryState, name: str) -> Sequence[GraphNeighbour]:
    """List the neighbours of a name that a question asks for: those in the state, else those of the code graph."""
    known = [query for query in to_relations(state["relations"]) if query.subject == name and not query.end]
    if known:
        return [neighbour for query in known for neighbour in query.neighbours]
    queries = find_relations(reader.graph, state["analysis"]["reading"], [name])
    return reader.filter_neighbours([neighbour for query in queries for neighbour in query.neighbours])


def find_user_groups(reader: IndexReader, declared: Declared) -> Groups:
    """Find what uses a declaration; none of the groups is empty."""
    return _group(reader.filter_neighbours(_drop_unsure_files(find_users(reader.graph, declared.key))))


def get_key(neighbour: GraphNeighbour) -> tuple[str, str]:
    """Return path and qualified name, as results are known by."""
    return neighbour.path, neighbour.qualified_name


def is_sure(neighbour: GraphNeighbour) -> bool:
    """Return whether a relation is certain: a dispatched call may run another method of the name."""
    return neighbour.confidence > MAX_UNSURE_CONFIDENCE or neighbour.relation not in _DISPATCHED


def _find_of_declaration(
    reader: IndexReader, state: QueryState, name: str, declared: Declared | None
) -> tuple[Groups, Sequence[GraphNeighbour]]:
    """Find what is related to a name as a question asks; what uses it if it can have no subtypes and overrides."""
    groups, unresolved = _group_asked(state, list_neighbours(reader, state, name))
    if not groups and declared and state["analysis"]["reading"]["kind"] == "hierarchy":
        groups = find_user_groups(reader, declared)
    return groups, unresolved


def _find_of_name(reader: IndexReader, state: QueryState, name: str) -> RelatedDeclarations | None:
    declarations = _rank_namesakes(reader, state, name)
    if len(declarations) <= 1:
        declared = declarations[0] if declarations else None
        groups, unresolved = _find_of_declaration(reader, state, name, declared)
        return RelatedDeclarations(name, declared, (), groups, unresolved) if groups or unresolved or declared else None
    candidates = [(declared, *_find_of_declaration(reader, state, declared.key, declared)) for declared in declarations]
    declared, groups, unresolved = next((candidate for candidate in candidates if candidate[1]), candidates[0])
    namesakes = [other for other in declarations if other.node != declared.node]
    return RelatedDeclarations(name, declared, namesakes, groups, unresolved)


def _rank_namesakes(reader: IndexReader, state: QueryState, name: str) -> list[Declared]:
    """Rank the declarations of a name: those with more of the question's words in their names and paths first."""
    terms = set(state["analysis"]["terms"])
    declarations = reader.find_declarations(name)
    if state["analysis"]["reading"]["kind"] == "hierarchy":  # "Default" is no method ``default``
        last = name.rpartition(".")[2]
        declarations = [
            declared for declared in declarations if declared.kind in TYPES or declared.name.rpartition(".")[2] == last
        ]

    def order(declared: Declared) -> tuple[int, bool]:
        shared = terms.intersection(tokenize_text(f"{declared.path} {declared.name}"))
        return -len(shared), declared.role != "source"

    return sorted(declarations[:_MAX_NAMESAKES], key=order)


def _add_types(reader: IndexReader, results: Sequence[Declared]) -> list[Declared]:
    """Return declarations, each with the type around it."""
    around = [
        declared
        for result in results
        for declared in (result, *reader.find_declarations(f"{result.path}::{result.name.rpartition('.')[0]}"))
        if declared.kind in TYPES or declared.node == result.node
    ]
    return list({declared.node: declared for declared in reversed(around)}.values())[::-1]


def _group_asked(state: QueryState, neighbours: Sequence[GraphNeighbour]) -> tuple[Groups, Sequence[GraphNeighbour]]:
    """Group the neighbours that a question asks for; return the unresolved ones apart."""
    reading = state["analysis"]["reading"]
    resolved = [neighbour for neighbour in neighbours if neighbour.confidence >= MIN_RESOLVED_CONFIDENCE]
    unresolved = [neighbour for neighbour in neighbours if neighbour.confidence < MIN_RESOLVED_CONFIDENCE]
    if reading["kind"] == "find_tests" and reading["direction"] != "out":
        return ({"tested": resolved} if resolved else {}), unresolved
    if reading["kind"] == "hierarchy":
        return _group(select_neighbours(reading, resolved) or resolved, tests_apart=False), unresolved
    if reading["relation"] != "imports":
        resolved = _drop_unsure_files(resolved)
    groups = _group(resolved)
    if reading["relation"] != "imports":
        groups.pop("imports", None)
    return groups, unresolved


def _drop_unsure_files(neighbours: Sequence[GraphNeighbour]) -> list[GraphNeighbour]:
    """Return the neighbours without files that may import something else of the same file."""
    return [
        neighbour
        for neighbour in neighbours
        if neighbour.relation != "imported_by" or neighbour.confidence > MAX_UNSURE_CONFIDENCE
    ]


def _group(neighbours: Sequence[GraphNeighbour], *, tests_apart: bool = True) -> Groups:
    groups: Groups = {group: [] for group in _ORDER}
    seen: set[tuple[str, str, str]] = set()
    for neighbour in neighbours:
        group = _GROUPS.get(neighbour.relation)
        if group is None:
            continue
        if tests_apart and neighbour.role == "test" and group in _INWARD:
            group = "tested"
        elif neighbour.depth > 1 and group not in _HIERARCHY:
            group = "further"
        if (group, *get_key(neighbour)) not in seen:
            seen.add((group, *get_key(neighbour)))
            groups[group].append(neighbour)
    _drop_repeated(groups)
    return {group: members for group, members in groups.items() if members}


def _drop_repeated(groups: Groups) -> None:
    """Drop what another group has: a file beside its declarations, an import beside its use, a base as a reference."""
    listed = {get_key(neighbour) for group in ("called", "derived", "overridden") for neighbour in groups[group]}
    _keep(groups, "referenced", lambda neighbour: get_key(neighbour) not in listed)
    tested = {neighbour.path for neighbour in groups["tested"] if neighbour.kind != FILE}
    _keep(groups, "tested", lambda neighbour: neighbour.kind != FILE or neighbour.path not in tested)
    users = {neighbour.path for group in ("called", "referenced", "derived", "tested") for neighbour in groups[group]}
    _keep(groups, "imported", lambda neighbour: neighbour.path not in users)
    by_line = {(neighbour.evidence, neighbour.line): neighbour for neighbour in reversed(groups["imports"])}
    groups["imports"] = list(by_line.values())[::-1]


def _keep(groups: Groups, group: RelationGroup, is_kept: Callable[[GraphNeighbour], bool]) -> None:
    groups[group] = [neighbour for neighbour in groups[group] if is_kept(neighbour)]
