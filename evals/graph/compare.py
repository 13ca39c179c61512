"""Hold the edges of a graph against what a tool says."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from .exported import BASES, CALLS, Edge, ExportedGraph, Key
from .shares import Share
from .truth import APART, Hierarchy, Place, Site, Target

_CALLED_OBJECTS = frozenset({"__call__"})

Verdict = Literal["right", "wrong", "undecided"]

_TESTS = re.compile(
    r"(^|/)(tests?|testing|__tests__|spec)/|(^|/)(test_[^/]*|conftest|[^/]*_test|[^/]*\.(test|spec))\.\w+$|Test\.java$"
)


@dataclass(frozen=True, slots=True)
class Recalled:
    """One known call and whether the graph has it.

    Args:
        site: The call.
        target: What it reaches.
        in_graph: Whether the graph has that declaration.
        found: Whether it has the edge.
        found_overridden: Whether it has that edge, or one to a method that the target overrides.
    """

    site: Site
    target: Target
    in_graph: bool
    found: bool
    found_overridden: bool

    @property
    def apart(self) -> bool:
        """Whether it is counted apart."""
        return self.target.kind in APART

    @property
    def in_tests(self) -> bool:
        """Whether the caller is a test, by its path."""
        return _TESTS.search(self.site.path) is not None


def recall_calls(graph: ExportedGraph, sites: Iterable[Site]) -> list[Recalled]:
    """Look for each known call among the edges of the same file and line, whatever declaration encloses it."""
    edges: dict[tuple[str, int], set[Key]] = defaultdict(set)
    for edge in graph.edges:
        if edge.relation in CALLS:
            edges[edge.path, edge.line].add(edge.target.key)
    rows = []
    for site in sites:
        bound = edges.get((site.path, site.line), set())
        for target in site.targets:
            reached = graph.keys((target.place, *target.also))
            found = not bound.isdisjoint(reached)
            overridden = found or not bound.isdisjoint(graph.keys(target.overridden))
            rows.append(Recalled(site, target, bool(reached), found, overridden))
    return rows


def judge(edge: Edge, sites: Mapping[tuple[str, int], Sequence[Site]], graph: ExportedGraph) -> Verdict:
    """Tell whether an edge is right.

    Right: a call on its line reaches its target, or something that overrides it. Wrong: the tools know what the calls of that
    name there reach (without one, any call there), and it is something else, or no call stands there. Undecided: they do not.

    Args:
        edge: One of `calls` or `instantiates`.
        sites: All calls on that line, by file and line, once for each tool.
        graph: To which the edge belongs.
    """
    there = sites.get((edge.path, edge.line), ())
    places = {place for site in there for each in site.targets for place in (each.place, *each.also, *each.overridden)}
    if edge.target.key in graph.keys(places):
        return "right"
    names = {edge.target.name, edge.target.key.qualified_name.rpartition(".")[2]}
    meant = [site for site in there if site.name in names] or there
    held = edge.target.name not in _CALLED_OBJECTS  # the method that a variable's value has for being called
    known = not meant or any(site.targets or site.outside or (site.held and held) for site in meant)
    return "wrong" if known else "undecided"


def judge_bases(graph: ExportedGraph, hierarchy: Iterable[Hierarchy]) -> tuple[Share, Share]:
    """Return precision and recall of the edges from the known classes to their direct bases in the repository."""
    known = {key: graph.keys(row.bases) for row in hierarchy if (key := graph.find(row.declaration)) is not None}
    stated = {(edge.source.key, edge.target.key) for edge in graph.edges if edge.relation in BASES and edge.source}
    stated = {pair for pair in stated if pair[0] in known}
    true = {(source, base) for source, bases in known.items() for base in bases}
    return Share(len(stated & true), len(stated)), Share(len(stated & true), len(true))


def sample(edges: Iterable[Edge], size: int, seed: int) -> list[Edge]:
    """Return a random sample of the calls, each edge once; `size` 0 means all.

    The order is that of a hash of each edge, so a sample of a changed graph shares what both graphs have.
    """
    calls = {(edge.path, edge.line, edge.target.key): edge for edge in edges if edge.relation in CALLS}
    drawn = sorted(calls, key=lambda key: hashlib.sha256(f"{seed}:{key}".encode()).digest())
    return [calls[key] for key in drawn[: size or None]]


def by_line(sites: Iterable[Site]) -> dict[tuple[str, int], list[Site]]:
    """Return sites by file and line."""
    rows: dict[tuple[str, int], list[Site]] = defaultdict(list)
    for site in sites:
        rows[site.path, site.line].append(site)
    return rows


def describe(place: Place) -> str:
    """Return a place as editors understand it."""
    return f"{place.path}:{place.line} {place.name}"
