"""Sections of an answer about lines that mention a name where the code graph has no relation, and why it may have none."""

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.evidence.declared import CALLABLE, FILE, TYPES, Declared
from coderag.answering.evidence.index_reader import IndexReader
from coderag.answering.evidence.line_reader import MAX_LINE_CHARS
from coderag.answering.evidence.relation_groups import USERS, RelatedDeclarations
from coderag.answering.extractive.sections import DraftSection, DraftStatement, Part, build_lead
from coderag.answering.extractive.wording import (
    format_code,
    format_code_line,
    format_command,
    format_count,
    format_kind,
    format_prose,
    join_words,
)
from coderag.retrieval.mentions.wording import describe_mentions, list_caveats
from coderag.schema.mentions import MentionContext, NameMention
from coderag.schema.vocabulary import FILE_NAMED_KINDS, VALUE_KINDS, QuestionKind
from coderag.stores.symbol_table import split_qualified

_ROLES: Final = ("source", "generated", "config", "example", "vendored", "test", "docs")
_MAX_LINES, _MAX_UNTIED, _MAX_NAMED = 5, 3, 3
_MAX_ALIKE: Final = 6  # declarations of one name; a call of a name that more have may be of any
_MAX_SAME: Final = 2  # lines with the same text
_CONTEXTS: Final[Mapping[MentionContext, str]] = MappingProxyType(
    {"import": "import", "string": "in a string", "comment": "comment", "text": "document"}
)
_NOUNS: Final[Mapping[QuestionKind, str]] = MappingProxyType(
    {"find_usage": "use", "impact": "use", "find_tests": "test", "hierarchy": "subtype"}
)


def build_lines_lead(answer_input: AnswerInput, related: RelatedDeclarations | None) -> DraftSection | None:
    """Build the lead where no relation of the subject is known: the lines that mention it, and why it may have none."""
    mentions = answer_input.mentions
    if mentions is None or not (related or mentions.total):
        return None
    declared = related.declared if related else None
    subject = _name_subject(answer_input.reader, mentions.name, declared)
    if extensions := _find_extensions(answer_input, declared):
        lines = format_count(len(extensions), "line extends or implements", "lines extend or implement")
        return build_lead("relation", DraftStatement([*subject, f": {lines} it{_name_symbols(extensions)}."]))
    is_usage = answer_input.reading["kind"] in ("find_usage", "impact")
    if mentions.total and (declared is None or (is_usage and declared.kind in VALUE_KINDS)):
        other = "other line" if declared else "line"
        written = f" is written in {format_count(mentions.total, other)}{_name_symbols(_rank_lines(answer_input))}."
        missing = (
            [f"Which of these lines mean {format_code(mentions.name)} is decided by the name alone."]
            if declared
            else []
        )
        return build_lead("relation", DraftStatement([*subject, written], is_claim=False), missing=missing)
    noun = _NOUNS.get(answer_input.reading["kind"], "use")
    if noun == "subtype" and declared and declared.kind in CALLABLE:
        noun = "override"
    description = describe_mentions(mentions, answer_input.mention_query)
    parts: list[Part] = [
        f"No {noun} of ",
        *subject,
        f" could be resolved; {description}{_name_symbols(_rank_lines(answer_input))}.",
    ]
    if related and related.unresolved:
        parts.append(f" Only its name links it to {_name_unresolved(related)}.")
    caveats = list_caveats(mentions, answer_input.mention_query) if not mentions.total else [mentions.reason]
    reasons = [format_prose(caveat) for caveat in caveats]
    sentence = describe_missing(noun, mentions.name)
    return build_lead("relation", DraftStatement([*parts, " ", " ".join(reasons)], is_claim=False), missing=[sentence])


def build_mentions(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the list of lines that mention the subject: all if no relation is known, else those that none explains."""
    related = answer_input.related_declarations
    if any(section.kind == "mentions" for section in sections):
        return None
    if related and related.groups:
        return _build_unexplained(answer_input, related)
    if answer_input.mentions is None or any(
        statement.excerpt for section in sections for statement in section.statements
    ):
        return None
    declared = related.declared if related else None
    lines = _find_extensions(answer_input, declared) or _rank_lines(answer_input)
    statements = [_list_line(line) for line in _drop_same(lines)[:_MAX_LINES]]
    if (more := len(lines) - len(statements)) > 0:
        statements.append(
            DraftStatement([f"and {more:,} more: {format_command('mentions', answer_input.mentions.name)}"])
        )
    return DraftSection("mentions", statements, "Lines that mention it") if statements else None


def describe_missing(noun: str, name: str) -> str:
    """Describe what is not known of a name, as a sentence."""
    return f"No {noun} of {format_code(name)} could be resolved."


def _build_unexplained(answer_input: AnswerInput, related: RelatedDeclarations) -> DraftSection | None:
    """Build what may use the subject as well: calls on values of unknown type, and lines without a relation."""
    mentions = answer_input.mentions
    if not set(USERS).intersection(related.groups) or mentions is None:
        return None
    declared = related.declared
    if declared and "called" in related.groups and (untied := _find_untied_calls(answer_input, declared)):
        statements = [
            DraftStatement([f"{format_code_line(line.text)} — ", line], "mentions", is_claim=False)
            for line in untied[:_MAX_UNTIED]
        ]
        if (more := len(untied) - len(statements)) > 0:
            statements.append(DraftStatement([f"and {more:,} more: {format_command('mentions', related.name)}"]))
        return DraftSection("mentions", statements, "May call it, on values of unknown type")
    lines = [line for line in _rank_lines(answer_input) if not line.linked and line.context in ("code", "string")]
    listed = [line for line in _drop_same(lines) if line.role != "test"]
    statements = [_list_line(line) for line in listed[:_MAX_UNTIED]]
    if (more := len(lines) - len(statements)) > 0:
        opening = "and " if statements else "Also "
        statements.append(
            DraftStatement([f"{opening}{format_count(more, 'more line')}: {format_command('mentions', related.name)}"])
        )
    return DraftSection("mentions", statements, "Mention it without a known relation") if statements else None


def _name_subject(reader: IndexReader, name: str, declared: Declared | None) -> list[Part]:
    if declared is None:
        return [f"**{format_code(name)}** (declared nowhere in this repository)"]
    head = reader.read_head(declared)
    if declared.kind == FILE or head is None:
        return [f"**{format_code(declared.path)}**"]
    return [f"**{format_code(declared.name)}** ({format_kind(declared.kind)}, ", head, ")"]


def _name_unresolved(related: RelatedDeclarations) -> str:
    names = list(
        dict.fromkeys(format_code(neighbour.qualified_name or neighbour.path) for neighbour in related.unresolved)
    )
    more = [f"{len(names) - _MAX_NAMED} more"] if len(names) > _MAX_NAMED else []
    return join_words([*names[:_MAX_NAMED], *more])


def _name_symbols(lines: Sequence[NameMention]) -> str:
    """Name the declarations that lines are in, the first ones; empty if they are in none."""
    names = list(dict.fromkeys(format_code(line.symbol) for line in lines if line.symbol and not _is_outside(line)))
    more = [f"{len(names) - _MAX_NAMED:,} more"] if len(names) > _MAX_NAMED else []
    return f": {join_words([*names[:_MAX_NAMED], *more])}" if names else ""


def _list_line(line: NameMention) -> DraftStatement:
    inside = "" if _is_outside(line) else f"{format_code(line.symbol)}: "
    context = "" if line.context == "code" else f" ({_CONTEXTS[line.context]})"
    return DraftStatement([f"{inside}{format_code_line(line.text)}{context} — ", _build_citation(line)], "mentions")


def _build_citation(line: NameMention) -> CitedLines:
    return CitedLines(line.path, line.line, line.line, line.text)


def _is_outside(line: NameMention) -> bool:
    return not line.symbol or line.kind in FILE_NAMED_KINDS


def _rank_lines(answer_input: AnswerInput) -> list[NameMention]:
    """Rank the lines that mention the subject: code before prose, of its own file first, of tests and documents last."""
    mentions, related = answer_input.mentions, answer_input.related_declarations
    own = related.declared.path if related and related.declared else ""

    def order(line: NameMention) -> tuple[bool, bool, int]:
        return line.context != "code", line.path != own, _ROLES.index(line.role)

    lines = mentions.lines if mentions else ()
    return sorted((line for line in lines if len(line.text) <= MAX_LINE_CHARS), key=order)


def _drop_same(lines: Iterable[NameMention]) -> list[NameMention]:
    """Return lines without those of which there are several with the same text, such as in pages of a manual."""
    texts: dict[str, int] = {}
    distinct = []
    for line in lines:
        text = line.text.strip()
        texts[text] = texts.get(text, 0) + 1
        if texts[text] <= _MAX_SAME:
            distinct.append(line)
    return distinct


def _find_extensions(answer_input: AnswerInput, declared: Declared | None) -> list[NameMention]:
    """Find the lines that extend or implement a type of elsewhere, by their words; none of a type of the repository."""
    mentions = answer_input.mentions
    if answer_input.reading["kind"] != "hierarchy" or mentions is None or (declared and declared.kind in TYPES):
        return []
    word = re.escape((split_qualified(mentions.name) or [mentions.name])[-1])
    extends = re.compile(
        rf"\bimpl\b.*\b{word}\b.*\bfor\b|\b(?:implements|extends|include|with)\b[^;]*\b{word}\b"
        rf"|\b(?:class|struct|interface|trait|enum|record|object)\s+\w[^;=]*[(:,]\s*(?:[\w.]+[.:])?{word}\b"
        rf"|@behaviou?r\s+[\w.]*\b{word}\b"
    )
    return [line for line in _rank_lines(answer_input) if extends.search(line.text)]


def _find_untied_calls(answer_input: AnswerInput, declared: Declared) -> list[CitedLines]:
    """Find the lines of code that call a method of the same name on something, and that the code graph ties to nothing.

    Those of values that are called as where it is known come first. Of a name that many declarations have there are none:
    they may be calls of any.
    """
    reader = answer_input.reader
    last = declared.name.rpartition(".")[2]
    alike = reader.find_declarations(last)
    if len(alike) >= _MAX_ALIKE or declared.kind not in CALLABLE:
        return []
    nodes = {node for declaration in alike for node in reader.find_call_targets(declaration)}
    tied = {(call.path, call.line) for call in reader.find_calls(nodes, inwards=True)}
    pattern = re.compile(rf"^(?!\s*(?:#|//|/?\*)).*?(\w*)(?:\(\))?(?:\.|->|::)\s*{re.escape(last)}\s*\(")
    calls = [
        (line, called[1])
        for line in _rank_lines(answer_input)
        if line.role != "docs" and (called := pattern.search(line.text))
    ]
    known = {value for line, value in calls if (line.path, line.line) in tied}
    untied = [call for call in calls if (call[0].path, call[0].line) not in tied and not call[0].linked]
    return [_build_citation(line) for line, _ in sorted(untied, key=lambda call: call[1] not in known)]
