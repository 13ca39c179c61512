"""Search for what decides a failure: in the declarations that a question found."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.evidence.declared import Declared
from coderag.answering.evidence.failure_statements import FailureKind, FailureStatement, find_failure_statements

_MAX_DECLARATIONS: Final = 24
_RANK_DECAY: Final = 0.95
_WHOLE_WEIGHT: Final = 0.5  # of the question's words anywhere in the declaration
_MAX_LINE_CHARS: Final = 400
_WITHOUT: Final = 0.35  # value of a statement whose surroundings have none of the question's words
_BEFORE, _AFTER = 3, 3  # lines around a statement that count as its own
_KIND_WEIGHTS: Final[dict[FailureKind, float]] = {
    "raises": 1.0, "exits": 1.0, "returns": 0.95, "handles": 1.0, "reports": 0.9, "retries": 0.8, "closes": 0.75,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class DecidingStatement:
    """Statement of a declaration, with how well it fits the question."""

    declared: Declared
    lines: CitedLines
    statement: FailureStatement
    value: float

    @property
    def line_number(self) -> int:
        """Number of its line."""
        return self.lines.start_line + self.statement.position

    @property
    def line(self) -> CitedLines:
        """Its line."""
        text = self.lines.text.split("\n")[self.statement.position]
        return CitedLines(self.lines.path, self.line_number, self.line_number, text)


def find_deciding_statements(answer_input: AnswerInput) -> list[DecidingStatement]:
    """Find the best statement of each declaration, the best declaration first."""
    best = [max(group, key=lambda deciding: deciding.value) for group in _find_by_declaration(answer_input)]
    return sorted(best, key=lambda deciding: -deciding.value)


def list_statements(answer_input: AnswerInput, declared: Declared, relevance: float = 1.0) -> list[DecidingStatement]:
    """List the statements of a declaration about failures, in order."""
    lines = answer_input.reader.read_declaration(declared)
    if lines is None:
        return []
    texts = lines.text.split("\n")
    lowered = [text[:_MAX_LINE_CHARS].lower() for text in texts]
    idf = answer_input.failure_idf
    total = sum(idf.values()) or 1.0
    named = {term for term in idf if term in declared.name.lower()}
    mentioned = (
        sum(idf[term] for term in named.union(term for term in idf if any(term in text for text in lowered))) / total
    )

    def compute_value(statement: FailureStatement) -> float:
        around = "\n".join(lowered[max(statement.position - _BEFORE, 0) : statement.position + _AFTER + 1])
        share = sum(idf[term] for term in named.union(term for term in idf if term in around)) / total
        return relevance * _KIND_WEIGHTS[statement.kind] * (_WITHOUT + share + _WHOLE_WEIGHT * mentioned)

    return [
        DecidingStatement(declared, lines, statement, compute_value(statement))
        for statement in find_failure_statements(texts)
    ]


def _find_by_declaration(answer_input: AnswerInput) -> Iterator[list[DecidingStatement]]:
    for rank, node in enumerate(answer_input.flow_relevance.candidates[:_MAX_DECLARATIONS]):
        if statements := list_statements(answer_input, answer_input.reader.get_declaration(node), _RANK_DECAY**rank):
            yield statements
