"""Sections of an answer about a difference: what the two sides are, where they differ, and what they have in common."""

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Final

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.evidence.compared_sides import ComparedSide, ComparedSides, build_side, name_neighbours
from coderag.answering.evidence.declared import CALLABLE
from coderag.answering.evidence.question_ends import get_ends
from coderag.answering.extractive.excerpts import build_excerpt, group_runs
from coderag.answering.extractive.sections import DraftSection, DraftStatement, Excerpt, Part, build_lead
from coderag.answering.extractive.wording import (
    extract_first_sentence,
    format_code,
    format_code_line,
    format_kind,
    format_kind_with_article,
    join_words,
)
from coderag.schema.graph import GraphNeighbour
from coderag.text.tokenizer import tokenize_text

_MAX_NAMES, _MAX_PLACES, _MAX_CALLERS = 4, 2, 2
_MAX_EXCERPT_LINES, _MAX_DIFFERING_LINES = 12, 8
_MIN_LIKENESS: Final = 0.4  # of the lines of two declarations; below, a line diff says nothing


def build_comparison(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the lead: what each side is by its own documentation, and how the two are related."""
    del sections
    sides = answer_input.compared_sides
    ends = get_ends(answer_input.analysis)
    if sides is None or ends is None:
        return None
    known = [side for side in sides if side]
    descriptions = [extract_first_sentence(side.reader.get_summary(side.declared)) for side in known]
    parts: list[Part] = []
    for side, described in zip(known, descriptions, strict=True):
        parts += [f"{' ' if parts else ''}**{_name(side)}** ({format_kind(side.declared.kind)}, ", side.head, ")"]
        end = "." if any(descriptions) or side is known[-1] else " and"
        parts.append(f": {_close(described)}" if described else end)
    if len(known) == 1:
        unknown = ends.last if sides.first else ends.first
        sentence = f"Nothing that is called or described as {format_code(unknown)} was found to compare with."
        excerpt = _build_deciding(answer_input, known[0])
        return build_lead(
            "comparison", DraftStatement([*parts, f" {sentence}"], "declares", excerpt), missing=[sentence]
        )
    return build_lead("comparison", DraftStatement([*parts, *_relate(*known)], "declares"))


def build_difference(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the list of what differs: kinds, signatures, members, calls, callers, and the lines of code."""
    del sections
    pair = _get_pair(answer_input.compared_sides)
    if pair is None:
        return None
    first, last = pair
    statements = [
        *_compare_signatures(first, last),
        *(statement for side, other in (pair, pair[::-1]) for statement in _list_own(side, other)),
        *_compare_callers(first, last),
        *_compare_code(answer_input, first, last),
    ]
    return DraftSection("difference", statements, "What differs") if statements else None


def build_common(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the list of what both sides extend, call and have."""
    del sections
    pair = _get_pair(answer_input.compared_sides)
    if pair is None:
        return None
    first, last = pair
    statements = []
    for verb, left, right in (("extend", first.bases, last.bases), ("call", first.callees, last.callees)):
        both = [neighbour for name, neighbour in name_neighbours(left).items() if name in name_neighbours(right)]
        if both and (parts := _list_evidence(first, both)):
            statements.append(
                DraftStatement([f"Both {verb} {_list_names(map(_name_neighbour, both))} — ", *parts], "calls")
            )
    if members := [name for name in first.members if name in last.members]:
        heads = [head for name in members[:_MAX_PLACES] if (head := first.reader.read_head(first.members[name]))]
        statements.append(
            DraftStatement([f"Both have {_list_names(map(format_code, members))} — ", *_join_places(heads)], "declares")
        )
    return DraftSection("common", statements, "In common") if statements else None


def _get_pair(sides: ComparedSides | None) -> tuple[ComparedSide, ComparedSide] | None:
    return (sides.first, sides.last) if sides and sides.first and sides.last else None


def _name(side: ComparedSide) -> str:
    return format_code(side.declared.name)


def _close(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?", "…", "。")) else f"{sentence}."


def _relate(first: ComparedSide, last: ComparedSide) -> list[Part]:
    """State which side extends or calls the other, with the line."""
    parts: list[Part] = []
    for side, other in ((first, last), (last, first)):
        for verb, neighbours in (("extends", side.bases), ("calls", side.callees)):
            related = next((neighbour for neighbour in neighbours if other.is_target(neighbour)), None)
            if related and (line := side.reader.read_line(related.evidence, related.line)):
                through = f" through {format_code(related.via)}" if related.depth > 1 else ""
                parts += [f" {_name(side)} {verb} {_name(other)}{through} (", line, ")."]
    return parts


def _compare_signatures(first: ComparedSide, last: ComparedSide) -> list[DraftStatement]:
    """Compare kinds and signatures; of signatures that differ in the name alone nothing is said."""
    if first.declared.kind != last.declared.kind and not {first.declared.kind, last.declared.kind} <= CALLABLE:
        kinds = [f"{_name(side)} is {format_kind_with_article(side.declared.kind)}" for side in (first, last)]
        return [DraftStatement([f"{join_words(kinds)}."])]
    signatures, normalised = [], []
    for side in (first, last):
        text = side.reader.get_signature(side.declared) or side.head.text.strip()
        signatures.append(text)
        normalised.append("".join(text.replace(side.declared.name.rpartition(".")[2], "").split()))
    if normalised[0] == normalised[1] or first.members or last.members:
        return []
    parts: list[Part] = [
        f"Signatures: {format_code_line(signatures[0])} — ",
        first.head,
        f"; {format_code_line(signatures[1])} — ",
        last.head,
    ]
    return [DraftStatement(parts, "differs")]


def _list_own(side: ComparedSide, other: ComparedSide) -> list[DraftStatement]:
    """List the members that only one side has, and the calls that only it makes."""
    statements = []
    if own := [name for name in side.members if name not in other.members]:
        heads = [head for name in own[:_MAX_PLACES] if (head := side.reader.read_head(side.members[name]))]
        names = _list_names(map(format_code, own))
        statements.append(DraftStatement([f"Only {_name(side)} has {names} — ", *_join_places(heads)], "differs"))
    theirs = name_neighbours(other.callees)
    called = [
        neighbour
        for name, neighbour in name_neighbours(side.callees).items()
        if name not in theirs and not other.is_target(neighbour)
    ]
    if called and (parts := _list_evidence(side, called)):
        names = _list_names(map(_name_neighbour, called))
        statements.append(DraftStatement([f"Only {_name(side)} calls {names} — ", *parts], "calls"))
    return statements


def _compare_callers(first: ComparedSide, last: ComparedSide) -> list[DraftStatement]:
    """Compare who calls the sides; nothing is said where one has no known caller, or they have the same."""
    callers = [name_neighbours(side.callers) for side in (first, last)]
    if not all(callers) or set(callers[0]) == set(callers[1]):
        return []
    parts: list[Part] = []
    for side, names in zip((first, last), callers, strict=True):
        neighbours = list(names.values())
        places = _list_evidence(side, neighbours[:1])
        listed = _list_names(map(_name_neighbour, neighbours), _MAX_CALLERS)
        parts += [f"{'; ' if parts else ''}{_name(side)} is called by {listed} — ", *places]
    return [DraftStatement(parts, "calls")]


def _compare_code(answer_input: AnswerInput, first: ComparedSide, last: ComparedSide) -> list[DraftStatement]:
    """Show the lines that only one side has if the code is alike; else the lines of each that decide.

    Of two types that is the code of the member that both have and that the question is about.
    """
    if first.members or last.members:
        pair = _choose_members(answer_input, first, last)
        return _compare_code(answer_input, *pair) if pair else []
    texts = [[_normalize(line, side) for line in side.lines.text.split("\n")] for side in (first, last)]
    matcher = SequenceMatcher(a=texts[0], b=texts[1], autojunk=False)
    is_alike = matcher.ratio() >= _MIN_LIKENESS and max(map(len, texts)) > _MAX_EXCERPT_LINES
    blocks = [block for block in matcher.get_opcodes() if block[0] != "equal"]
    changed = [range(block[1], block[2]) for block in blocks], [range(block[3], block[4]) for block in blocks]
    statements = []
    for side, lines, ranges in zip((first, last), texts, changed, strict=True):
        own = [number for numbers in ranges for number in numbers if lines[number]]
        if is_alike and own:
            statements.append(
                DraftStatement([f"Only in {_name(side)}: ", side.lines], "differs", _show_lines(side, own))
            )
        elif not is_alike:
            statements.append(
                DraftStatement([f"{_name(side)}: ", side.lines], "quotes", _build_deciding(answer_input, side))
            )
    return statements


def _choose_members(
    answer_input: AnswerInput, first: ComparedSide, last: ComparedSide
) -> tuple[ComparedSide, ComparedSide] | None:
    """Choose the function that both types have, and that has most of the question in its name; of several the longest."""
    both = [name for name, member in first.members.items() if member.kind in CALLABLE and name in last.members]

    def order(name: str) -> tuple[float, int]:
        terms = tokenize_text(name)
        return sum(answer_input.term_idf.get(term, 0.0) for term in terms), first.members[name].length

    if not both:
        return None
    name = max(both, key=order)
    sides = [build_side(side.reader, side.members[name]) for side in (first, last)]
    return (sides[0], sides[1]) if sides[0] and sides[1] else None


def _show_lines(side: ComparedSide, numbers: Sequence[int]) -> Excerpt:
    """Show the first of some lines, and the single lines between them, which read better than a marker."""
    positions: list[int] = []
    for number in numbers[:_MAX_DIFFERING_LINES]:
        positions += [number - 1, number] if positions and positions[-1] == number - 2 else [number]
    runs = group_runs([side.lines.start_line + number for number in positions])
    return Excerpt(side.lines, runs, side.reader.get_language(side.declared.path))


def _normalize(line: str, side: ComparedSide) -> str:
    return " ".join(line.replace(side.declared.name.rpartition(".")[2], "").split())


def _build_deciding(answer_input: AnswerInput, side: ComparedSide) -> Excerpt:
    return build_excerpt(
        side.lines,
        side.reader.get_language(side.declared.path),
        answer_input.term_idf,
        signature=side.reader.get_signature(side.declared),
        max_lines=_MAX_EXCERPT_LINES,
    )


def _name_neighbour(neighbour: GraphNeighbour) -> str:
    return format_code(neighbour.qualified_name or neighbour.path)


def _list_names(names: Iterable[str], most: int = _MAX_NAMES) -> str:
    listed = list(names)
    more = [f"{len(listed) - most} more"] if len(listed) > most else []
    return join_words([*listed[:most], *more])


def _list_evidence(side: ComparedSide, neighbours: Sequence[GraphNeighbour]) -> list[Part]:
    lines = (side.reader.read_line(neighbour.evidence, neighbour.line) for neighbour in neighbours[:_MAX_PLACES])
    return _join_places([line for line in lines if line])


def _join_places(places: Sequence[Part]) -> list[Part]:
    return [part for number, place in enumerate(places) for part in ((", ", place) if number else (place,))]
