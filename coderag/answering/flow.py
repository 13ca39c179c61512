"""How code leads from one place to another: the calls that the code graph knows, drawn and told step by step."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from coderag.answering.draft import Lines
from coderag.answering.extractive.index import CALLABLE, PERHAPS, Call, Declared, Index
from coderag.answering.extractive.reach import Reach, Steps
from coderag.answering.shapes import Ends, flow_ends
from coderag.retrieval.query_context import QueryContext
from coderag.schema.graph import GraphNeighbour
from coderag.schema.query import QueryState
from coderag.stores.pieces import Piece
from coderag.text.mermaid import label

_MEETING_DEPTH = 3  # calls from what leads to both ends to either
_LONGEST_LABEL = 60


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a flow: the call in `line` leads from one declaration to another, both by position."""

    source: int
    target: int
    line: Lines
    sure: bool


Found = Literal["path", "back", "meeting", "calls"]


@dataclass(frozen=True, slots=True)
class Flow:
    """Calls in the order in which they are made, as far as the text tells.

    Attributes:
        declared: What is called and calls; the first is where it begins.
        asked: Where it begins and ends, as far as the question says so.
        found: ``path``: from one end to the other; ``back``: the calls lead the other way; ``meeting``: something calls
            both; ``calls``: what a declaration leads to.
    """

    declared: Sequence[Declared]
    steps: Sequence[Step]
    found: Found = "calls"
    asked: Ends | None = None


def mermaid(context: QueryContext, state: QueryState, pieces: Sequence[Piece]) -> str:
    """Return a Mermaid flow chart of the calls that the question is about, without a fence; empty if none are known.

    Args:
        context: Of the query.
        state: With the analysis.
        pieces: The evidence, best first.
    """
    flow = find_flow(Index(context), state, pieces)
    return "" if flow is None else draw(flow)


def find_flow(index: Index, state: QueryState, pieces: Sequence[Piece]) -> Flow | None:
    """Return the calls from one thing to another that the question names, else those that the best results make."""
    asked = flow_ends(state["query"])
    results = [piece for piece in pieces if piece.relation is None]
    ends = [index.meant(words, results, CALLABLE) for words in asked or ()]
    starts = [one for one in ends if one]
    apart = asked is not None and len({one.node for one in starts}) == len(asked)
    if asked and apart and (flow := _between(index, asked, *starts)):
        return flow
    names = [one["text"] for one in state["analysis"]["entities"] if one["kind"] in ("identifier", "qualified_name")]
    starts += [one for name in names for one in index.named(name)[:1] if one.kind in CALLABLE]
    reach = Reach(index, state, pieces)
    steps = reach.first(starts) or reach.best()
    return _flow(steps, "calls", asked) if steps else None


def draw(flow: Flow) -> str:
    """Return a flow chart in Mermaid; a dashed arrow is a call that may run something else in its place."""
    lines = ["flowchart TD"]
    for number, one in enumerate(flow.declared):
        where = f"{one.path.rpartition('/')[2]}:{one.start_line}"
        lines.append(f'    n{number}["{label(one.name, _LONGEST_LABEL)}<br/>{label(where, _LONGEST_LABEL)}"]')
    for number, step in enumerate(flow.steps, 1):
        arrow = "-->" if step.sure else "-.->"
        lines.append(f'    n{step.source} {arrow}|"{number}: line {step.line.start_line}"| n{step.target}')
    return "\n".join(lines)


# From one end to the other


def _between(index: Index, asked: Ends, first: Declared, last: Declared) -> Flow | None:
    ends = ((first.key, last.key), (asked.first, asked.last))  # the likeliest of each name, then all of the names
    for start, end in ends:
        if steps := _steps_of_path(index, index.graph.path(start, end)):
            return _flow(steps, "path", asked)
    for start, end in ends:
        if steps := _steps_of_path(index, index.graph.path(end, start)):
            return _flow(steps, "back", asked)
    return _meeting(index, asked, first, last)


def _steps_of_path(index: Index, way: Sequence[GraphNeighbour]) -> Steps:
    """Return the calls of a way, each beginning where the one before it leads to.

    None if a step of it is no call, such as a type that is named, or if a line is not in the index.
    """
    if any(one.relation != "callee" for one in way):
        return []
    steps: Steps = []
    for one in way:
        source, target = index.at(one.evidence, one.line), index.of_neighbour(one)
        line = index.line(one.evidence, one.line)
        if source is None or target is None or line is None:
            return []
        made = index.calls([source.node])
        if steps and source.node != (before := steps[-1][0]).target.node:
            if source.node in index.acting(before.target.node):  # a constructor, or a function inside
                source = before.target
            else:  # what overrides the one that is called
                steps[-1] = (replace(before, target=source, confidence=min(before.confidence, PERHAPS)), steps[-1][1])
        own = (call.confidence for call in made if (call.target, call.line) == (target, one.line))
        steps.append((Call(source, target, one.line, next(own, one.confidence)), line))
    return steps


def _meeting(index: Index, asked: Ends, first: Declared, last: Declared) -> Flow | None:
    """Return the calls from the nearest declaration that leads to both."""
    above = [{one.node: steps for one, steps in _callers(index, end).items()} for end in (first, last)]
    common = sorted(
        above[0].keys() & above[1].keys(), key=lambda node: (len(above[0][node]) + len(above[1][node]), node)
    )
    if not common:
        return None
    steps = [step for way in above for step in way[common[0]]]
    known = [(call, line) for call in steps if (line := index.line(call.source.path, call.line))]
    return _flow(known, "meeting", asked) if len(known) == len(steps) else None


def _callers(index: Index, end: Declared) -> dict[Declared, list[Call]]:
    """Return what leads to a declaration within a few calls, each with the calls from there."""
    ways: dict[Declared, list[Call]] = {}
    level: dict[int, list[Call]] = {node: [] for node in index.called(end)}
    seen = set(level)
    for _ in range(_MEETING_DEPTH):
        following: dict[int, list[Call]] = {}
        for call in index.calls(level, inwards=True):
            if call.source.node in seen or call.source.role == "test":
                continue
            seen.add(call.source.node)
            way = [call, *level[call.target.node]]
            ways[call.source] = way
            following |= dict.fromkeys(index.called(call.source), way)
        level = following
    return ways


def _flow(steps: Steps, found: Found, asked: Ends | None) -> Flow:
    """Return calls as a flow; what is met again is the same box."""
    places: dict[int, int] = {}
    declared: list[Declared] = []
    for call, _ in steps:
        for one in (call.source, call.target):
            if places.setdefault(one.node, len(declared)) == len(declared):
                declared.append(one)
    made = [
        Step(places[call.source.node], places[call.target.node], line, sure=call.confidence > PERHAPS)
        for call, line in steps
    ]
    return Flow(declared, made, found, asked)
