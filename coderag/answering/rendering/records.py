"""Renderer of an extractive answer as the records of the public schema, for JSON and for interfaces of their own."""

from collections.abc import Sequence

from coderag.answering.extractive.excerpts import list_shown_lines, list_shown_numbers
from coderag.answering.extractive.sections import DraftSection, DraftStatement, Excerpt
from coderag.answering.rendering.checked_lines import CheckedLines
from coderag.answering.rendering.markdown import render_text
from coderag.schema.answers import AnswerClaim, AnswerSection, AnswerStatement


def build_sections(sections: Sequence[DraftSection], checked: CheckedLines) -> list[AnswerSection]:
    """Build the public sections of an answer."""
    return [
        AnswerSection(
            section.kind,
            section.title,
            section.style,
            [_build_statement(statement, checked) for statement in section.statements],
        )
        for section in sections
    ]


def build_claims(sections: Sequence[DraftSection], checked: CheckedLines) -> list[AnswerClaim]:
    """Build the claims of an answer: the statements whose lines prove them, with what the check found."""
    statements = (statement for section in sections for statement in section.statements)
    return [_build_claim(statement, checked) for statement in statements if statement.is_claim and statement.cited]


def _build_claim(statement: DraftStatement, checked: CheckedLines) -> AnswerClaim:
    citations = [checked.get_citation(lines) for lines in statement.cited]
    failed = [citation for citation in citations if not citation.verified]
    return AnswerClaim(
        text=render_text(statement, checked),
        citations=[checked.get_position(lines) for lines in statement.cited],
        status="unsupported" if failed else "verified",
        reason=f"{failed[0].location}: {failed[0].reason}" if failed else "",
    )


def _build_statement(statement: DraftStatement, checked: CheckedLines) -> AnswerStatement:
    excerpt = statement.excerpt
    return AnswerStatement(
        text=render_text(statement, checked),
        citations=[checked.get_position(lines) for lines in statement.cited],
        relation=statement.relation,
        level=statement.level,
        code="\n".join(list_shown_lines(excerpt)) if excerpt else "",
        language=excerpt.language if excerpt else "",
        line_numbers=_list_line_numbers(excerpt, checked) if excerpt else [],
    )


def _list_line_numbers(excerpt: Excerpt, checked: CheckedLines) -> list[int]:
    """List the numbers of an excerpt's lines where they are now; 0 for a gap."""
    moved_by = checked.get_citation(excerpt.lines).start_line - excerpt.lines.start_line
    return [number and number + moved_by for number in list_shown_numbers(excerpt)]
