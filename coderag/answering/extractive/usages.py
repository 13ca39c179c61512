"""List who uses something, what it uses itself, its relatives and its tests: by file, each with the line of evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from types import MappingProxyType
from typing import Final

from coderag.answering.draft import CitedLines
from coderag.answering.extractive.absent import cited_declarations, write_absent
from coderag.answering.extractive.index import CALLABLE, FILE, MOST_NAMED, PERHAPS, Index
from coderag.answering.extractive.occurrences import (
    extensions,
    occurrences,
    untied_calls,
    write_mentions,
    write_occurrences,
    write_untied,
)
from coderag.answering.extractive.pieces import also
from coderag.answering.extractive.relations import (
    INWARDS,
    KINDS,
    RELATIONS_OF,
    Groups,
    all_of,
    groups_of,
    key,
    neighbours_of,
)
from coderag.answering.extractive.writer import (
    Writer,
    a_kind,
    code,
    code_line,
    command,
    counted,
    joined,
    prose,
)
from coderag.retrieval.mentions.wording import describe_mentions, list_caveats
from coderag.schema.graph import GraphNeighbour
from coderag.schema.mentions import MentionQuery
from coderag.schema.query import QueryState
from coderag.schema.vocabulary import FILE_NAMED_KINDS, MIN_RESOLVED_CONFIDENCE, VALUE_KINDS, Intent
from coderag.stores.snippets import Snippet
from coderag.stores.symbol_table import split_qualified

_MOST_SHOWN, _MOST_OF_OTHERS = 20, 8  # of the relation that was asked for, and of each other
_MOST_UNSURE = 5
_MOST_TESTS = 5
_MOST_LINES = 4  # of one user
_FEW, _MOST_ALSO = 3, 3  # users, below which near code is shown as well
_STEPWISE: Final = frozenset({"callers", "callees", "subclasses", "bases", "overrides", "overridden"})
"""Commands that list one step unless they are told to go on."""

_ASKABLE: Final = frozenset({"identifier", "qualified_name", "path", "location"})


def write_usages(writer: Writer, index: Index, state: QueryState, results: Sequence[Snippet]) -> list[str] | None:
    """Write the relations that a question asks for, and return what it names and nothing is known of.

    None, and nothing is written, if the code graph knows nothing of what the question names.
    """
    intent = state["analysis"]["intent"]
    names = [entity["text"] for entity in state["analysis"]["entities"] if entity["kind"] in _ASKABLE]
    if absent := write_absent(writer, index, names):
        for name in names:
            if places := occurrences(index, name):
                write_occurrences(writer, name, places)
        return absent
    looked_up = {(piece.path, piece.name) for piece in results if piece.is_looked_up}
    for name in dict.fromkeys(names):
        neighbours = neighbours_of(index, state, name)
        unsure = [one for one in neighbours if one.confidence < MIN_RESOLVED_CONFIDENCE]
        if groups := groups_of(state, neighbours):
            _write(writer, index, name, groups, looked_up)
            _write_further(writer, index, intent, name, groups, unsure, results)
            return []
        if unsure:
            _lead(writer, index, name, {})
            _write_unsure(writer, index, name, unsure)
            write_mentions(writer, name, index.mentioned(name, index.named(name)))
            return [f"No use of {code(name)} could be tied to it."]
    missing = write_unresolved(writer, index, names, intent)
    return _with_near_tests(writer, index, missing, results) if intent == "find_tests" else missing


def _write_further(  # the rest of an answer
    writer: Writer,
    index: Index,
    intent: Intent,
    name: str,
    groups: Groups,
    unsure: Sequence[GraphNeighbour],
    results: Sequence[Snippet],
) -> None:
    """Write what may use a name as well: calls on values, lines without a relation, and near code if there is little else."""
    declared = index.named(name)
    if "called" in groups and declared and (untied := untied_calls(index, declared)):
        write_untied(writer, declared, untied)
    if intent in _QUERIES and INWARDS.issuperset(groups):
        if set(groups) == {"imported"}:
            mentions = index.mentioned(name, declared)
            lines = [line for line in mentions.lines if not line.linked]
            write_mentions(writer, name, replace(mentions, lines=lines, total=len(lines)))
        else:
            _write_unlinked(writer, index, name, _QUERIES[intent])
    if len(all_of(groups)) < _FEW:
        if intent == "find_usage" and INWARDS.issuperset(groups):
            _write_unsure(writer, index, name, unsure)
        told = {key(one) for one in all_of(groups)} | {(one.path, one.name) for one in declared}
        near = [piece for piece in results if not piece.is_looked_up and (piece.path, piece.name) not in told]
        also(writer, index, near[:_MOST_ALSO], "Also near")


def _with_near_tests(
    writer: Writer, index: Index, missing: list[str] | None, results: Sequence[Snippet]
) -> list[str] | None:
    """Write the tests among the results, if nothing is known to test what the question names."""
    named = [piece for piece in results if piece.kind not in FILE_NAMED_KINDS]
    tests = [piece for piece in named if index.role(piece.path) == "test"]
    if missing:
        also(writer, index, tests[:_MOST_TESTS], "Tests that come near by their words")
    return missing


def _write_unlinked(writer: Writer, index: Index, name: str, query: MentionQuery | None) -> None:
    """Write how many lines of code mention a name without a relation that is known, if there are any."""
    mentions = index.mentioned(name, index.named(name), query)
    if unlinked := mentions.unlinked:
        lines = "1 more line of code mentions" if unlinked == 1 else f"{unlinked:,} more lines of code mention"
        writer.say(f"\n{lines} {code(_last(name))} without a relation that is known: {command('mentions', name)}\n")


def write_unresolved(writer: Writer, index: Index, names: Sequence[str], intent: Intent) -> list[str] | None:
    """Write what there is of names without a known relation: the lines that mention them, and why there may be more to it."""
    for name in names:
        declared = index.named(name)
        is_value = intent == "find_usage" and all(one.kind in VALUE_KINDS for one in declared)
        if is_value and (places := occurrences(index, name, declared)):
            return _write_written(writer, index, name, places)
        if intent == "hierarchy" and (places := extensions(index, name, declared)):
            many = counted(len(places), "line extends or implements", "lines extend or implement")
            writer.say(f"No type of this repository is known as **{code(name)}**. {many} it, as they are written.")
            write_occurrences(writer, name, places)
            return []
    known = next((name for name in names if index.graph.uses(name) or index.named(name)), "")
    if not known:
        return None
    declared = index.named(known)
    query = _QUERIES.get(intent, "subclasses")
    if query == "subclasses" and any(one.kind in CALLABLE for one in declared):
        query = "overrides"
    mentions = index.mentioned(known, declared, query)
    sentence = f"No {_RELATIONS.get(intent, 'subtype')} of {code(known)} could be resolved"
    writer.say(f"{sentence}; {describe_mentions(mentions, query)}.")
    if where := _declared(writer, index, known, is_evidence=False):
        writer.say(f"\nIt is {where}.")
    write_mentions(writer, known, mentions)
    writer.say()
    for caveat in list_caveats(mentions, query):
        writer.say(f"- {prose(caveat)}")
    return [f"{sentence}."]


def _write_written(writer: Writer, index: Index, name: str, places: Sequence[CitedLines]) -> list[str]:
    """Write where a value, or what nothing declares, is written."""
    where = _declared(writer, index, name)
    what = f" ({where})" if where else ", which nothing in this repository is known to declare,"
    writer.say(f"**{code(name)}**{what} is written in {counted(len(places), 'line')}{' besides' if where else ''}.")
    write_occurrences(writer, name, places)
    return [f"Which of these lines mean {code(name)} is told by the name alone."] if where else []


_RELATIONS: Final[Mapping[Intent, str]] = MappingProxyType({"find_usage": "use", "find_tests": "test"})
_QUERIES: Final[Mapping[Intent, MentionQuery | None]] = MappingProxyType({"find_usage": None, "find_tests": "tests"})
"""Which lines may tell what a question of some intent asks for; None for all of them."""


def _write(writer: Writer, index: Index, name: str, groups: Groups, looked_up: set[tuple[str, str]]) -> None:
    _lead(writer, index, name, groups)
    for kind, neighbours in groups.items():
        if neighbours:
            asked = len(groups) == 1 or (kind != "tested" and any(key(one) in looked_up for one in neighbours))
            most = _MOST_SHOWN if asked else _MOST_OF_OTHERS
            _list(writer, index, name, kind, neighbours, most)
            if len(neighbours) > most:
                all_are = _all_are_listed_by(index, name, "further" if "further" in groups else kind, neighbours)
                writer.say(f"- and {len(neighbours) - most:,} more{f': {all_are} lists all' if all_are else ''}")


def _lead(writer: Writer, index: Index, name: str, groups: Groups) -> None:
    counts = joined([KINDS[kind].counted(len(group)) for kind, group in groups.items() if group])
    where = _declared(writer, index, name, is_evidence=bool(counts))
    is_what = f" is {counts}" if next((kind for kind in groups if groups[kind]), "") in INWARDS else f" {counts}"
    writer.say(
        f"**{code(name)}**{f' ({where})' if where else ''}{is_what if counts else ' has no user that is known'}."
    )


def _declared(writer: Writer, index: Index, name: str, *, is_evidence: bool = True) -> str:
    """Return what a name is and where; of several declarations how many there are, and some of their names.

    Args:
        writer: Of the answer.
        index: The open index.
        name: The name.
        is_evidence: Whether what is said next rests on the declaration; that nothing uses it does not.
    """
    cite = writer.cite if is_evidence else writer.refer
    declared = index.named(name)
    if len(declared) == 1 and (head := index.head_of(declared[0])):
        one = declared[0]
        named = "" if one.name.endswith(name.removesuffix("()")) or one.kind == FILE else f" {code(one.name)}"
        return f"{a_kind(one.kind)}{named} in {cite(head)}"
    if len(declared) > 1:
        many = "at least " if len(declared) >= MOST_NAMED else ""
        return (
            f"{many}{len(declared)} declarations, taken together: {joined(cited_declarations(cite, index, declared))}"
        )
    return ""


def _list(writer: Writer, index: Index, name: str, kind: str, neighbours: Sequence[GraphNeighbour], most: int) -> None:
    writer.heading(f"{KINDS[kind].heading} ({len(neighbours):,})")
    shown = neighbours[:most]
    order = {path: place for place, path in enumerate(dict.fromkeys(one.evidence for one in shown))}
    for path, group in groupby(
        sorted(shown, key=lambda one: (order[one.evidence], one.line)), lambda one: one.evidence
    ):
        of_file = list(group)
        indent = ""
        if len(of_file) > 1:
            writer.say(f"- {code(path)}")
            indent = "  "
        for one in of_file:
            entry = _entry(writer, index, name, kind, one, beneath=bool(indent))
            writer.say(f"{indent}- {entry}")


def _last(name: str) -> str:
    return (split_qualified(name) or [name])[-1]


def _all_are_listed_by(index: Index, name: str, kind: str, neighbours: Sequence[GraphNeighbour]) -> str:
    """Return the command that lists all of a kind; empty if there is none.

    Tests that are found as callers of some depth are no longer all listed as tests; what is further away has no other
    command than its own, whatever its relations are.
    """
    relations = {one.relation for one in neighbours}
    kinds = [kind] if kind == "further" else [same for same in KINDS if relations <= RELATIONS_OF[same]]
    verb = KINDS[kinds[0] if kinds else kind].command
    depth = max(one.depth for one in neighbours)
    if verb == "tests" and depth > 1:
        verb = "callers"
    asked = index.askable(verb, name) if verb else ""
    options = ["--depth", str(depth)] if depth > 1 and verb in _STEPWISE else []
    return command(verb, asked, *options) if asked else ""


def _entry(writer: Writer, index: Index, name: str, kind: str, one: GraphNeighbour, *, beneath: bool = False) -> str:
    """Return a neighbour as an entry of a list, which may stand `beneath` the name of its file."""
    lines = _evidence(index, name, kind, one)
    named = code(one.qualified_name or one.path)
    if one.kind == FILE and kind in INWARDS:
        # A file that imports is named by the place; one whose code at file level uses something is itself the user.
        named = "at file level" if beneath else code(one.path)
        named = "" if kind == "imported" else named
    through = f" through {code(one.via)}" if one.depth > 1 and one.via else ""
    perhaps = " (perhaps another method of that name)" if _is_dispatched(one) else ""
    shown = [f"{named}{through}{perhaps}", code_line(lines[0].text)] if lines else [f"{named}{through}{perhaps}"]
    places = ", ".join(writer.cite(line) for line in lines)
    return " — ".join(part for part in (*shown, places) if part)


def _is_dispatched(one: GraphNeighbour) -> bool:
    return one.relation == "caller" and MIN_RESOLVED_CONFIDENCE <= one.confidence <= PERHAPS


def _evidence(index: Index, name: str, kind: str, one: GraphNeighbour) -> list[CitedLines]:
    """Return the lines that say it: of a caller all its calls, the first ones."""
    numbers = [one.line]
    if kind in ("called", "tested") and one.depth == 1 and (source := index.of_neighbour(one)):
        calls = [call for call in index.calls([source.node]) if call.path == one.evidence]
        last = name.rpartition(".")[2].rpartition(":")[2].removesuffix("()")
        others = [call.line for call in calls if call.target.name.rpartition(".")[2] == last]
        numbers = sorted({one.line, *others})[:_MOST_LINES]
    return [line for number in numbers if (line := index.line(one.evidence, number))]


def _write_unsure(writer: Writer, index: Index, name: str, unsure: Sequence[GraphNeighbour]) -> None:
    if unsure:
        writer.heading(f"May be meant, but nothing ties them to it ({len(unsure):,})")
    for one in unsure[:_MOST_UNSURE]:
        writer.say(f"- {_entry(writer, index, name, 'referenced', one)}")
    if len(unsure) > _MOST_UNSURE:
        writer.say(f"- and {len(unsure) - _MOST_UNSURE:,} more: {command('callers', name, '--candidates')}")
