"""Comparison of the edges of a graph with the ground truth."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from .exported_graph import BASE_RELATIONS, CALL_RELATIONS, DeclarationKey, ExportedEdge, ExportedGraph
from .ground_truth import SEPARATE_CALL_KINDS, CallSite, CallTarget, ClassBases, DeclarationSite
from .proportions import Proportion

_CALL_METHODS = frozenset({"__call__"})

EdgeJudgment = Literal["right", "wrong", "undecided"]

_TEST_PATH = re.compile(
    r"(^|/)(tests?|testing|__tests__|spec)/|(^|/)(test_[^/]*|conftest|[^/]*_test|[^/]*\.(test|spec))\.\w+$|Test\.java$"
)


@dataclass(frozen=True, slots=True)
class RecalledCall:
    """A known call and its presence in the graph.

    Args:
        site: The call.
        target: Its target.
        is_in_graph: Whether the graph has the target's declaration.
        is_found: Whether the graph has the edge.
        is_override_found: Whether it has that edge, or one to a method that the target overrides.
    """

    site: CallSite
    target: CallTarget
    is_in_graph: bool
    is_found: bool
    is_override_found: bool

    @property
    def is_separate(self) -> bool:
        """True if the call is counted separately."""
        return self.target.kind in SEPARATE_CALL_KINDS

    @property
    def is_in_tests(self) -> bool:
        """True if the caller is a test, by its path."""
        return _TEST_PATH.search(self.site.path) is not None


def find_recalled_calls(graph: ExportedGraph, sites: Iterable[CallSite]) -> list[RecalledCall]:
    """Search each known call among the edges of the same file and line, whatever declaration encloses it."""
    target_keys: dict[tuple[str, int], set[DeclarationKey]] = defaultdict(set)
    for edge in graph.edges:
        if edge.relation in CALL_RELATIONS:
            target_keys[edge.path, edge.line].add(edge.target.key)
    rows = []
    for site in sites:
        line_keys = target_keys.get((site.path, site.line), set())
        for target in site.targets:
            reached_keys = graph.find_keys((target.place, *target.also))
            is_found = not line_keys.isdisjoint(reached_keys)
            is_override_found = is_found or not line_keys.isdisjoint(graph.find_keys(target.overridden))
            rows.append(RecalledCall(site, target, bool(reached_keys), is_found, is_override_found))
    return rows


def judge_edge(
    edge: ExportedEdge, sites: Mapping[tuple[str, int], Sequence[CallSite]], graph: ExportedGraph
) -> EdgeJudgment:
    """Judge an edge as right, wrong or undecided.

    Right: a call on its line reaches its target, or an override of the target. Wrong: the line has no call, or the tools know
    the targets of its calls of that name (of all its calls if none has the name), and the edge's target is not among them.
    Undecided: the tools do not know the targets.

    Args:
        edge: An edge of `calls` or `instantiates`.
        sites: All calls by file and line, once for each tool.
        graph: The graph of the edge.
    """
    line_sites = sites.get((edge.path, edge.line), ())
    right_places = {
        place
        for site in line_sites
        for target in site.targets
        for place in (target.place, *target.also, *target.overridden)
    }
    if edge.target.key in graph.find_keys(right_places):
        return "right"
    names = {edge.target.name, edge.target.key.qualified_name.rpartition(".")[2]}
    named_sites = [site for site in line_sites if site.name in names] or line_sites
    can_be_held = edge.target.name not in _CALL_METHODS  # calls of a variable's value reach its `__call__`
    is_decided = not named_sites or any(
        site.targets or site.outside or (site.held and can_be_held) for site in named_sites
    )
    return "wrong" if is_decided else "undecided"


def measure_bases(graph: ExportedGraph, hierarchy: Iterable[ClassBases]) -> tuple[Proportion, Proportion]:
    """Return precision and recall of the edges from the known classes to their direct bases in the repository."""
    known_bases = {
        key: graph.find_keys(row.bases) for row in hierarchy if (key := graph.find_key(row.declaration)) is not None
    }
    stated_pairs = {
        (edge.source.key, edge.target.key) for edge in graph.edges if edge.relation in BASE_RELATIONS and edge.source
    }
    stated_pairs = {pair for pair in stated_pairs if pair[0] in known_bases}
    true_pairs = {(source, base) for source, bases in known_bases.items() for base in bases}
    return Proportion(len(stated_pairs & true_pairs), len(stated_pairs)), Proportion(
        len(stated_pairs & true_pairs), len(true_pairs)
    )


def sample_edges(edges: Iterable[ExportedEdge], size: int, seed: int) -> list[ExportedEdge]:
    """Return a random sample of the calls, each edge once; `size` 0 means all.

    The order is that of a hash of each edge, so that samples of two versions of a graph overlap.
    """
    calls = {(edge.path, edge.line, edge.target.key): edge for edge in edges if edge.relation in CALL_RELATIONS}
    sampled_keys = sorted(calls, key=lambda key: hashlib.sha256(f"{seed}:{key}".encode()).digest())
    return [calls[key] for key in sampled_keys[: size or None]]


def group_by_line(sites: Iterable[CallSite]) -> dict[tuple[str, int], list[CallSite]]:
    """Return call sites by file and line."""
    rows: dict[tuple[str, int], list[CallSite]] = defaultdict(list)
    for site in sites:
        rows[site.path, site.line].append(site)
    return rows


def format_place(place: DeclarationSite) -> str:
    """Return a place in the notation of editors."""
    return f"{place.path}:{place.line} {place.name}"
