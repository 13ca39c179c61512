"""Sections of an answer about a failure: what the code does then, and who handles it."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.evidence.declared import CALLABLE, MAX_UNSURE_CONFIDENCE, Call
from coderag.answering.evidence.failure_outcomes import list_handler_outcomes, read_expression
from coderag.answering.evidence.failure_search import DecidingStatement, find_deciding_statements, list_statements
from coderag.answering.evidence.failure_statements import FailureKind, FailureStatement, find_guard
from coderag.answering.extractive.sections import DraftSection, DraftStatement, Excerpt, Part, build_lead
from coderag.answering.extractive.wording import extract_first_sentence, format_code, format_code_line, join_words
from coderag.schema.vocabulary import ProofRelation

_VERBS: Final[Mapping[FailureKind, str]] = MappingProxyType(
    {
        "raises": "raises", "returns": "returns an error", "handles": "handles", "exits": "exits the process",
        "reports": "reports it", "retries": "waits or tries again", "closes": "closes or cancels",
    }
)  # fmt: skip
_OUTCOMES: Final[Mapping[FailureKind, str]] = MappingProxyType(
    {
        "raises": "raises", "returns": "returns", "handles": "handles", "exits": "exits with", "reports": "reports",
        "retries": "waits or tries again with", "closes": "closes or cancels with",
    }
)  # fmt: skip
"""Verbs before the code of a statement."""

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


def build_failure(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the lead: the statement that decides what happens, with the condition that it stands under."""
    del sections
    ranked = find_deciding_statements(answer_input)
    if not ranked:
        return None
    second = [deciding for deciding in ranked[1:2] if deciding.value >= _MIN_SECOND_VALUE * ranked[0].value]
    return build_lead("failure", *(_build_deciding(answer_input, deciding) for deciding in (ranked[0], *second)))


def build_handling(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the list of what else the deciding function does about failures, and of the handlers in its callers."""
    lead = next((section for section in sections if section.kind == "failure"), None)
    excerpts = [statement.excerpt for statement in lead.statements if statement.excerpt] if lead else []
    if not excerpts:
        return None
    reader, first = answer_input.reader, excerpts[0]
    declared = reader.find_innermost(first.lines.path, first.lines.start_line)
    if declared is None or declared.kind not in CALLABLE:
        return None
    shown_numbers = {number for run in first.line_ranges for number in run}
    further = [
        deciding for deciding in list_statements(answer_input, declared) if deciding.line_number not in shown_numbers
    ]
    chosen = sorted(further, key=lambda deciding: -deciding.value)[:_MAX_FURTHER]
    statements = [_list_statement(deciding) for deciding in sorted(chosen, key=lambda deciding: deciding.line_number)]
    calls = [
        call
        for call in reader.find_calls(reader.find_call_targets(declared), inwards=True)
        if call.source.role == declared.role
    ]
    handlers = [_list_handler(call, handler) for call in calls if (handler := _find_handler(answer_input, call))]
    statements += handlers[:_MAX_HANDLERS] or _list_without_handler(answer_input, calls)
    return DraftSection("handling", statements, "Around it") if statements else None


def _build_deciding(answer_input: AnswerInput, deciding: DecidingStatement) -> DraftStatement:
    texts, statement = deciding.lines.text.split("\n"), deciding.statement
    guard = None if statement.kind == "handles" else find_guard(texts, statement.position)
    parts: list[Part] = [f"**{format_code(deciding.declared.name)}** {_state_outcome(answer_input, texts, statement)}"]
    if guard is not None:
        parts.append(f" under {format_code_line(texts[guard])}")
    parts += [" in ", deciding.line, "."]
    if summary := _summarize(answer_input, deciding):
        parts.append(f" {summary}")
    return DraftStatement(parts, _RELATIONS.get(statement.kind, "quotes"), _cut(answer_input, deciding, guard))


def _summarize(answer_input: AnswerInput, deciding: DecidingStatement) -> str:
    return extract_first_sentence(answer_input.reader.get_summary(deciding.declared))


def _state_outcome(answer_input: AnswerInput, texts: Sequence[str], statement: FailureStatement) -> str:
    """State what happens, with the error, message or value of the line; of a handler what it does."""
    if statement.kind != "handles":
        return _state_expression(statement.kind, read_expression(texts, statement))
    handled = f"handles {format_code(statement.error) if statement.error else 'an error'}"
    outcomes: dict[str, list[str]] = {}
    for inner, code in list_handler_outcomes(texts, statement, answer_input.failure_idf):
        outcomes.setdefault(_OUTCOMES[inner.kind] if inner else "goes on with", []).append(format_code_line(code))
    if not outcomes:
        is_empty = _is_block(texts[statement.position])
        return (
            f"{handled} and ignores it"
            if is_empty
            else f"handles it with {format_code_line(texts[statement.position])}"
        )
    return f"{handled}: it {join_words([f'{verb} {join_words(codes)}' for verb, codes in outcomes.items()])}"


def _is_block(line: str) -> bool:
    """Return whether a line only begins a handler, whose code is below it."""
    return line.rstrip().endswith(("{", ":", "{}", "{ }")) or line.strip().startswith("rescue")


def _state_expression(kind: FailureKind, code: str) -> str:
    if kind == "raises" and not code:
        return "raises the error again"
    return f"{_OUTCOMES[kind]} {format_code_line(code)}"


def _describe(statement: FailureStatement) -> str:
    verb = _VERBS[statement.kind]
    if statement.kind in ("raises", "handles"):
        return f"{verb} {format_code(statement.error)}" if statement.error else f"{verb} an error"
    return verb


def _cut(answer_input: AnswerInput, deciding: DecidingStatement, guard: int | None) -> Excerpt:
    """Cut a declaration to the deciding line, its condition and what follows."""
    position, last = deciding.statement.position, deciding.lines.end_line - deciding.lines.start_line
    first = max(position - _BEFORE, 0)
    if guard is not None and position - guard <= _MAX_SHOWN - _AFTER:
        first = min(first, guard)
    start = deciding.lines.start_line
    line_range = range(start + first, start + min(position + _AFTER, last) + 1)
    return Excerpt(deciding.lines, [line_range], answer_input.reader.get_language(deciding.lines.path))


def _list_statement(deciding: DecidingStatement) -> DraftStatement:
    return DraftStatement(
        [
            f"{format_code(deciding.declared.name)} {_describe(deciding.statement)} in ",
            deciding.line,
            f": {format_code_line(deciding.line.text)}",
        ],
        _RELATIONS.get(deciding.statement.kind, "quotes"),
    )


def _list_handler(call: Call, handler: DecidingStatement) -> DraftStatement:
    verb = "calls" if call.confidence > MAX_UNSURE_CONFIDENCE else "may call"
    line = CitedLines(
        call.path, call.line, call.line, handler.lines.text.split("\n")[call.line - handler.lines.start_line]
    )
    parts: list[Part] = [f"{format_code(call.source.name)} {verb} it in ", line, " and has the handler "]
    return DraftStatement([*parts, format_code_line(handler.line.text), " in ", handler.line], "handles")


def _list_without_handler(answer_input: AnswerInput, calls: Sequence[Call]) -> list[DraftStatement]:
    """List calls that have no handler near them; that there is none is not proved."""
    lines = [(call, answer_input.reader.read_line(call.path, call.line)) for call in calls[:_MAX_UNHANDLED]]
    return [
        DraftStatement(
            [f"{format_code(call.source.name)} calls it in ", line, ", without a known handler."], is_claim=False
        )
        for call, line in lines
        if line and call.confidence > MAX_UNSURE_CONFIDENCE
    ]


def _find_handler(answer_input: AnswerInput, call: Call) -> DecidingStatement | None:
    """Find the first handler at or after a call in its caller, near it."""
    handlers: Iterator[DecidingStatement] = (
        deciding for deciding in list_statements(answer_input, call.source) if deciding.statement.kind == "handles"
    )
    return next(
        (deciding for deciding in handlers if call.line <= deciding.line_number <= call.line + _MAX_HANDLER_DISTANCE),
        None,
    )
