"""Flow that a question asks for: the declarations on the way, and the lines that show how one leads to the next."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log2
from types import MappingProxyType
from typing import Final

from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.evidence.declared import CALLABLE, MAX_UNSURE_CONFIDENCE, Declared
from coderag.answering.evidence.flow_graph import FlowGraph, Hop, HopKind
from coderag.answering.evidence.flow_relevance import FlowRelevance
from coderag.answering.evidence.flow_search import FlowSearch, FlowWeights
from coderag.answering.evidence.index_reader import IndexReader
from coderag.answering.evidence.question_ends import Ends, get_ends
from coderag.retrieval.query_context import QueryContext
from coderag.schema.query import QueryState
from coderag.schema.records import to_relations
from coderag.text.code_fences import format_code_span
from coderag.text.mermaid import escape_label

_MAX_LABEL_CHARS: Final = 60
_MAX_CODE_CHARS: Final = 100
_MAX_SEEDS: Final = 24
_MAX_NODES: Final = 200
_DEPTH_OUT, _DEPTH_IN = 2, 1
_MAX_TERMINALS: Final = 24  # declarations that are worth a hop, by relevance
_NAME_KINDS: Final = frozenset({"identifier", "qualified_name"})
_HOP_COST: Final = 0.14
_NAME_BONUS: Final = 0.1  # of a declaration whose name has a word of the question
_HUB_COST: Final = 0.03  # for each doubling of the callers
_MAX_DOUBLINGS: Final = 4.0

_VERBS: Final[Mapping[HopKind, str]] = MappingProxyType(
    {
        "calls": "calls", "dispatches": "may call", "passes": "passes on", "lists": "lists",
        "contains": "contains", "uses": "uses", "shares": "shares a field with",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FlowStep:
    """Step of a flow, shown by `line`, between two declarations, given by position.

    Attributes:
        via: Name of the field that both use, for steps that share one.
    """

    source: int
    target: int
    line: CitedLines
    is_certain: bool
    kind: HopKind = "calls"
    via: str = ""

    @property
    def verb(self) -> str:
        """Verb for the way from the source to the target."""
        verb = f"shares `{self.via}` with" if self.via else _VERBS[self.kind]
        return verb if self.is_certain or verb != "calls" else "may call"


@dataclass(frozen=True, slots=True)
class Flow:
    """Steps in the order of the code.

    Attributes:
        declarations: Sources and targets; the first is the start.
        starts: Positions where the flow begins, and begins again: no known step leads there.
        ends: Start and end that the question gives, if any.
        is_between_names: Whether both are names of declarations.
    """

    declarations: Sequence[Declared]
    steps: Sequence[FlowStep]
    starts: Sequence[int] = (0,)
    ends: Ends | None = None
    is_between_names: bool = False


def draw_mermaid(context: QueryContext, state: QueryState) -> str:
    """Draw the question's flow in Mermaid, without a fence; empty if none is known."""
    index = IndexReader(context)
    flow = find_flow(index, state, FlowRelevance(context, index, state))
    return "" if flow is None else format_mermaid(flow)


def find_flow(index: IndexReader, state: QueryState, relevance: FlowRelevance) -> Flow | None:
    """Find the flow that a question asks for: a tree of hops between what it found, and a second where none joins them."""
    ends = get_ends(state["analysis"])
    named = _find_named(index, state, ends) if ends else []
    between = _list_nodes_between(index, state, ends, named) if ends and named else []
    seeds = list(dict.fromkeys([*between, *relevance.candidates]))[:_MAX_SEEDS]
    if not seeds:
        return None
    graph = FlowGraph(index, seeds, depth_out=_DEPTH_OUT, depth_in=_DEPTH_IN, limit=_MAX_NODES)
    weights = _weigh(index, relevance, graph, seeds)
    path: Sequence[Hop] = ()
    if named:
        path = _find_path(relevance, graph, weights, *named) or _find_path(relevance, graph, weights, *named[::-1])
    elif ends:
        path = _find_path(relevance, graph, weights, *(relevance.find_ends(phrase) for phrase in ends))
    roots, hops = FlowSearch(graph.hops, weights).find_trees(path)
    return replace(_build_flow(index, roots, hops), ends=ends, is_between_names=bool(named))


def _find_named(index: IndexReader, state: QueryState, ends: Ends) -> list[list[int]]:
    """Find the functions of both ends if the question gives their names; else an empty list.

    Plain words, such as "handler", count as names only where known calls connect them.
    """
    named = [
        [declared.node for declared in index.find_declarations(name) if declared.kind in CALLABLE] for name in ends
    ]
    written = {entity["text"] for entity in state["analysis"]["entities"] if entity["kind"] in _NAME_KINDS}
    if not all(named):
        return []
    return named if written.issuperset(ends) or index.graph.path(ends.first, ends.last) else []


def _list_nodes_between(index: IndexReader, state: QueryState, ends: Ends, named: Sequence[Sequence[int]]) -> list[int]:
    """List the declarations on the known calls between two named ends, in either direction, with the ends."""
    looked_up = [query.neighbours for query in to_relations(state["relations"]) if (query.subject, query.end) == ends]
    path = looked_up[0] if looked_up else index.graph.path(ends.first, ends.last)
    neighbours = path or index.graph.path(ends.last, ends.first)
    between = [declared.node for step in neighbours if (declared := index.find_neighbour_declaration(step))]
    return [*(node for side in named for node in side), *between]


def _find_path(
    relevance: FlowRelevance, graph: FlowGraph, weights: FlowWeights, starts: Sequence[int], finishes: Sequence[int]
) -> Sequence[Hop]:
    """Find the way between two ends, rather by names that have words of the question; by likely calls if no other does."""
    costs = {node: cost - _NAME_BONUS * relevance.is_named(node) for node, cost in weights.costs.items()}
    weights = weights._replace(costs=costs)
    starts = [node for node in starts if node in graph.hops]
    if not starts:
        return ()
    if path := FlowSearch(graph.hops, weights).find_path(starts, finishes):
        return path
    graph.join_namesakes(relevance.candidates)
    return FlowSearch(graph.hops, weights).find_path(starts, finishes)


def _weigh(index: IndexReader, relevance: FlowRelevance, graph: FlowGraph, seeds: Sequence[int]) -> FlowWeights:
    """Weigh the declarations of a graph: by relevance above that of the least relevant terminal, and by their callers."""
    symbols = index.symbols
    nodes = sorted({*seeds, *graph.hops, *(target for hops in graph.hops.values() for target in hops)})
    callers = Counter(symbols.targets[symbols.find_edge_positions(nodes, "in", ("calls",))].tolist())
    values = relevance.compute([node for node in nodes if symbols.kinds[node] in CALLABLE])
    terminals = sorted(values, key=lambda node: -values[node])[:_MAX_TERMINALS]
    least = values[terminals[-1]] if len(values) > _MAX_TERMINALS else 0.0  # of few, all are worth a hop
    span = max(values[terminals[0]] - least, 1e-6)
    prizes = {node: (values[node] - least) / span for node in terminals}
    costs = {node: _HOP_COST + _HUB_COST * min(log2(1 + callers[node]), _MAX_DOUBLINGS) for node in nodes}
    return FlowWeights(prizes, costs, _HOP_COST, terminals)


def format_mermaid(flow: Flow) -> str:
    """Format a flow chart in Mermaid; a dashed arrow is no certain call."""
    lines = ["flowchart TD"]
    for number, declaration in enumerate(flow.declarations):
        location = f"{declaration.path.rpartition('/')[2]}:{declaration.start_line}"
        name, place = (escape_label(text, _MAX_LABEL_CHARS) for text in (declaration.name, location))
        lines.append(f'    n{number}["{name}<br/>{place}"]')
    for number, step in enumerate(flow.steps, 1):
        arrow = "-->" if step.is_certain and step.kind == "calls" else "-.->"
        lines.append(f'    n{step.source} {arrow}|"{number}: line {step.line.start_line}"| n{step.target}')
    return "\n".join(lines)


def format_steps(flow: Flow) -> list[str]:
    """Format the steps of a flow in their order, one line each."""
    lines = []
    for number, step in enumerate(flow.steps, 1):
        source, target = flow.declarations[step.source], flow.declarations[step.target]
        place = f"{step.line.path}:{step.line.start_line}"
        code = format_code_span(" ".join(step.line.text.split())[:_MAX_CODE_CHARS])
        lines.append(
            f"{number}. `{source.name}` {step.verb} `{target.name}` ({target.path}:{target.start_line}) at {place}: {code}"
        )
    return lines


def _build_flow(index: IndexReader, roots: Sequence[int], hops: Sequence[Hop]) -> Flow:
    """Build a flow of its trees, those first that lead to most."""
    nodes: dict[int, int] = {}
    steps: list[FlowStep] = []
    starts = list[int]()
    ordered = {root: list(_order_hops(root, hops)) for root in roots}
    for root in sorted(roots, key=lambda root: -len(ordered[root])):
        starts.append(nodes.setdefault(root, len(nodes)))
        for hop in ordered[root]:
            line = index.read_line(index.symbols.paths[hop.source if hop.origin < 0 else hop.origin], hop.line)
            nodes.setdefault(hop.target, len(nodes))
            if line:
                is_certain = hop.confidence > MAX_UNSURE_CONFIDENCE
                via = index.symbols.names[hop.via].as_py() if hop.via >= 0 else ""
                steps.append(FlowStep(nodes[hop.source], nodes[hop.target], line, is_certain, hop.kind, via))
    return Flow([index.get_declaration(node) for node in nodes], steps, starts)


def _order_hops(root: int, hops: Sequence[Hop]) -> Iterable[Hop]:
    """Order hops as the code does: of each declaration by their lines, each followed by what it leads to."""
    after: dict[int, list[Hop]] = {}
    for hop in sorted(hops, key=lambda hop: -hop.line):
        after.setdefault(hop.source, []).append(hop)
    waiting = after.get(root, [])
    while waiting:
        hop = waiting.pop()
        yield hop
        waiting += after.get(hop.target, ())
