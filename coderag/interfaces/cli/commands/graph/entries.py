"""Graph results as display entries: location, declaration, evidence."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from coderag.codegraph.drawing import find_predecessors, is_outgoing
from coderag.schema.vocabulary import MIN_RESOLVED_CONFIDENCE, CycleLevel
from coderag.stores.graph_tables import EXTERNAL_KIND, FILE_KIND
from coderag.text.composition import compose

if TYPE_CHECKING:
    from coderag.schema.graph import GraphCycle, GraphNeighbour, Hotspot, OutlineEntry
    from coderag.schema.mentions import MentionContext, NameMention, UnusedDeclaration

_MAX_TEXT_CHARS: Final = 120
_MENTION_LABELS: "Final[Mapping[MentionContext, str]]" = MappingProxyType(
    {
        "code": "mention",
        "import": "mention in an import",
        "string": "mention in a string",
        "comment": "mention in a comment",
        "text": "mention in a document",
    }
)
_TYPE_ARGUMENTS: Final = re.compile(r"(?<=\w)<.+>")


@dataclass(frozen=True, slots=True)
class GraphEntry:
    """A line of graph output.

    Attributes:
        path, line: Location; no path for a heading.
        detail: Evidence, such as resolver and confidence.
        is_candidate: Whether it is only a candidate.
        children: Nested entries.
    """

    path: str = ""
    line: int = 0
    kind: str = ""
    name: str = ""
    detail: str = ""
    is_candidate: bool = False
    children: "list[GraphEntry]" = field(default_factory=list)


def make_neighbour_entries(name: str, neighbours: "Sequence[GraphNeighbour]") -> list[GraphEntry]:
    """Return neighbours as entries, each nested in the one that it was reached from.

    Args:
        name: The queried name; neighbours reached through another, such as an overridden method, name it.
    """
    bare_name = compose(_TYPE_ARGUMENTS.sub("", name.rpartition("::")[2]))
    parents = find_predecessors(neighbours)
    entries = [
        _make_neighbour_entry(
            neighbour, via=position is None and (neighbour.depth > 1 or not compose(neighbour.via).endswith(bare_name))
        )
        for neighbour, position in zip(neighbours, parents, strict=True)
    ]
    for entry, position in zip(entries, parents, strict=True):
        if position is not None:
            entries[position].children.append(entry)
    return [entry for entry, position in zip(entries, parents, strict=True) if position is None]


def make_path_entries(steps: "Sequence[GraphNeighbour]") -> list[GraphEntry]:
    """Return the steps of a path as entries, in order."""
    return [_make_neighbour_entry(step) for step in steps]


def make_cycle_entries(level: CycleLevel, cycles: "Sequence[GraphCycle]") -> list[GraphEntry]:
    """Return a heading for each cycle with one round trip nested in it."""
    return [
        GraphEntry(
            kind="cycle",
            name=f"of {len(cycle.members):,} {level}",
            detail="one round trip; --json lists all members" if len(cycle.members) > len(cycle.steps) else "",
            children=make_path_entries(cycle.steps),
        )
        for cycle in cycles
    ]


def make_hotspot_entries(hotspots: "Sequence[Hotspot]") -> list[GraphEntry]:
    """Return hotspots as entries, in order."""
    return [
        GraphEntry(
            hotspot.path,
            hotspot.start_line,
            hotspot.kind,
            hotspot.qualified_name,
            f"centrality {hotspot.centrality:.3f}, {hotspot.users:,} {'user' if hotspot.users == 1 else 'users'}, "
            f"uses {hotspot.uses:,}",
        )
        for hotspot in hotspots
    ]


def make_mention_entries(mentions: "Sequence[NameMention]") -> list[GraphEntry]:
    """Return lines that mention a name as entries with their text, in order."""
    return [
        GraphEntry(
            mention.path,
            mention.line,
            mention.kind,
            mention.symbol,
            f"{_MENTION_LABELS[mention.context]}{', linked' if mention.linked else ''}: {cut_line(mention.text)}",
            is_candidate=not mention.linked,
        )
        for mention in mentions
    ]


def make_unused_entries(declarations: "Sequence[UnusedDeclaration]") -> list[GraphEntry]:
    """Return declarations without a known use as entries with their reasons, in order."""
    return [
        GraphEntry(
            declaration.path,
            declaration.start_line,
            declaration.kind,
            declaration.qualified_name,
            f"{declaration.certainty}: {'; '.join(declaration.reasons)}",
            is_candidate=declaration.certainty != "likely",
        )
        for declaration in declarations
    ]


def cut_line(text: str) -> str:
    """Return a line of code without indentation, cut if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _MAX_TEXT_CHARS else f"{line[:_MAX_TEXT_CHARS].rstrip()} …"


def make_outline_entries(path: str, outline: "Sequence[OutlineEntry]") -> list[GraphEntry]:
    """Return the declarations of the file at `path` as entries nested by containment."""
    return [
        GraphEntry(path, entry.start_line, entry.kind, entry.name, children=make_outline_entries(path, entry.children))
        for entry in outline
    ]


def _make_neighbour_entry(neighbour: "GraphNeighbour", *, via: bool = False) -> GraphEntry:
    """Return a neighbour at its line of evidence, with its declaration if that is elsewhere."""
    parts = [neighbour.relation.replace("_", " "), f"{neighbour.resolver} {neighbour.confidence:.2f}"]
    if neighbour.kind not in (EXTERNAL_KIND, FILE_KIND) and is_outgoing(neighbour.relation):
        parts.append(f"at {neighbour.path}:{neighbour.start_line}")
    if via:
        parts.append(f"via {neighbour.via}")
    return GraphEntry(
        neighbour.evidence or neighbour.path,
        neighbour.line,
        neighbour.kind,
        neighbour.qualified_name,
        ", ".join(parts),
        neighbour.confidence < MIN_RESOLVED_CONFIDENCE,
    )
