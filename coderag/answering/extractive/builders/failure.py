"""Sections of an answer about a failure: what the code does then, and who handles it."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.evidence.declared import CALLABLE, MAX_UNSURE_CONFIDENCE, Call
from coderag.answering.evidence.failure_search import DecidingStatement, find_deciding_statements, list_statements
from coderag.answering.evidence.failure_statements import FailureKind, FailureStatement, find_guard
from coderag.answering.extractive.sections import Excerpt, Part, Section, Statement, build_lead
from coderag.answering.extractive.wording import code, code_line, first_sentence
from coderag.schema.vocabulary import ProofRelation

_VERBS: Final[Mapping[FailureKind, str]] = MappingProxyType(
    {
        "raises": "raises", "returns": "returns an error", "handles": "handles", "exits": "exits the process",
        "reports": "reports it", "retries": "waits or tries again", "closes": "closes or cancels",
    }
)  # fmt: skip
_RELATIONS: Final[Mapping[FailureKind, ProofRelation]] = MappingProxyType(
    {"raises": "raises", "handles": "handles", "reports": "reports"}
)
_BEFORE, _AFTER = 3, 7  # lines around the deciding one that are shown
_MAX_SHOWN: Final = 16
_MAX_FURTHER: Final = 4
_MAX_HANDLERS: Final = 3
_MAX_UNHANDLED: Final = 2
_MAX_HANDLER_DISTANCE: Final = 25  # lines from a call to the handler after it
_MIN_SECOND_VALUE: Final = 0.75  # relative to the first


def build_failure(answer_input: AnswerInput, sections: Sequence[Section]) -> Section | None:
    """Build the lead: the statement that decides what happens, with the condition that it stands under."""
    del sections
    found = find_deciding_statements(answer_input)
    if not found:
        return None
    second = [one for one in found[1:2] if one.value >= _MIN_SECOND_VALUE * found[0].value]
    return build_lead("failure", *(_build_deciding(answer_input, one) for one in (found[0], *second)))


def build_handling(answer_input: AnswerInput, sections: Sequence[Section]) -> Section | None:
    """Build the list of what else the deciding function does about failures, and of the handlers in its callers."""
    lead = next((section for section in sections if section.kind == "failure"), None)
    excerpts = [statement.excerpt for statement in lead.statements if statement.excerpt] if lead else []
    if not excerpts:
        return None
    reader, first = answer_input.reader, excerpts[0]
    declared = reader.find_innermost(first.lines.path, first.lines.start_line)
    if declared is None or declared.kind not in CALLABLE:
        return None
    shown = {number for run in first.shown for number in run}
    further = [one for one in list_statements(answer_input, declared) if one.line_number not in shown]
    chosen = sorted(further, key=lambda one: -one.value)[:_MAX_FURTHER]
    statements = [_list_statement(one) for one in sorted(chosen, key=lambda one: one.line_number)]
    calls = [
        call
        for call in reader.find_calls(reader.find_call_targets(declared), inwards=True)
        if call.source.role == declared.role
    ]
    handlers = [_list_handler(call, handler) for call in calls if (handler := _find_handler(answer_input, call))]
    statements += handlers[:_MAX_HANDLERS] or _list_without_handler(answer_input, calls)
    return Section("handling", statements, "Around it") if statements else None


def _build_deciding(answer_input: AnswerInput, found: DecidingStatement) -> Statement:
    texts, statement = found.lines.text.split("\n"), found.statement
    guard = None if statement.kind == "handles" else find_guard(texts, statement.position)
    parts: list[Part] = [f"**{code(found.declared.name)}** {_describe(statement)}"]
    if guard is not None:
        parts.append(f" under {code_line(texts[guard])}")
    parts += [" in ", found.line, "."]
    if summary := _summarize(answer_input, found):
        parts.append(f" {summary}")
    return Statement(parts, _RELATIONS.get(statement.kind, "quotes"), _cut(answer_input, found, guard))


def _summarize(answer_input: AnswerInput, found: DecidingStatement) -> str:
    return first_sentence(answer_input.reader.get_summary(found.declared))


def _describe(statement: FailureStatement) -> str:
    verb = _VERBS[statement.kind]
    if statement.kind in ("raises", "handles"):
        return f"{verb} {code(statement.error)}" if statement.error else f"{verb} an error"
    return verb


def _cut(answer_input: AnswerInput, found: DecidingStatement, guard: int | None) -> Excerpt:
    """Cut a declaration to the deciding line, its condition and what follows."""
    position, last = found.statement.position, found.lines.end_line - found.lines.start_line
    first = max(position - _BEFORE, 0)
    if guard is not None and position - guard <= _MAX_SHOWN - _AFTER:
        first = min(first, guard)
    start = found.lines.start_line
    shown = range(start + first, start + min(position + _AFTER, last) + 1)
    return Excerpt(found.lines, [shown], answer_input.reader.get_language(found.lines.path))


def _list_statement(found: DecidingStatement) -> Statement:
    return Statement(
        [
            f"{code(found.declared.name)} {_describe(found.statement)} in ",
            found.line,
            f": {code_line(found.line.text)}",
        ],
        _RELATIONS.get(found.statement.kind, "quotes"),
    )


def _list_handler(call: Call, handler: DecidingStatement) -> Statement:
    verb = "calls" if call.confidence > MAX_UNSURE_CONFIDENCE else "may call"
    line = CitedLines(
        call.path, call.line, call.line, handler.lines.text.split("\n")[call.line - handler.lines.start_line]
    )
    parts: list[Part] = [f"{code(call.source.name)} {verb} it in ", line, " and has the handler "]
    return Statement([*parts, code_line(handler.line.text), " in ", handler.line], "handles")


def _list_without_handler(answer_input: AnswerInput, calls: Sequence[Call]) -> list[Statement]:
    """List calls that have no handler near them; that there is none is not proved."""
    lines = [(call, answer_input.reader.read_line(call.path, call.line)) for call in calls[:_MAX_UNHANDLED]]
    return [
        Statement([f"{code(call.source.name)} calls it in ", line, ", without a known handler."], is_claim=False)
        for call, line in lines
        if line and call.confidence > MAX_UNSURE_CONFIDENCE
    ]


def _find_handler(answer_input: AnswerInput, call: Call) -> DecidingStatement | None:
    """Find the first handler at or after a call in its caller, near it."""
    handlers: Iterator[DecidingStatement] = (
        one for one in list_statements(answer_input, call.source) if one.statement.kind == "handles"
    )
    return next((one for one in handlers if call.line <= one.line_number <= call.line + _MAX_HANDLER_DISTANCE), None)
