"""Sections of an answer about a relation: how many declarations have it, the nearest of them, and those further away."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from os.path import commonprefix
from types import MappingProxyType
from typing import Final, NamedTuple

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.evidence.index_reader import FILE, Declared, IndexReader
from coderag.answering.evidence.relation_groups import USERS, RelatedDeclarations, RelationGroup, is_sure
from coderag.answering.extractive.builders.mentions import build_lines_lead, describe_missing
from coderag.answering.extractive.builders.missing_members import build_missing_member
from coderag.answering.extractive.builders.place import cite_snippet, get_full_snippet, list_snippet
from coderag.answering.extractive.excerpts import build_excerpt
from coderag.answering.extractive.sections import Part, Section, Statement, build_lead
from coderag.answering.extractive.wording import code, code_line, command, counted, joined, kind_name
from coderag.schema.graph import GraphNeighbour
from coderag.schema.graph_queries import GraphQuery
from coderag.schema.vocabulary import FILE_NAMED_KINDS, ProofRelation

_MAX_USERS, _MAX_OTHERS, _MAX_TESTS = 8, 5, 3
_MAX_NAMED = 3  # in the lead
_MAX_PLACES = 3  # of one caller
_MAX_NAMESAKES = 3
_ABSTRACT_KINDS: Final = frozenset({"interface", "trait"})


class _Wording(NamedTuple):
    """Wording of a group: its clause with ``{}`` for the count, what is counted, its heading and its command."""

    clause: str
    counted: tuple[str, str]
    title: str
    query: GraphQuery
    proof: ProofRelation


_DECLARATIONS: Final = ("declaration", "declarations")
_WORDINGS: Final[Mapping[RelationGroup, _Wording]] = MappingProxyType(
    {
        "called": _Wording("is called by {}", _DECLARATIONS, "Called by", "callers", "calls"),
        "derived": _Wording("is extended by {}", ("type", "types"), "Extended by", "subclasses", "inherits"),
        "overridden": _Wording("is overridden by {}", ("method", "methods"), "Overridden by", "overrides", "overrides"),
        "referenced": _Wording("is named by {}", _DECLARATIONS, "Named by", "references", "references"),
        "imported": _Wording("is imported by {}", ("file", "files"), "Imported by", "importers", "imports"),
        "tested": _Wording("is exercised by {}", ("test", "tests"), "Tests", "tests", "tests"),
        "calls": _Wording("calls {}", _DECLARATIONS, "Calls", "callees", "calls"),
        "refers": _Wording("names {}", _DECLARATIONS, "Names", "callees", "references"),
        "imports": _Wording("imports {}", ("file or package", "files and packages"), "Imports", "imports", "imports"),
        "bases": _Wording("extends {}", ("type", "types"), "Extends", "bases", "inherits"),
        "overrides": _Wording("overrides {}", ("method", "methods"), "Overrides", "overridden", "overrides"),
        "further": _Wording("is reached by {}", ("more", "more"), "Through those", "impact", "calls"),
    }
)
_OTHERS: Final[Sequence[RelationGroup]] = ("calls", "refers", "imports", "bases", "overrides")


def build_relation(answer_input: AnswerInput, sections: Sequence[Section]) -> Section | None:
    """Build the lead: how many declarations are related to the subject as the question asks, and the nearest of them."""
    if missing := build_missing_member(answer_input, sections):
        return missing
    related = answer_input.related_declarations
    if related is None or not related.groups:
        return build_lines_lead(answer_input, related) or _build_nearest_test(answer_input)
    parts: list[Part] = [*_name_subject(answer_input.reader, related), " "]
    parts.append(_join_clauses(_list_clauses(answer_input.reader, related)))
    statements = [Statement(parts, "declares")]
    if related.namesakes:
        statements.append(_list_namesakes(answer_input.reader, related.namesakes))
    return build_lead("relation", *statements)


def build_related(answer_input: AnswerInput, sections: Sequence[Section]) -> Section | None:
    """Build the list of what is related directly, each with the line that shows it."""
    del sections
    related = answer_input.related_declarations
    main = _get_main(related) if related else ()
    if not related or not main:
        return None
    nearest = [
        neighbour
        for group in main
        for neighbour in _rank(related, [one for one in related.groups[group] if one.depth == 1])
    ]
    nearest = nearest or [neighbour for group in main for neighbour in related.groups[group]]
    title = _get_wording(related, main[0]).title if len(main) == 1 else "Used by"
    shown = list(nearest[: _MAX_TESTS + _MAX_OTHERS if main == ["tested"] else _MAX_USERS])
    return _build_list(answer_input, related, "related", title, shown, len(nearest), main[0])


def build_further(answer_input: AnswerInput, sections: Sequence[Section]) -> Section | None:
    """Build the list of what reaches the subject through something else, by the number of steps."""
    del sections
    related = answer_input.related_declarations
    if not related:
        return None
    main = [*_get_main(related), *(["further"] if "further" in related.groups else [])]
    distant = [one for group in main for one in related.groups[group] if one.depth > 1]
    if not distant or not any(one.depth == 1 for group in main for one in related.groups[group]):
        return None
    distant.sort(key=lambda one: one.depth)
    group: RelationGroup = "further" if "further" in related.groups else main[0]
    title = "Through those"
    return _build_list(answer_input, related, "further", title, distant[:_MAX_OTHERS], len(distant), group)


def build_tests(answer_input: AnswerInput, sections: Sequence[Section]) -> Section | None:
    """Build the list of the tests that exercise the subject, the most direct first."""
    related = answer_input.related_declarations
    if any(section.kind == "related" for section in sections) and related and "tested" not in _get_main(related):
        tests = sorted(related.groups.get("tested", ()), key=lambda one: one.depth)
        if tests:
            return _build_list(answer_input, related, "tests", "Tests", tests[:_MAX_TESTS], len(tests), "tested")
    return None


def _get_main(related: RelatedDeclarations) -> list[RelationGroup]:
    """Return the groups that the question asks for: its users, else what it uses, else its tests or what is distant."""
    for groups in (USERS[:-1], USERS[-1:], _OTHERS, ("tested",), ("further",)):
        if found := [group for group in groups if group in related.groups]:
            return found
    return []


def _name_subject(reader: IndexReader, related: RelatedDeclarations) -> list[Part]:
    declared = related.declared
    if declared is None:
        return [f"**{code(related.name)}** (not declared in this repository)"]
    shown = declared.path if declared.kind == FILE else declared.name
    assumed = "The question names no declaration; taken as " if related.is_assumed else ""
    named = f"{assumed}**{code(shown)}**"
    head = reader.head_of(declared)
    if declared.kind == FILE or head is None:
        return [named]
    parts: list[Part] = [f"{named} ({kind_name(declared.kind)}, ", head, ")"]
    return [*parts, ", it"] if related.is_assumed else parts


def _list_clauses(reader: IndexReader, related: RelatedDeclarations) -> list[str]:
    """List what the lead says of each group; of the first one it names the nearest members."""
    groups = related.groups
    main = _get_main(related)
    clauses = []
    for group in (*main, *(other for other in ("tested", "further", "imported") if other in groups and other not in main)):
        members = groups[group]
        nearest = [one for one in members if one.depth == 1] or members
        wording = _get_wording(related, group)
        sure = [one for one in nearest if is_sure(one)]
        clause = wording.clause.format(counted(len(sure or nearest), *wording.counted))
        if not sure:
            clause = f"may be one that {clause}" if group != "calls" else clause.replace("calls", "may call", 1)
        if not clauses:
            clause += f": {_name_nearest(reader, related, sure or nearest)}"
        if sure and len(sure) < len(nearest):
            clause += f"{',' if clauses else ';'} {counted(len(nearest) - len(sure), 'other')} may call it"
        if len(nearest) < len(members):
            clause += f"{',' if clauses else ';'} and by {len(members) - len(nearest):,} through those"
        clauses.append(clause)
    return clauses


def _join_clauses(clauses: Sequence[str]) -> str:
    first, *others = clauses
    return f"{first}. It {joined(others)}." if others else f"{first}."


def _name_nearest(reader: IndexReader, related: RelatedDeclarations, members: Sequence[GraphNeighbour]) -> str:
    del reader
    names = list(dict.fromkeys(_name_neighbour(one) for one in _rank(related, members)))
    most = _MAX_NAMED if len(names) > _MAX_NAMED + 1 else len(names)
    more = [f"{len(names) - most:,} more"] if len(names) > most else []
    return joined([*names[:most], *more])


def _get_wording(related: RelatedDeclarations, group: RelationGroup) -> _Wording:
    wording = _WORDINGS[group]
    if group == "derived" and related.declared and related.declared.kind in _ABSTRACT_KINDS:
        return wording._replace(clause="is implemented by {}", title="Implemented by", proof="implements")
    return wording


def _list_namesakes(reader: IndexReader, namesakes: Sequence[Declared]) -> Statement:
    """Build the line that lists other declarations of the name."""
    parts: list[Part] = ["Others of that name: "]
    shown = [(one, head) for one in namesakes[:_MAX_NAMESAKES] if (head := reader.head_of(one))]
    for number, (one, head) in enumerate(shown):
        parts += [f"{', ' if number else ''}{code(one.name)} (", head, ")"]
    more = len(namesakes) - len(shown)
    return Statement([*parts, f" and {more} more." if more else "."], "declares")


def _rank(related: RelatedDeclarations, members: Sequence[GraphNeighbour]) -> list[GraphNeighbour]:
    """Rank neighbours: code of the product first, then what is sure, then those of the nearest files."""
    home = related.declared.path if related.declared else ""

    def order(one: GraphNeighbour) -> tuple[bool, bool, int, str, int]:
        shared = len(commonprefix([home.split("/"), one.evidence.split("/")]))
        return one.role != "source", not is_sure(one), -shared, one.evidence, one.line

    return sorted(members, key=order)


def _build_list(
    answer_input: AnswerInput,
    related: RelatedDeclarations,
    kind: str,
    title: str,
    shown: Sequence[GraphNeighbour],
    total: int,
    group: RelationGroup,
) -> Section | None:
    statements = [
        statement for one in shown if (statement := _list_neighbour(answer_input.reader, related, group, one))
    ]
    if total > len(shown):
        query = _WORDINGS[group].query
        name = related.declared.key if related.declared and related.namesakes else related.name
        asked = answer_input.reader.askable(query, name)
        listed = f": {command(query, asked)} lists all" if asked else ""
        statements.append(Statement([f"and {total - len(shown):,} more{listed}"]))
    return Section(kind, statements, title) if statements else None  # type: ignore[arg-type]


def _list_neighbour(
    reader: IndexReader, related: RelatedDeclarations, group: RelationGroup, one: GraphNeighbour
) -> Statement | None:
    """Build the entry of a neighbour: its name, the line that shows the relation, and the place."""
    lines = _find_evidence(reader, related, group, one)
    if not lines:
        return None
    through = f" through {code(one.via)}" if one.depth > 1 and one.via else ""
    unsure = "" if is_sure(one) else " (may call it)"
    parts: list[Part] = [f"{_name_neighbour(one)}{through}{unsure}: {code_line(lines[0].text)} — "]
    for number, line in enumerate(lines):
        parts += [", ", line] if number else [line]
    return Statement(parts, _get_wording(related, group).proof, is_claim=is_sure(one))


def _name_neighbour(one: GraphNeighbour) -> str:
    name = code(one.qualified_name or one.path)
    return f"file level of {name}" if one.kind == FILE and one.relation != "imported_by" else name


def _find_evidence(
    reader: IndexReader, related: RelatedDeclarations, group: RelationGroup, one: GraphNeighbour
) -> list[CitedLines]:
    """Find the lines that show a relation: of a caller its first calls."""
    numbers = [one.line]
    if group == "called" and one.depth == 1 and related.declared and (source := reader.of_neighbour(one)):
        targets = reader.called(related.declared)
        calls = reader.calls([source.node])
        numbers += [call.line for call in calls if call.path == one.evidence and call.target.node in targets]
    first = sorted(dict.fromkeys(numbers))[:_MAX_PLACES]
    return [line for number in first if (line := reader.line(one.evidence, number))]


def _build_nearest_test(answer_input: AnswerInput) -> Section | None:
    """Build the lead for tests of a behaviour: the test that has most of its words, and those that are near."""
    reading = answer_input.reading
    if reading["kind"] != "find_tests":
        return None
    tests = [
        snippet
        for snippet in answer_input.results
        if snippet.kind not in FILE_NAMED_KINDS and answer_input.reader.role(snippet.path) == "test"
    ]
    if not tests:
        return None
    first = get_full_snippet(answer_input, tests[0])
    lines = cite_snippet(first)
    excerpt = build_excerpt(lines, first.language, answer_input.term_idf, signature=first.signature)
    parts: list[Part] = [f"By its words **{code(first.name)}** is the test, in ", lines, "."]
    nearby = [list_snippet(answer_input, snippet) for snippet in tests[1 : 1 + _MAX_TESTS]]
    return build_lead("relation", Statement(parts, "quotes", excerpt), *nearby)
