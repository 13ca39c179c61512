"""Sections of an answer about a declaration: what it is and where, its members, and what uses it."""

from collections.abc import Sequence
from typing import Final

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.evidence.declared import FILE, TYPES, Declared
from coderag.answering.evidence.folders import count_folders_apart
from coderag.answering.evidence.index_reader import IndexReader
from coderag.answering.evidence.line_reader import MAX_LINE_CHARS
from coderag.answering.evidence.named_declarations import SubjectDeclarations, find_named
from coderag.answering.evidence.relation_groups import USERS, find_user_groups
from coderag.answering.extractive.excerpts import MAX_EXCERPT_LINES, build_excerpt
from coderag.answering.extractive.sections import DraftSection, DraftStatement, Excerpt, Part, build_lead
from coderag.answering.extractive.wording import (
    extract_first_sentence,
    format_code,
    format_code_line,
    format_command,
    format_count,
    format_kind,
    format_search_command,
)
from coderag.retrieval.literal_text import find_exact
from coderag.stores.symbol_table import split_qualified

_MAX_LONG_LINES: Final = 8  # shown of code that is longer than an excerpt
_MAX_OTHERS, _MAX_MEMBERS, _MAX_USERS, _MAX_WRITTEN = 4, 8, 3, 4
_MAX_SIGNATURE_CHARS, _MAX_MEMBER_CHARS, _MAX_ENTRY_CHARS = 120, 80, 110
_FIELD_KINDS: Final = frozenset({"field", "variable", "constant"})
_PRIVATE_WORDS: Final = frozenset({"private", "fileprivate", "protected", "internal"})
_CAPITAL_IS_PUBLIC: Final = frozenset({"go"})
_PUB_IS_PUBLIC: Final = frozenset({"rust"})


def build_definition(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the lead: kind, place, signature and documentation of each name, else where it is written."""
    del sections
    named = [
        subject
        for subject in find_named(answer_input)
        if subject.declared or _find_written(answer_input.reader, subject.name)
    ]
    if not named:
        return None
    statements: list[DraftStatement] = []
    missing: list[str] = []
    for subject in named:
        if not subject.declared:
            missing.append(f"Nothing that the index knows declares {format_code(subject.name)}.")
            statements.append(_state_written(answer_input.reader, subject.name))
            continue
        statements.append(_state_declaration(answer_input, subject, is_only=len(named) == 1))
        if len(subject.declared) > 1:
            statements.append(_state_others(answer_input.reader, subject.declared[1:]))
    return build_lead("definition", *statements, missing=missing)


def build_members(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the list of a type's members, public ones first; private ones are only counted."""
    declared = find_cited_declaration(answer_input, sections)
    if declared is None or declared.kind not in TYPES:
        return None
    reader = answer_input.reader
    cited_numbers = {
        number
        for lines in sections[0].cited
        if lines.path == declared.path
        for number in range(lines.start_line, lines.end_line + 1)
    }
    is_short = declared.length <= MAX_EXCERPT_LINES and declared.start_line in cited_numbers
    members = [member for member in reader.find_members(declared) if not (is_short and member.kind in _FIELD_KINDS)]
    public = [member for member in members if is_public(reader, member)]
    public.sort(
        key=lambda member: (
            member.kind in _FIELD_KINDS,
            "__" in member.name and not reader.find_calls([member.node], inwards=True),
        )
    )
    statements = [list_member(reader, member) for member in public[:_MAX_MEMBERS]]
    if not statements:
        return None
    n_private = len(members) - len(public)
    rest = [f"{len(public) - len(statements):,} more"] if len(public) > len(statements) else []
    rest += [f"{n_private:,} private"] if n_private else []
    if rest:
        statements.append(
            DraftStatement([f"and {' and '.join(rest)}: {format_command('outline', declared.path)}"], is_claim=False)
        )
    return DraftSection("members", statements, f"Members of {format_code(declared.name)} ({len(members):,})")


def build_users(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the count of what uses the declaration, with the nearest three."""
    declared = find_cited_declaration(answer_input, sections)
    if declared is None:
        return None
    reader = answer_input.reader
    groups = find_user_groups(reader, declared)
    inside = f"{declared.name}."
    using = [
        user for kind in USERS for user in groups.get(kind, ()) if not f"{user.qualified_name}.".startswith(inside)
    ]
    tests = groups.get("tested", ())
    if not (using or tests):
        return None
    users_by_distance = sorted(using or tests, key=lambda user: _measure_distance(user.evidence, declared.path))
    statements: list[DraftStatement] = []
    for user in users_by_distance:
        if len(statements) < _MAX_USERS and (line := reader.read_line(user.evidence, user.line)):
            name = user.path if user.kind == FILE or user.qualified_name == "_" else user.qualified_name
            statements.append(
                DraftStatement([f"{format_code(name)}: {format_code_line(line.text)} — ", line], "references")
            )
    if not statements:
        return None
    spelling = reader.find_unambiguous_name("references", declared.name)
    commands = [format_command("references", spelling)] if spelling else []
    if len(users_by_distance) > len(statements):
        more = f"and {len(users_by_distance) - len(statements):,} more"
        statements.append(DraftStatement([": ".join([more, *commands])], is_claim=False))
    n_files = len({user.evidence for user in using})
    counts = [f"{format_count(len(using), 'place')} of {format_count(n_files, 'file')}"] if using else []
    counts += [f"{format_count(len(tests), 'place')} in tests"] if tests else []
    return DraftSection("users", statements, f"Used in {', and in '.join(counts)}")


def find_cited_declaration(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> Declared | None:
    """Find the one declaration that the lead is about; None if it is about several or none."""
    if not sections or sections[0].kind not in ("definition", "detail"):
        return None
    named = find_named(answer_input)
    return named[0].declared[0] if len(named) == 1 and named[0].declared else None


def list_member(reader: IndexReader, member: Declared) -> DraftStatement:
    """Build an entry of a list of declarations: its signature, what it is for if both are short, and its place."""
    head = reader.read_head(member)
    text = read_signature(reader, member, _MAX_MEMBER_CHARS) or format_code(member.name)
    summary = extract_first_sentence(reader.get_summary(member))
    if summary and len(text) + len(summary) <= _MAX_ENTRY_CHARS:
        text = f"{text}: {summary}"
    return DraftStatement([f"{text} — ", head] if head else [text], "declares")


def read_signature(reader: IndexReader, declared: Declared, max_chars: int = _MAX_SIGNATURE_CHARS) -> str:
    """Return the signature of a declaration as a code span; empty if the index has none."""
    head = reader.read_head(declared)
    text = reader.get_signature(declared) or (head.text if head else "")
    text = text.partition("{")[0] if declared.kind in TYPES else text
    text = " ".join(text.split()).rstrip(" :{=(")
    return format_code(text if len(text) <= max_chars else f"{text[:max_chars].rstrip()} …")


def is_public(reader: IndexReader, declared: Declared) -> bool:
    """Return whether a member is public by the convention of its language."""
    last = (split_qualified(declared.name) or [declared.name])[-1]
    head = reader.read_head(declared)
    words = set((head.text.partition(last)[0] if head else "").replace("(", " ").split())
    language = reader.get_language(declared.path)
    if language in _CAPITAL_IS_PUBLIC:
        return last[:1].isupper()
    if language in _PUB_IS_PUBLIC:
        return any(word.startswith("pub") for word in words) or declared.kind == "field"
    is_hidden = last.startswith(("_", "#")) and not (last.startswith("__") and last.endswith("__"))
    return not is_hidden and _PRIVATE_WORDS.isdisjoint(words)


def _state_declaration(answer_input: AnswerInput, subject: SubjectDeclarations, *, is_only: bool) -> DraftStatement:
    reader, declared = answer_input.reader, subject.declared[0]
    prefix = f"Nothing is called {format_code(subject.name)}; " if subject.is_respelt else ""
    lines = reader.read_declaration(declared) or reader.read_head(declared)
    if declared.kind == FILE or lines is None:
        return DraftStatement(
            [f"{prefix}**{format_code(declared.name)}** is the file {format_code(declared.path)}."], is_claim=False
        )
    summary = extract_first_sentence(reader.get_summary(declared))
    signature = read_signature(reader, declared)
    is_long = declared.length > MAX_EXCERPT_LINES
    parts: list[Part] = [
        f"{prefix}**{format_code(declared.name)}** ({format_kind(declared.kind)}) is declared in ",
        lines,
    ]
    parts.append(f", {signature}" if signature and (is_long or not is_only) else "")
    parts.append(f": {summary}" if summary else ".")
    return DraftStatement(parts, "declares", _build_code(answer_input, declared, lines) if is_only else None)


def _build_code(answer_input: AnswerInput, declared: Declared, lines: CitedLines) -> Excerpt | None:
    """Build the code of a declaration: whole if it is short; of a long type none, for its members are listed."""
    reader = answer_input.reader
    is_long = declared.length > MAX_EXCERPT_LINES
    if is_long and declared.kind in TYPES and reader.find_members(declared):
        return None
    max_lines = _MAX_LONG_LINES if is_long else MAX_EXCERPT_LINES
    language = reader.get_language(declared.path)
    return build_excerpt(lines, language, {}, signature=reader.get_signature(declared), max_lines=max_lines)


def _state_others(reader: IndexReader, declared: Sequence[Declared]) -> DraftStatement:
    """State the other declarations of a name in one line."""
    parts: list[Part] = ["Also declared: "]
    heads = [(other, head) for other in declared if (head := reader.read_head(other))]
    for number, (other, head) in enumerate(heads[:_MAX_OTHERS]):
        parts += [", " if number else "", f"{format_code(other.name)} ({format_kind(other.kind)}) in ", head]
    if len(heads) > _MAX_OTHERS:
        parts.append(f" and {len(heads) - _MAX_OTHERS:,} more")
    return DraftStatement([*parts, "."], "declares")


def _state_written(reader: IndexReader, name: str) -> DraftStatement:
    """State where a name is written that nothing declares: where it gets a value first."""
    lines = _find_written(reader, name)
    parts: list[Part] = [
        f"**{format_code(name)}** is written in {format_count(len(lines), 'line')}, but the index knows no declaration of it: "
    ]
    for number, line in enumerate(lines[:_MAX_WRITTEN]):
        parts += ["; " if number else "", f"{format_code_line(line.text)} — ", line]
    more = f"; {format_search_command(name)} lists all." if len(lines) > _MAX_WRITTEN else "."
    return DraftStatement([*parts, more], "mentions", is_claim=False)


def _find_written(reader: IndexReader, name: str) -> list[CitedLines]:
    """Find the lines that have a name as a word, those that give it a value first, tests last."""
    last = (split_qualified(name) or [name])[-1]
    mentions = [line for line in reader.find_mentions(name, []).lines if len(line.text) <= MAX_LINE_CHARS]
    lines = [CitedLines(line.path, line.line, line.line, line.text) for line in mentions]

    def rate(line: CitedLines) -> tuple[bool, float]:
        return reader.get_role(line.path) in ("test", "docs"), -max(
            (subject.quality for subject in find_exact(line.text, last)), default=0.0
        )

    return sorted(lines, key=rate)


def _measure_distance(path: str, other: str) -> tuple[int, str]:
    """Measure how far apart two files are in the tree of folders."""
    return count_folders_apart(path, other), path
