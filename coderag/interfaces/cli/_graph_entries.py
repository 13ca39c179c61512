"""What the code graph answers, as lines for people: where to look, what is there, and how that is known."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from coderag.codegraph.drawing import find_predecessors, is_outgoing
from coderag.interfaces.cli._graph_options import Level
from coderag.schema.vocabulary import MIN_RESOLVED_CONFIDENCE
from coderag.stores.graph_tables import EXTERNAL_KIND, FILE_KIND

if TYPE_CHECKING:
    from coderag.schema.graph import GraphCycle, GraphNeighbour, Hotspot, OutlineEntry

_TYPE_ARGUMENTS: Final = re.compile(r"(?<=\w)<.+>")


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of an answer.

    Attributes:
        path, line: Where to look; no path for a heading.
        how: What is known of it, such as who resolved it and how surely.
        unsure: Whether it is only a candidate.
        below: What belongs under it.
    """

    path: str = ""
    line: int = 0
    kind: str = ""
    name: str = ""
    how: str = ""
    unsure: bool = False
    below: "list[Entry]" = field(default_factory=list)


def neighbour_entries(name: str, neighbours: "Sequence[GraphNeighbour]") -> list[Entry]:
    """Return neighbours as entries, each below the one that it was reached from.

    Args:
        name: What was asked for; what was reached in another way, as through a method that it overrides, says so.
    """
    asked = _TYPE_ARGUMENTS.sub("", name.rpartition("::")[2])
    before = find_predecessors(neighbours)
    entries = [
        _neighbour_entry(one, via=position is None and (one.depth > 1 or not one.via.endswith(asked)))
        for one, position in zip(neighbours, before, strict=True)
    ]
    for entry, position in zip(entries, before, strict=True):
        if position is not None:
            entries[position].below.append(entry)
    return [entry for entry, position in zip(entries, before, strict=True) if position is None]


def path_entries(steps: "Sequence[GraphNeighbour]") -> list[Entry]:
    """Return the steps of a path as entries, in order."""
    return [_neighbour_entry(step) for step in steps]


def cycle_entries(level: Level, cycles: "Sequence[GraphCycle]") -> list[Entry]:
    """Return a heading for each cycle, one way around below it."""
    return [
        Entry(
            kind="cycle",
            name=f"of {len(cycle.members):,} {level}",
            how="one way around; --json lists them all" if len(cycle.members) > len(cycle.steps) else "",
            below=path_entries(cycle.steps),
        )
        for cycle in cycles
    ]


def hotspot_entries(hotspots: "Sequence[Hotspot]") -> list[Entry]:
    """Return hotspots as entries, in order."""
    return [
        Entry(
            one.path,
            one.start_line,
            one.kind,
            one.qualified_name,
            f"centrality {one.centrality:.3f}, {one.users:,} {'user' if one.users == 1 else 'users'}, uses {one.uses:,}",
        )
        for one in hotspots
    ]


def outline_entries(path: str, outline: "Sequence[OutlineEntry]") -> list[Entry]:
    """Return the declarations of the file at `path` as entries, each below the one that contains it."""
    return [
        Entry(path, one.start_line, one.kind, one.name, below=outline_entries(path, one.children)) for one in outline
    ]


def _neighbour_entry(one: "GraphNeighbour", *, via: bool = False) -> Entry:
    """Return a neighbour at its line of evidence; if that is elsewhere, say where the neighbour is declared."""
    parts = [one.relation.replace("_", " "), f"{one.resolver} {one.confidence:.2f}"]
    if one.kind not in (EXTERNAL_KIND, FILE_KIND) and is_outgoing(one.relation):
        parts.append(f"at {one.path}:{one.start_line}")
    if via:
        parts.append(f"by way of {one.via}")
    return Entry(
        one.evidence or one.path,
        one.line,
        one.kind,
        one.qualified_name,
        ", ".join(parts),
        one.confidence < MIN_RESOLVED_CONFIDENCE,
    )
