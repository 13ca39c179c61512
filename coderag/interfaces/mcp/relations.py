"""What the code graph says of a name, as parts of a reply."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, get_args

from coderag.interfaces.mcp.cleaning import Cleaner, span
from coderag.interfaces.mcp.places import neighbour_part
from coderag.interfaces.mcp.replies import Part
from coderag.schema.chunks import location_of
from coderag.schema.graph import GraphNeighbour
from coderag.schema.graph_queries import GraphQuery, query_graph
from coderag.schema.vocabulary import Kind

if TYPE_CHECKING:
    from coderag.app import CodeRAG
    from coderag.codegraph.graph import CodeGraph
    from coderag.schema.graph import GraphDeclaration

_FILE: Final = "file"
_DECLARED: Final[frozenset[str]] = frozenset(get_args(Kind))


@dataclass(slots=True)
class Related:
    """Neighbours of a name.

    Attributes:
        counts: How many there are, by relation.
        notes: What else there is to know.
    """

    parts: list[Part] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def related_to(
    graph: "CodeGraph",
    name: str,
    relations: Iterable[GraphQuery],
    cleaner: Cleaner,
    *,
    depth: int = 1,
    limit: int,
    more: str,
) -> Related:
    """Return what is related to a name.

    Args:
        graph: The code graph.
        name: Of a declaration or file.
        relations: What is asked of it.
        cleaner: Of the repository.
        depth: Steps to follow.
        limit: Neighbours of a relation, at most.
        more: What to call for those beyond the limit.

    Raises:
        UnknownNameError: Nothing has the name.
        AmbiguousNameError: Several declarations have it.
    """
    told, empty, left_out = Related(), list[str](), list[str]()
    for relation in relations:
        found = query_graph(graph, relation, name, depth)
        if not found and (unsure := query_graph(graph, relation, name, depth, candidates=True)):
            found = unsure
            told.notes.append(f"{relation}: none is resolved; these are candidates by name, with their confidence.")
        told.counts[relation] = len(found)
        told.parts += [neighbour_part(one, relation, cleaner) for one in _inside_first(found)[:limit]]
        if len(found) > limit:
            left_out.append(_more(len(found) - limit, relation))
        if not found:
            empty.append(relation)
    if left_out:
        told.notes.append(f"Left out: {', '.join(left_out)}. Next: {more}.")
    if empty:
        told.notes.append(f"None known: {', '.join(empty)}.")
    return told


def counted(counts: Mapping[str, int]) -> str:
    """Return how many neighbours there are of each relation, in words; those without any are left to the notes."""
    return ", ".join(_number(count, relation) for relation, count in counts.items() if count)


def _number(count: int, relation: str) -> str:
    if relation == "impact":
        return f"impact on {count}"
    return f"{count} {_singular(relation) if count == 1 else relation}"


def _more(count: int, relation: str) -> str:
    return f"{count} more of impact" if relation == "impact" else _number(count, f"more {relation}")


def _singular(relation: str) -> str:
    return relation.removesuffix("es") if relation.endswith("sses") else relation.removesuffix("s")


def _inside_first(found: Sequence[GraphNeighbour]) -> list[GraphNeighbour]:
    """Return neighbours with those outside the repository last."""
    return sorted(found, key=lambda one: not one.path)


def declarations_of(graph: "CodeGraph", name: str) -> "list[GraphDeclaration]":
    """Return what a name means: one declaration, or its overloads; or a file. Raises as `related_to`."""
    nodes = graph.symbol_resolver.resolve(name, _DECLARED, {_FILE})
    return [graph.symbol_resolver.to_declaration(node) for node in nodes]


def definition_parts(
    engine: "CodeRAG", declared: "Sequence[GraphDeclaration]", cleaner: Cleaner, budget: int
) -> list[Part]:
    """Return the code of declarations, elided where it is longer than a budget of tokens."""
    known = [one for one in declared if one.path and one.kind != _FILE]
    if not known:
        return []
    places = [location_of(one.path, one.start_line, one.end_line) for one in known]
    names = {(one.path, one.start_line): (one.qualified_name, one.kind) for one in known}
    parts = []
    for section in engine.read(places, token_budget=budget).sections:
        for item in section.items:
            # A chunk of several small declarations is called like the first of them.
            name, kind = names.get((item.path, item.start_line), (item.name, item.kind))
            data: dict[str, Any] = {
                "path": item.path,
                "start_line": item.start_line,
                "end_line": item.end_line,
                "name": cleaner.line(name),
                "kind": kind,
            }
            if item.detail != "full":
                data["detail"] = item.detail
            place = location_of(item.path, item.start_line, item.end_line)
            text = f"{cleaner.line(place)} {kind} {span(data['name'])}"
            parts.append(Part(text, data, cleaner.code(item.text), item.language, "definitions", "definition"))
    return parts
