"""Compare two declarations side by side: what each is, what it calls and who calls it, and what both have."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.evidence.index_reader import CALLABLE, TYPES, Declared, IndexReader
from coderag.answering.evidence.relation_groups import Groups, users_of
from coderag.answering.extractive.wording import (
    Writer,
    a_kind,
    cell,
    code,
    code_line,
    counted,
    first_sentence,
    joined,
    kind_name,
)
from coderag.answering.evidence.question_ends import Ends, get_ends
from coderag.schema.graph import GraphNeighbour
from coderag.schema.query import QueryState
from coderag.stores.snippets import Snippet

_MOST_NAMES, _MOST_ALL = 4, 8
_DEPTH = 9  # bases of bases
_LONGEST = 12  # lines of each side's code
_MAKER: Final = "new"  # what makes an instance where no constructor does: in Rust
_COMPARABLE: Final = CALLABLE | TYPES


@dataclass(frozen=True)
class _Side:
    """One of the two, and what the index knows of it."""

    index: IndexReader
    declared: Declared
    head: CitedLines

    @property
    def name(self) -> str:
        return code(self.declared.name)

    @cached_property
    def users(self) -> Groups:
        return users_of(self.index, self.declared)

    @cached_property
    def bases(self) -> list[str]:
        return _names(self.index.graph.bases(self.declared.key)) if self.declared.kind in TYPES else []

    @cached_property
    def all_bases(self) -> list[GraphNeighbour]:
        """Also the bases of those."""
        return self.index.graph.bases(self.declared.key, _DEPTH) if self.declared.kind in TYPES else []

    @cached_property
    def callees(self) -> list[GraphNeighbour]:
        return [one for one in self.index.graph.callees(self.declared.key) if one.path]

    @cached_property
    def calls(self) -> list[str]:
        return _names(self.callees)

    @cached_property
    def members(self) -> dict[str, Declared]:
        """The members by their own name."""
        return {one.name.rpartition(".")[2]: one for one in self.index.members(self.declared)}

    @cached_property
    def constructors(self) -> set[str]:
        """The names of those members that every type has in its own way."""
        nodes = self.index.graph.declaration_groups.find_constructors(self.declared.node)
        return {name for name, member in self.members.items() if member.node in nodes}

    def users_by(self, kind: str) -> list[str]:
        return _names(self.users[kind])

    def evidence(self, neighbours: Iterable[GraphNeighbour], names: Sequence[str]) -> list[CitedLines]:
        """Return the lines that show a relation to the first of some names."""
        first: dict[str, GraphNeighbour] = {}
        for one in neighbours:
            first.setdefault(_name(one), one)
        known = (self.index.line(first[name].evidence, first[name].line) for name in names[:_MOST_NAMES])
        return [line for line in known if line]

    def heads(self, names: Sequence[str]) -> list[CitedLines]:
        """Return the lines in which the first of some members are declared."""
        return [head for name in names[:_MOST_NAMES] if (head := self.index.head_of(self.members[name]))]


def write_comparison(
    writer: Writer, index: IndexReader, state: QueryState, results: Sequence[Snippet]
) -> list[str] | None:
    """Write two declarations side by side, and return what of them is not known.

    None, and nothing is written, if neither of the two that the question compares is known.
    """
    asked = get_ends(state["analysis"])
    if asked is None:
        return None
    found = [index.meant(words, results, _COMPARABLE) for words in asked]
    sides = [_Side(index, one, head) for one in found if one and (head := index.head_of(one))]
    if not sides:
        return None
    if len(sides) == 1 or sides[0].declared.node == sides[1].declared.node:
        return _one_side(writer, asked, sides[0], found)
    one, other = sides
    _lead(writer, one, other)
    _table(writer, one, other)
    _common(writer, one, other)
    _different(writer, one, other)
    for side in sides:
        _code(writer, side)
    return []


def _one_side(writer: Writer, asked: Ends, side: _Side, found: Sequence[Declared | None]) -> list[str]:
    unknown = asked.last if found[0] else asked.first
    sentence = f"Nothing that is called or described as {code(unknown)} was found to compare with."
    writer.say(f"{side.name} is {a_kind(side.declared.kind)} in {writer.cite(side.head)}. {sentence}\n")
    _code(writer, side)
    return [sentence]


def _lead(writer: Writer, one: _Side, other: _Side) -> None:
    """Write how the two are related, if they are."""
    sentences = []
    for side, far in ((one, other), (other, one)):
        for verb, neighbours in (
            ("extends", side.index.graph.bases(side.declared.key, _DEPTH) if side.declared.kind in TYPES else []),
            ("calls", side.index.graph.callees(side.declared.key)),
        ):
            of_far = (
                near
                for near in neighbours
                if (near.path, near.qualified_name) == (far.declared.path, far.declared.name)
            )
            near = next(of_far, None)
            line = near and side.index.line(near.evidence, near.line)
            if near and line:
                through = f" through {code(near.via)}" if near.depth > 1 else ""
                sentences.append(f"{side.name} {verb} {far.name}{through} ({writer.cite(line)}).")
    kinds = [kind_name(side.declared.kind) for side in (one, other)]
    both = (
        f"both {kinds[0]}{'es' if kinds[0].endswith('s') else 's'}"
        if kinds[0] == kinds[1]
        else joined([a_kind(side.declared.kind) for side in (one, other)])
    )
    related = " ".join(sentences) or "Neither calls nor extends the other."
    writer.say(f"**{one.name} and {other.name}** are {both}. {related}\n")


def _table(writer: Writer, one: _Side, other: _Side) -> None:
    writer.say(f"| | {cell(one.name)} | {cell(other.name)} |\n|---|---|---|")
    for title, cells in _rows(writer, one, other):
        if any(cells):
            writer.say(f"| {title} | {' | '.join(cell(text or '–') for text in cells)} |")


def _rows(writer: Writer, one: _Side, other: _Side) -> list[tuple[str, list[str]]]:
    sides = (one, other)
    return [
        ("Declared in", [writer.cite(side.index.lines_of(side.declared) or side.head) for side in sides]),
        ("Kind", [kind_name(side.declared.kind) for side in sides]),
        ("Signature", [code_line(side.index.signature(side.declared) or side.head.text) for side in sides]),
        ("Described as", [first_sentence(side.index.summary(side.declared)) for side in sides]),
        ("Extends", [_listed(side.bases) for side in sides]),
        ("Size", [_size(side) for side in sides]),
        ("Calls", [_listed(side.calls) for side in sides]),
        ("Called by", [_listed(side.users_by("called")) for side in sides]),
        ("Extended by", [_listed(side.users_by("derived")) for side in sides]),
        ("In tests", [counted(len(side.users["tested"]), "place") if side.users["tested"] else "" for side in sides]),
    ]


def _size(side: _Side) -> str:
    members = f", {counted(len(side.members), 'member')}" if side.members and side.declared.kind in TYPES else ""
    return f"{counted(side.declared.length, 'line')}{members}"


def _common(writer: Writer, one: _Side, other: _Side) -> None:
    entries: list[tuple[str, list[CitedLines]]] = []
    for verb, near, far in (
        ("extend", one.all_bases, other.all_bases),
        ("call", one.callees, other.callees),
        ("are called by", one.users["called"], other.users["called"]),
    ):
        if names := [name for name in _names(near) if name in set(_names(far))]:
            lines = [*one.evidence(near, names), *other.evidence(far, names)]
            entries.append((f"Both {verb} {_listed(names, _MOST_ALL)}", lines))
    making = one.constructors | other.constructors | {_MAKER}
    if members := [name for name in one.members if name in other.members and name not in making]:
        listed = _listed([code(name) for name in members], _MOST_ALL)
        entries.append((f"Both have the members {listed}", [*one.heads(members), *other.heads(members)]))
    _entries(writer, "In common", entries)


def _different(writer: Writer, one: _Side, other: _Side) -> None:
    entries: list[tuple[str, list[CitedLines]]] = []
    for side, far in ((one, other), (other, one)):
        called = [name for name in side.calls if name not in far.calls and name != far.name]
        if called:
            evidence = side.evidence(side.callees, called)
            entries.append((f"Only {side.name} calls {_listed(called, _MOST_ALL)}", evidence))
        own = [name for name in side.members if name not in far.members]
        if own and side.declared.kind in TYPES:
            listed = _listed([code(name) for name in own], _MOST_ALL)
            entries.append((f"Only {side.name} has {listed}", side.heads(own)))
    _entries(writer, "Different", entries)


def _entries(writer: Writer, title: str, entries: Iterable[tuple[str, Sequence[CitedLines]]]) -> None:
    """Write a list under a heading, each entry with the lines that show it; what none shows is left out."""
    shown = [(text, lines) for text, lines in entries if lines]
    if shown:
        writer.heading(title)
    for text, lines in shown:
        writer.say(f"- {text} — {', '.join(dict.fromkeys(map(writer.cite, lines)))}")


def _code(writer: Writer, side: _Side) -> None:
    """Write the beginning of a side."""
    index, declared = side.index, side.declared
    last = min(declared.end_line, declared.start_line + _LONGEST - 1)
    lines = index.lines(declared.path, declared.start_line, last)
    if lines is None:
        return
    writer.say(f"\n**{side.name}** — {writer.cite(lines)}\n")
    rest = declared.end_line - last
    shown = [*lines.text.split("\n"), *([f"… {rest} more lines"] if rest else [])]
    writer.code(shown, index.language(declared.path))


def _name(neighbour: GraphNeighbour) -> str:
    return code(neighbour.qualified_name or neighbour.path)


def _names(neighbours: Iterable[GraphNeighbour]) -> list[str]:
    return list(dict.fromkeys(map(_name, neighbours)))


def _listed(names: Sequence[str], most: int = _MOST_NAMES) -> str:
    more = [f"{len(names) - most} more"] if len(names) > most else []
    return joined([*names[:most], *more])
