"""Say that a type or module has no such member, rather than tell of what others have by that name."""

import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches

from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.evidence.index_reader import MOST_NAMED, Declared, IndexReader
from coderag.answering.extractive.wording import Writer, a_kind, code, joined

_MOST_NEAR, _MOST_SHOWN = 3, 4


def write_absent(writer: Writer, index: IndexReader, names: Sequence[str]) -> list[str]:
    """Write which of some names are members that their types do not have, and what comes near; return it as sentences."""
    return [sentence for name in dict.fromkeys(names) if (sentence := _absent(writer, index, name))]


def _absent(writer: Writer, index: IndexReader, name: str) -> str:
    absent = index.graph.symbol_resolver.find_missing_member(name)
    if absent is None:
        return ""
    owners = [index.declared(node) for node in absent.nodes]
    if any(_sets(index, one, absent.member) for one in owners):
        return ""
    last = absent.owner.rpartition(".")[2]
    sentence = (
        f"{code(owners[0].name)} has no {code(absent.member)} that is declared or inherited in this repository."
        if owners
        else f"Nothing is called {code(last)}."
    )
    heads = [(one, head) for one in owners[:_MOST_NEAR] if (head := index.head_of(one))]
    is_what = joined([f"{a_kind(one.kind)} in {writer.refer(head)}" for one, head in heads])
    writer.say(f"**{sentence}**{f' {code(owners[0].name)} is {is_what}.' if is_what else ''}\n")
    if near := _near(index, last, absent.member, owners):
        writer.say(f"Close by spelling: {joined([code(one) for one in near], 'or')}.\n")
    if elsewhere := index.named(absent.member):
        more = "at least " if len(elsewhere) >= MOST_NAMED else ""
        writer.say(
            f"Declared by that name elsewhere: {joined(cited_declarations(writer.cite, index, elsewhere, more))}.\n"
        )
    return sentence


def cited_declarations(
    cite: Callable[[CitedLines], str], index: IndexReader, declared: Sequence[Declared], more: str = ""
) -> list[str]:
    """Return the first declarations, each with its place, and how many `more` there are."""
    shown = [(one, head) for one in declared[:_MOST_SHOWN] if (head := index.head_of(one))]
    places = [f"{code(one.name)} in {cite(head)}" for one, head in shown]
    return [*places, f"{more}{len(declared) - len(shown)} more"] if len(declared) > len(shown) else places


def _sets(index: IndexReader, owner: Declared, member: str) -> bool:
    """Whether a type has a member by using it of itself, as in Python and Ruby, where nothing else declares fields."""
    lines = index.lines_of(owner)
    used = re.compile(rf"(?:\b(?:self|this|cls)\s*(?:\.|->)\s*|@){re.escape(member)}\b")
    return lines is not None and used.search(lines.text) is not None


def _near(index: IndexReader, owner: str, member: str, owners: Sequence[Declared]) -> list[str]:
    """Return what may be meant: members that are spelt nearly so, else what is called nearly as the unknown owner."""
    if not owners:
        similar: list[str] = index.corpus.symbols.suggest_names(owner, _MOST_NEAR)
        return similar
    members = [inside.name for one in owners for inside in index.members(one)]
    by_last = {name.rpartition(".")[2]: name for name in reversed(members)}
    return [by_last[last] for last in get_close_matches(member, by_last, n=_MOST_NEAR)]
