"""Paths between declarations as parts of a reply: the steps, or what is known on both sides of a gap."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from coderag.interfaces.mcp.cleaner import Cleaner
from coderag.interfaces.mcp.places import format_range, to_place_record
from coderag.interfaces.mcp.relations import RelatedParts, build_mention_part, to_neighbour_record
from coderag.interfaces.mcp.replies import ReplyPart
from coderag.schema.graph import GraphNeighbour
from coderag.schema.path_gaps import Handoff, PathGap

if TYPE_CHECKING:
    from coderag.app import CodeRAG

_MAX_LINE_CHARS: Final = 140
_LAST_TITLE: Final = "last known calls"
_HANDOFF_TITLE: Final = "where known calls end"
_CALLER_TITLE: Final = "callers of the end"
_MENTION_TITLE: Final = "lines that mention the end"
_KEY: Final = "gap"


def build_path_parts(engine: "CodeRAG", start: str, end: str, cleaner: Cleaner) -> RelatedParts:
    """Collect the steps of a shortest path from a declaration to another, or what is known around the gap.

    Raises:
        UnknownNameError: No declaration has one of the names.
        AmbiguousNameError: Several declarations have one of the names.
    """
    steps = engine.graph.path(start, end)
    related = RelatedParts(counts={"path": len(steps)})
    if steps:
        related.parts += [_build_step(step, cleaner) for step in steps]
        return related
    gap = engine.find_path_gap(start, end)
    related.parts += _build_gap_parts(gap, cleaner)
    related.notes += [cleaner.clean_line(note) for note in _list_notes(gap)]
    return related


def _build_step(step: GraphNeighbour, cleaner: Cleaner) -> ReplyPart:
    record = to_neighbour_record(step, "path", cleaner)
    place = f"{_format_lines(record)} " if step.path else ""
    text = f"{step.relation.replace('_', ' ')} {place}{record['name']}, at {record['evidence']}"
    return ReplyPart(text, [record], key="neighbours", title="path")


def _build_gap_parts(gap: PathGap, cleaner: Cleaner) -> Iterator[ReplyPart]:
    for handoff in gap.handoffs:
        yield _build_handoff_part(handoff, cleaner)
    yield from _build_neighbour_lines(gap.last, _LAST_TITLE, cleaner)
    yield from _build_neighbour_lines(gap.callers, _CALLER_TITLE, cleaner)
    for mention in gap.mentions:
        yield build_mention_part(mention, cleaner, _MENTION_TITLE)


def _build_neighbour_lines(neighbours: Iterable[GraphNeighbour], title: str, cleaner: Cleaner) -> Iterator[ReplyPart]:
    for neighbour in neighbours:
        record = {**to_place_record(neighbour, cleaner), "side": title}
        yield ReplyPart(f"{_format_lines(record)} {record['name']}", [record], key=_KEY, title=title)


def _build_handoff_part(handoff: Handoff, cleaner: Cleaner) -> ReplyPart:
    record: dict[str, Any] = {
        "path": cleaner.clean_line(handoff.path),
        "start_line": handoff.line,
        "end_line": handoff.line,
        "name": cleaner.clean_line(handoff.symbol),
        "kind": handoff.kind,
        "line": cleaner.clean_line(handoff.text)[:_MAX_LINE_CHARS],
        "side": _HANDOFF_TITLE,
    }
    other = ""
    if handoff.shared:
        record["shared"] = cleaner.clean_line(handoff.shared)
        if handoff.other_path:
            record["other"] = f"{cleaner.clean_line(handoff.other_path)}:{handoff.other_line}"
            other = f"; `{record['shared']}` is also at {record['other']}"
        else:
            other = f"; names `{record['shared']}`"
    text = f"{_format_lines(record)} {record['name']} ({handoff.kind}{other}): {record['line']}"
    return ReplyPart(text, [record], key=_KEY, title=_HANDOFF_TITLE)


def _format_lines(record: Mapping[str, Any]) -> str:
    return f"{record['path']}:{format_range(record['start_line'], record['end_line'])}"


def _list_notes(gap: PathGap) -> Iterator[str]:
    """Yield what is not known, and how far the known calls go."""
    yield f"No path is known from {gap.start} to {gap.end}; calls that could not be resolved are not followed."
    if gap.reached_count:
        last = ", ".join(step.qualified_name for step in gap.last)
        declarations = "1 declaration" if gap.reached_count == 1 else f"{gap.reached_count} declarations"
        yield f"Known calls from {gap.start} reach {declarations}{f', at last {last}' if last else ''}."
    else:
        yield f"No call from {gap.start} is known to stay in this repository."
    if not gap.callers:
        yield f"No caller of {gap.end} is known."
    if gap.backwards:
        yield f"The other way is known: path_to from {gap.end} to {gap.start} has {len(gap.backwards)} steps."
