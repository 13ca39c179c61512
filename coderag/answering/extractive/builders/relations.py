"""Sections of an answer about a relation: how many declarations have it, the nearest of them, and those further away."""

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.evidence.declared import FILE, Declared
from coderag.answering.evidence.folders import count_folders_apart
from coderag.answering.evidence.index_reader import IndexReader
from coderag.answering.evidence.relation_groups import (
    GROUP_QUERIES,
    USERS,
    RelatedDeclarations,
    RelationGroup,
    get_key,
    is_sure,
)
from coderag.answering.extractive.builders.absent import build_absent, describe_unknown_names, find_unknown_names
from coderag.answering.extractive.builders.mentions import build_lines_lead
from coderag.answering.extractive.builders.missing_members import build_missing_member
from coderag.answering.extractive.builders.nearest_test import build_nearest_test
from coderag.answering.extractive.sections import DraftSection, DraftStatement, Part, build_lead
from coderag.answering.extractive.wording import (
    format_code,
    format_code_line,
    format_command,
    format_count,
    format_kind,
    join_words,
)
from coderag.schema.graph import GraphNeighbour
from coderag.schema.vocabulary import AnswerSectionKind, ProofRelation

_MAX_USERS, _MAX_OTHERS, _MAX_TESTS = 8, 5, 3
_MAX_NAMED = 3  # in the lead
_MAX_PLACES = 3  # of one caller
_MAX_NAMESAKES = 3
_NEXT_STEP: Final = 2  # depth of what is reached through a direct neighbour
_ABSTRACT_KINDS: Final = frozenset({"interface", "trait"})


class _Wording(NamedTuple):
    """Wording of a group.

    Attributes:
        clause: Clause of the lead about it, before the count.
        nouns: Its members, singular and plural.
        addition: What follows the count where another group comes first.
        title: Heading of its list.
        proof: Relation that the lines show.
    """

    clause: str
    nouns: tuple[str, str]
    addition: str
    title: str
    proof: ProofRelation


_DECLARATIONS: Final = ("declaration", "declarations")
_TYPES: Final = ("type", "types")
_METHODS: Final = ("method", "methods")
_WORDINGS: Final[Mapping[RelationGroup, _Wording]] = MappingProxyType(
    {
        "called": _Wording("is called by", _DECLARATIONS, "calling it", "Called by", "calls"),
        "derived": _Wording("is extended by", _TYPES, "extending it", "Extended by", "inherits"),
        "overridden": _Wording("is overridden by", _METHODS, "overriding it", "Overridden by", "overrides"),
        "referenced": _Wording("is named by", _DECLARATIONS, "naming it", "Named by", "references"),
        "imported": _Wording("is imported by", ("file", "files"), "importing it", "Imported by", "imports"),
        "tested": _Wording("is exercised by", ("test", "tests"), "", "Tests", "tests"),
        "calls": _Wording("calls", _DECLARATIONS, "that it calls", "Calls", "calls"),
        "refers": _Wording("names", _DECLARATIONS, "that it names", "Names", "references"),
        "imports": _Wording(
            "imports", ("file or package", "files and packages"), "that it imports", "Imports", "imports"
        ),
        "bases": _Wording("extends", _TYPES, "that it extends", "Extends", "inherits"),
        "overrides": _Wording("overrides", _METHODS, "that it overrides", "Overrides", "overrides"),
        "further": _Wording("is reached by", _DECLARATIONS, "reaching it through those", "Through those", "calls"),
    }
)
_OTHERS: Final[Sequence[RelationGroup]] = ("calls", "refers", "imports", "bases", "overrides")


def build_relation(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the lead: how many declarations are related to the subject as the question asks, and the nearest of them."""
    if missing := build_missing_member(answer_input, sections):
        return missing
    related = answer_input.related_declarations
    if related is None or not related.groups:
        return _build_unresolved(answer_input, related)
    unknown = describe_unknown_names(answer_input) if related.is_assumed else []
    parts: list[Part] = [f"{sentence} " for sentence in unknown]
    parts += [*_name_subject(answer_input.reader, related), f" {_describe_groups(related)}."]
    statements = [DraftStatement(parts, "declares")]
    listed = {get_key(neighbour) for members in related.groups.values() for neighbour in members}
    if namesakes := [neighbour for neighbour in related.namesakes if (neighbour.path, neighbour.name) not in listed]:
        statements.append(_list_namesakes(answer_input.reader, namesakes))
    return build_lead("relation", *statements, missing=unknown)


def _build_unresolved(answer_input: AnswerInput, related: RelatedDeclarations | None) -> DraftSection | None:
    """Build the lead where no relation of the subject is known; of tests also the nearest by their words."""
    lines_lead = build_lines_lead(answer_input, related)
    nearest = build_nearest_test(answer_input)
    if nearest is None:
        is_unknown = lines_lead is None and find_unknown_names(answer_input)
        return build_absent(answer_input, ()) if is_unknown else lines_lead
    declared = related.declared if related else None
    is_testable = declared is not None and declared.kind != FILE and declared.role != "test"
    if lines_lead is None or not is_testable:
        return build_lead("relation", nearest)
    return build_lead("relation", *lines_lead.statements, nearest, missing=lines_lead.missing)


def build_related(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the list of what is related directly, each with the line that shows it."""
    del sections
    related = answer_input.related_declarations
    main = _get_main(related) if related else ()
    if not related or not main:
        return None
    direct = [
        (group, neighbour)
        for group in main
        for neighbour in _rank(related, related.groups[group])
        if neighbour.depth == 1
    ]
    nearest = direct or [(group, neighbour) for group in main for neighbour in related.groups[group]]
    nearest = [(group, neighbour) for group, neighbour in nearest if neighbour in _drop_tests(related.groups[group])]
    title = _get_wording(related, main[0]).title if len(main) == 1 else "Used by"
    return _build_list(answer_input, related, "related", title, nearest, _MAX_USERS)


def build_further(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the list of what reaches the subject through something else, by the number of steps."""
    del sections
    related = answer_input.related_declarations
    if not related:
        return None
    main = _get_main(related)
    if "further" in related.groups:
        main.append("further")
    distant = [neighbour for group in main for neighbour in related.groups[group] if neighbour.depth > 1]
    if not distant or not any(neighbour.depth == 1 for group in main for neighbour in related.groups[group]):
        return None
    distant.sort(key=lambda neighbour: (not is_sure(neighbour), neighbour.depth))
    group: RelationGroup = "further" if "further" in related.groups else main[0]
    return _build_list(
        answer_input, related, "further", "Through those", [(group, neighbour) for neighbour in distant], _MAX_OTHERS
    )


def build_tests(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the list of the tests that exercise the subject, the most direct first."""
    related = answer_input.related_declarations
    if any(section.kind == "related" for section in sections) and related and "tested" not in _get_main(related):
        tests = sorted(
            related.groups.get("tested", ()), key=lambda neighbour: (not is_sure(neighbour), neighbour.depth)
        )
        if tests:
            return _build_list(
                answer_input, related, "tests", "Tests", [("tested", neighbour) for neighbour in tests], _MAX_TESTS
            )
    return None


def _get_main(related: RelatedDeclarations) -> list[RelationGroup]:
    """Return the groups that the question asks for: its users, else what it uses, else its tests or what is distant."""
    for groups in (USERS[:-1], USERS[-1:], _OTHERS, ("tested",), ("further",)):
        if present := [group for group in groups if group in related.groups]:
            return present
    return []


def _name_subject(reader: IndexReader, related: RelatedDeclarations) -> list[Part]:
    declared = related.declared
    if declared is None:
        return [f"**{format_code(related.name)}** (not declared in this repository)"]
    head = reader.read_head(declared)
    assumed = "; taken as what the question means" if related.is_assumed else ""
    if declared.kind == FILE or head is None:
        return [f"**{format_code(declared.path)}**"]
    return [f"**{format_code(declared.name)}** ({format_kind(declared.kind)}, ", head, f"{assumed})"]


def _describe_groups(related: RelatedDeclarations) -> str:
    """Describe how many are related to the subject; of the group that the question asks for the nearest by name."""
    first, *further = _get_main(related)
    further += [
        group for group in ("tested", "further", "imported") if group in related.groups and group not in further
    ]
    wording = _get_wording(related, first)
    members = _drop_tests(related.groups[first])
    nearest = [neighbour for neighbour in members if neighbour.depth == 1] or members
    sure = [neighbour for neighbour in nearest if is_sure(neighbour)]
    clause = wording.clause if sure else wording.clause.replace("is ", "may be ").replace("calls", "may call")
    described = (
        f"{clause} {format_count(len(sure or nearest), *wording.nouns)}: {_name_nearest(related, sure or nearest)}"
    )
    if sure and len(sure) < len(nearest):
        described += f"; {format_count(len(nearest) - len(sure), 'other')} may call it"
    if distant := len(members) - len(nearest):
        described += f"; {distant:,} more through those"
    if in_tests := len(related.groups[first]) - len(members):
        described += f"; {in_tests:,} more in tests"
    additions = [_add_group(related, group) for group in further if group != first]
    return f"{described}. Also {join_words(additions)}" if additions else described


def _add_group(related: RelatedDeclarations, group: RelationGroup) -> str:
    wording = _get_wording(related, group)
    members = related.groups[group]
    sure = [neighbour for neighbour in members if is_sure(neighbour)]
    unsure = "" if sure else "perhaps "
    return f"{unsure}{format_count(len(sure or members), *wording.nouns)} {wording.addition}".rstrip()


def _drop_tests(members: Sequence[GraphNeighbour]) -> Sequence[GraphNeighbour]:
    """Return the members that are no tests; all if they all are."""
    return [neighbour for neighbour in members if neighbour.role != "test"] or members


def _name_nearest(related: RelatedDeclarations, members: Sequence[GraphNeighbour]) -> str:
    counts = Counter(_name_neighbour(neighbour) for neighbour in _rank(related, members))
    names = [name if number == 1 else f"{name} ({number} of that name)" for name, number in counts.items()]
    most = _MAX_NAMED if len(names) > _MAX_NAMED + 1 else len(names)
    more = [f"{sum([*counts.values()][most:]):,} more"] if len(names) > most else []
    return join_words([*names[:most], *more])


def _get_wording(related: RelatedDeclarations, group: RelationGroup) -> _Wording:
    wording = _WORDINGS[group]
    if group == "derived" and related.declared and related.declared.kind in _ABSTRACT_KINDS:
        return wording._replace(
            clause="is implemented by", addition="implementing it", title="Implemented by", proof="implements"
        )
    return wording


def _list_namesakes(reader: IndexReader, namesakes: Sequence[Declared]) -> DraftStatement:
    """Build the line that lists other declarations of the name."""
    parts: list[Part] = ["Others of that name: "]
    cited = [(neighbour, head) for neighbour in namesakes[:_MAX_NAMESAKES] if (head := reader.read_head(neighbour))]
    for number, (neighbour, head) in enumerate(cited):
        parts += [f"{', ' if number else ''}{format_code(neighbour.name)} (", head, ")"]
    more = len(namesakes) - len(cited)
    return DraftStatement([*parts, f" and {more} more." if more else "."], "declares")


def _rank(related: RelatedDeclarations, members: Sequence[GraphNeighbour]) -> list[GraphNeighbour]:
    """Rank neighbours: code of the product first, then what is sure, then those of the nearest files."""
    home = related.declared.path if related.declared else ""

    def order(neighbour: GraphNeighbour) -> tuple[bool, bool, bool, int, str, int]:
        path = neighbour.evidence
        apart = count_folders_apart(path, home)
        return neighbour.role != "source", not is_sure(neighbour), path != home, apart, path, neighbour.line

    return sorted(members, key=order)


def _build_list(
    answer_input: AnswerInput,
    related: RelatedDeclarations,
    kind: AnswerSectionKind,
    title: str,
    members: Sequence[tuple[RelationGroup, GraphNeighbour]],
    most: int,
) -> DraftSection | None:
    """Build a list of the first members, and the command that lists the group of most of the others."""
    listed = [_list_neighbour(answer_input.reader, related, group, neighbour) for group, neighbour in members[:most]]
    statements = [statement for statement in listed if statement]
    if rest := members[most:]:
        group = Counter(group for group, _ in rest).most_common(1)[0][0]
        query = GROUP_QUERIES[group]
        name = related.declared.key if related.declared and related.namesakes else related.name
        spelling = answer_input.reader.find_unambiguous_name(query, name)
        hint = f": {format_command(query, spelling)} lists all" if spelling else ""
        statements.append(DraftStatement([f"and {len(rest):,} more{hint}"]))
    return DraftSection(kind, statements, title) if statements else None


def _list_neighbour(
    reader: IndexReader, related: RelatedDeclarations, group: RelationGroup, neighbour: GraphNeighbour
) -> DraftStatement | None:
    """Build the entry of a neighbour: its name, the line that shows the relation, and the place."""
    lines = _find_evidence(reader, related, group, neighbour)
    if not lines:
        return None
    steps = f", {neighbour.depth} steps away" if neighbour.depth > _NEXT_STEP else ""
    through = f" through {format_code(neighbour.via)}{steps}" if neighbour.depth > 1 and neighbour.via else ""
    unsure = "" if is_sure(neighbour) else " (may call it)"
    parts: list[Part] = [f"{_name_neighbour(neighbour)}{through}{unsure}: {format_code_line(lines[0].text)} — "]
    for number, line in enumerate(lines):
        parts += [", ", line] if number else [line]
    return DraftStatement(parts, _get_wording(related, group).proof, is_claim=is_sure(neighbour))


def _name_neighbour(neighbour: GraphNeighbour) -> str:
    name = format_code(neighbour.qualified_name or neighbour.path)
    return f"file level of {name}" if neighbour.kind == FILE and neighbour.relation != "imported_by" else name


def _find_evidence(
    reader: IndexReader, related: RelatedDeclarations, group: RelationGroup, neighbour: GraphNeighbour
) -> list[CitedLines]:
    """Find the lines that show a relation: of a caller its first calls."""
    numbers = [neighbour.line]
    if (
        group == "called"
        and neighbour.depth == 1
        and related.declared
        and (source := reader.find_neighbour_declaration(neighbour))
    ):
        targets = reader.find_call_targets(related.declared)
        calls = reader.find_calls([source.node])
        numbers += [call.line for call in calls if call.path == neighbour.evidence and call.target.node in targets]
    first = sorted(dict.fromkeys(numbers))[:_MAX_PLACES]
    return [line for number in first if (line := reader.read_line(neighbour.evidence, number))]
