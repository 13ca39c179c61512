"""The two declarations that a question compares, with what the index knows of each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.evidence.declared import CALLABLE, TYPES, Declared
from coderag.answering.evidence.index_reader import IndexReader
from coderag.answering.evidence.question_ends import Ends
from coderag.schema.graph import GraphNeighbour
from coderag.stores.snippets import Snippet

_COMPARABLE: Final = CALLABLE | TYPES
_BASE_DEPTH = 9


@dataclass(frozen=True)
class ComparedSide:
    """One of two declarations that are compared."""

    reader: IndexReader
    declared: Declared
    head: CitedLines

    @cached_property
    def lines(self) -> CitedLines:
        """All its lines."""
        return self.reader.read_declaration(self.declared) or self.head

    @cached_property
    def bases(self) -> Sequence[GraphNeighbour]:
        """Types that it extends, directly or not."""
        return self.reader.graph.bases(self.declared.key, _BASE_DEPTH) if self.declared.kind in TYPES else []

    @cached_property
    def callees(self) -> Sequence[GraphNeighbour]:
        """Other declarations of the repository that it calls."""
        neighbours = self.reader.graph.callees(self.declared.key)
        return [neighbour for neighbour in neighbours if neighbour.path and not self.is_target(neighbour)]

    @cached_property
    def callers(self) -> Sequence[GraphNeighbour]:
        """Other code that calls it, tests left out."""
        neighbours = self.reader.graph.callers(self.declared.key)
        return [neighbour for neighbour in neighbours if neighbour.role != "test" and not self.is_target(neighbour)]

    @cached_property
    def members(self) -> dict[str, Declared]:
        """Its members by their own names, without constructors."""
        if self.declared.kind not in TYPES:
            return {}
        constructors = self.reader.graph.declaration_groups.find_constructors(self.declared.node)
        members = (member for member in self.reader.find_members(self.declared) if member.node not in constructors)
        return {member.name.rpartition(".")[2]: member for member in members}

    def is_target(self, neighbour: GraphNeighbour) -> bool:
        """Return whether a relation leads to it."""
        return (neighbour.path, neighbour.qualified_name) == (self.declared.path, self.declared.name)


class ComparedSides(NamedTuple):
    """Both sides; None where nothing is called or described as the question says."""

    first: ComparedSide | None
    last: ComparedSide | None


def find_sides(reader: IndexReader, ends: Ends | None, results: Sequence[Snippet]) -> ComparedSides | None:
    """Find the declarations that a question compares; None if it names no two, or neither is known.

    Of several declarations of a name, that is meant which is nearest to the other side: a member of the same type, or the
    same member of another type.
    """
    if ends is None:
        return None
    candidates = [reader.match_declarations(words, results, _COMPARABLE) for words in ends]
    first, last = _choose_pair(*candidates)
    sides = [build_side(reader, declared) for declared in (first, last)]
    return ComparedSides(*sides) if any(sides) else None


def _choose_pair(firsts: Sequence[Declared], lasts: Sequence[Declared]) -> tuple[Declared | None, Declared | None]:
    pairs = [
        (_get_distance(first, last), place + other, first, last)
        for place, first in enumerate(firsts)
        for other, last in enumerate(lasts)
        if first.node != last.node
    ]
    if pairs:
        _, _, first, last = min(pairs, key=lambda pair: pair[:2])
        return first, last
    return next(iter(firsts), None), None if firsts else next(iter(lasts), None)


def _get_distance(first: Declared, last: Declared) -> int:
    """Return how unlike two declarations are as the sides of a comparison, from 0."""
    owners = {side.name.rpartition(".")[0] for side in (first, last)}
    is_pair = (len(owners) == 1 and first.path == last.path) or first.name.rpartition(".")[2] == last.name.rpartition(
        "."
    )[2]
    return (not is_pair) + ((first.kind in TYPES) != (last.kind in TYPES))


def build_side(reader: IndexReader, declared: Declared | None) -> ComparedSide | None:
    """Build a side of a comparison; None if its lines are not known."""
    head = reader.read_head(declared) if declared else None
    return ComparedSide(reader, declared, head) if declared and head else None


def name_neighbours(neighbours: Iterable[GraphNeighbour]) -> dict[str, GraphNeighbour]:
    """Return the first neighbour of each name."""
    by_name: dict[str, GraphNeighbour] = {}
    for neighbour in neighbours:
        by_name.setdefault(neighbour.qualified_name or neighbour.path, neighbour)
    return by_name
