"""Call flow between two places, from the code graph."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from coderag.answering.evidence.call_reach import Reach, Steps
from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.evidence.index_reader import CALLABLE, PERHAPS, Call, Declared, IndexReader
from coderag.answering.evidence.question_ends import Ends, get_ends
from coderag.retrieval.query_context import QueryContext
from coderag.schema.graph import GraphNeighbour
from coderag.schema.query import QueryState
from coderag.schema.records import to_relations
from coderag.stores.snippets import Snippet
from coderag.text.code_fences import format_code_span
from coderag.text.mermaid import escape_label

_MAX_MEETING_DEPTH = 3  # calls from the common caller to either end
_MAX_LABEL_CHARS = 60
_MAX_CODE_CHARS = 100


@dataclass(frozen=True, slots=True)
class FlowStep:
    """Step of a flow: the call in `line` between two declarations, given by position."""

    source: int
    target: int
    line: CitedLines
    is_certain: bool


FlowKind = Literal["path", "back", "meeting", "calls"]


@dataclass(frozen=True, slots=True)
class Flow:
    """Calls in execution order, as far as the text shows it.

    Attributes:
        declarations: Callers and callees; the first is the start.
        ends: Start and end that the question names, if any.
        kind: ``path``: from one end to the other; ``back``: in the opposite direction; ``meeting``: something calls
            both; ``calls``: calls from a declaration.
    """

    declarations: Sequence[Declared]
    steps: Sequence[FlowStep]
    kind: FlowKind = "calls"
    ends: Ends | None = None


def draw_mermaid(context: QueryContext, state: QueryState, snippets: Sequence[Snippet]) -> str:
    """Draw the question's call flow in Mermaid, without a fence; empty if no calls are known.

    Args:
        context: Query context.
        state: State with the analysis.
        snippets: Evidence, best first.
    """
    flow = find_flow(IndexReader(context), state, snippets)
    return "" if flow is None else format_mermaid(flow)


def find_flow(index: IndexReader, state: QueryState, snippets: Sequence[Snippet]) -> Flow | None:
    """Find the calls between the question's two ends, else those of the best results."""
    ends = get_ends(state["analysis"])
    results = [snippet for snippet in snippets if snippet.relation is None]
    matched_ends = [index.meant(words, results, CALLABLE) for words in ends or ()]
    starts = [entry for entry in matched_ends if entry]
    are_distinct = ends is not None and len({entry.node for entry in starts}) == len(ends)
    if ends and are_distinct and (flow := _find_between(index, state, ends, *starts)):
        return flow
    names = [
        entry["text"] for entry in state["analysis"]["entities"] if entry["kind"] in ("identifier", "qualified_name")
    ]
    starts += [entry for name in names for entry in index.named(name)[:1] if entry.kind in CALLABLE]
    reach = Reach(index, state, snippets)
    steps = reach.first(starts) or reach.best()
    return _build_flow(steps, "calls", ends) if steps else None


def format_mermaid(flow: Flow) -> str:
    """Format a flow chart in Mermaid; a dashed arrow is a call that may be dispatched elsewhere."""
    lines = ["flowchart TD"]
    for number, declaration in enumerate(flow.declarations):
        location = f"{declaration.path.rpartition('/')[2]}:{declaration.start_line}"
        name, place = (escape_label(text, _MAX_LABEL_CHARS) for text in (declaration.name, location))
        lines.append(f'    n{number}["{name}<br/>{place}"]')
    for number, step in enumerate(flow.steps, 1):
        arrow = "-->" if step.is_certain else "-.->"
        lines.append(f'    n{step.source} {arrow}|"{number}: line {step.line.start_line}"| n{step.target}')
    return "\n".join(lines)


def format_steps(flow: Flow) -> list[str]:
    """Format the calls of a flow in their order, one line each."""
    lines = []
    for number, step in enumerate(flow.steps, 1):
        source, target = flow.declarations[step.source], flow.declarations[step.target]
        verb = "calls" if step.is_certain else "may call"
        place = f"{step.line.path}:{step.line.start_line}"
        code = format_code_span(" ".join(step.line.text.split())[:_MAX_CODE_CHARS])
        lines.append(
            f"{number}. `{source.name}` {verb} `{target.name}` ({target.path}:{target.start_line}) at {place}: {code}"
        )
    return lines


# From one end to the other


def _find_between(
    index: IndexReader, state: QueryState, flow_ends: Ends, first: Declared, last: Declared
) -> Flow | None:
    ends = (
        (first.key, last.key),
        (flow_ends.first, flow_ends.last),
    )  # the likeliest declaration of each name, then all
    known = _get_known_path(index, state, flow_ends)
    for graph_path in (index.graph.path(*pair) for pair in ends) if known is None else (known,):
        if steps := _to_steps(index, graph_path):
            return _build_flow(steps, "path", flow_ends)
    for start, end in ends:
        if steps := _to_steps(index, index.graph.path(end, start)):
            return _build_flow(steps, "back", flow_ends)
    return _find_meeting(index, flow_ends, first, last)


def _get_known_path(index: IndexReader, state: QueryState, ends: Ends) -> Sequence[GraphNeighbour] | None:
    """Return the path between the ends in the state; None if there is none, or if a name means several declarations."""
    is_unique = all(len(index.named(name)) == 1 for name in ends)
    paths = (query.neighbours for query in to_relations(state["relations"]) if (query.subject, query.end) == ends)
    return next(paths, None) if is_unique else None


def _to_steps(index: IndexReader, graph_path: Sequence[GraphNeighbour]) -> Steps:
    """Convert a graph path to calls, each starting where the previous one leads.

    Empty if a step is not a call, such as a type reference, or a line is not indexed.
    """
    if any(neighbour.relation != "callee" for neighbour in graph_path):
        return []
    steps: Steps = []
    for neighbour in graph_path:
        source, target = index.at(neighbour.evidence, neighbour.line), index.of_neighbour(neighbour)
        line = index.line(neighbour.evidence, neighbour.line)
        if source is None or target is None or line is None:
            return []
        calls = index.calls([source.node])
        if steps and source.node != (previous_call := steps[-1][0]).target.node:
            if source.node in index.acting(previous_call.target.node):  # a constructor, or a function inside
                source = previous_call.target
            else:  # an override of the callee
                steps[-1] = (
                    replace(previous_call, target=source, confidence=min(previous_call.confidence, PERHAPS)),
                    steps[-1][1],
                )
        matching_confidences = (
            call.confidence for call in calls if (call.target, call.line) == (target, neighbour.line)
        )
        steps.append(
            (
                Call(
                    source, target, neighbour.evidence, neighbour.line, next(matching_confidences, neighbour.confidence)
                ),
                line,
            )
        )
    return steps


def _find_meeting(index: IndexReader, flow_ends: Ends, first: Declared, last: Declared) -> Flow | None:
    """Find the nearest common caller and its calls to both ends."""
    callers = [{caller.node: steps for caller, steps in _find_callers(index, end).items()} for end in (first, last)]
    common = sorted(
        callers[0].keys() & callers[1].keys(), key=lambda node: (len(callers[0][node]) + len(callers[1][node]), node)
    )
    if not common:
        return None
    steps = [step for paths in callers for step in paths[common[0]]]
    located_calls = [(call, line) for call in steps if (line := index.line(call.path, call.line))]
    return _build_flow(located_calls, "meeting", flow_ends) if len(located_calls) == len(steps) else None


def _find_callers(index: IndexReader, end: Declared) -> dict[Declared, list[Call]]:
    """Find the callers of a declaration within a few calls, each with its calls."""
    paths: dict[Declared, list[Call]] = {}
    level: dict[int, list[Call]] = {node: [] for node in index.called(end)}
    seen = set(level)
    for _ in range(_MAX_MEETING_DEPTH):
        next_level: dict[int, list[Call]] = {}
        for call in index.calls(level, inwards=True):
            if call.source.node in seen or call.source.role == "test":
                continue
            seen.add(call.source.node)
            path = [call, *level[call.target.node]]
            paths[call.source] = path
            next_level |= dict.fromkeys(index.called(call.source), path)
        level = next_level
    return paths


def _build_flow(steps: Steps, kind: FlowKind, ends: Ends | None) -> Flow:
    """Build a flow; a repeated declaration is one box."""
    positions: dict[int, int] = {}
    declarations: list[Declared] = []
    for call, _ in steps:
        for declaration in (call.source, call.target):
            if positions.setdefault(declaration.node, len(declarations)) == len(declarations):
                declarations.append(declaration)
    flow_steps = [
        FlowStep(positions[call.source.node], positions[call.target.node], line, is_certain=call.confidence > PERHAPS)
        for call, line in steps
    ]
    return Flow(declarations, flow_steps, kind, ends)
