"""Lead of an answer about a member that its type does not have, rather than of others that have its name."""

import re
from collections.abc import Sequence
from difflib import get_close_matches

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.evidence.declared import Declared
from coderag.answering.evidence.index_reader import IndexReader
from coderag.answering.extractive.sections import DraftSection, DraftStatement, Part, build_lead
from coderag.answering.extractive.wording import format_code, format_kind_with_article, join_words

_MAX_NEAREST, _MAX_OWNERS, _MAX_ELSEWHERE = 3, 2, 3


def build_missing_member(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the lead that says which members of a question their types do not have, and what is near."""
    del sections
    statements: list[DraftStatement] = []
    missing: list[str] = []
    for name in answer_input.names:
        if described := _describe_missing_member(answer_input.reader, name):
            sentence, statement = described
            missing.append(sentence)
            statements.append(statement)
    return build_lead("absent", *statements, missing=missing) if statements else None


def _describe_missing_member(reader: IndexReader, name: str) -> tuple[str, DraftStatement] | None:
    absent = reader.graph.symbol_resolver.find_missing_member(name)
    if absent is None:
        return None
    owners = [reader.get_declaration(node) for node in absent.nodes]
    if any(_has_member_use(reader, owner, absent.member) for owner in owners):
        return None
    last = absent.owner.rpartition(".")[2]
    sentence = (
        f"{format_code(owners[0].name)} has no {format_code(absent.member)} that is declared or inherited in this repository."
        if owners
        else f"Nothing is called {format_code(last)}."
    )
    parts: list[Part] = [f"**{sentence}**"]
    for number, owner in enumerate(owners[:_MAX_OWNERS]):
        if head := reader.read_head(owner):
            parts += [", and " if number else " It is ", f"{format_kind_with_article(owner.kind)} in ", head]
    parts += ["."] if owners else []
    if similar := _find_near_names(reader, last, absent.member, owners):
        parts.append(f" Close by spelling: {join_words([format_code(other) for other in similar], 'or')}.")
    elsewhere = [
        (declared, head) for declared in reader.find_declarations(absent.member) if (head := reader.read_head(declared))
    ]
    for number, (declared, head) in enumerate(elsewhere[:_MAX_ELSEWHERE]):
        parts += [", " if number else " Declared elsewhere: ", f"{format_code(declared.name)} in ", head]
    if elsewhere:
        more = len(elsewhere) - _MAX_ELSEWHERE
        parts.append(f" and {more:,} more." if more > 0 else ".")
    return sentence, DraftStatement(parts, is_claim=False)


def _has_member_use(reader: IndexReader, owner: Declared, member: str) -> bool:
    """Return whether a type uses a member of itself: in Python and Ruby nothing else declares fields."""
    lines = reader.read_declaration(owner)
    used = re.compile(rf"(?:\b(?:self|this|cls)\s*(?:\.|->)\s*|@){re.escape(member)}\b")
    return lines is not None and used.search(lines.text) is not None


def _find_near_names(reader: IndexReader, owner: str, member: str, owners: Sequence[Declared]) -> list[str]:
    """Find what may be meant: members that are spelt nearly so, else what is called nearly as the unknown owner."""
    if not owners:
        similar: list[str] = reader.corpus.symbols.suggest_names(owner, _MAX_NEAREST)
        return similar
    members = [inside.name for declared in owners for inside in reader.find_members(declared)]
    by_last = {name.rpartition(".")[2]: name for name in reversed(members)}
    return [by_last[last] for last in get_close_matches(member, by_last, n=_MAX_NEAREST)]
