"""Sections of an answer to whether something is unused: from relations and mentions, and never as a fact."""

from collections.abc import Sequence
from typing import Final

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.extractive.builders.mentions import build_lines_lead
from coderag.answering.extractive.builders.relations import build_relation
from coderag.answering.extractive.sections import DraftSection, DraftStatement, Part, build_lead
from coderag.answering.extractive.wording import format_code, format_command, format_count, format_kind, format_prose
from coderag.errors import InvalidQueryError
from coderag.retrieval.mentions.wording import list_unused_notes
from coderag.schema.mentions import UnusedReport

_MAX_LISTED: Final = 8
_CAUTION: Final = (
    "A search cannot prove that code is unused: reflection, configuration or other repositories may reach it."
)


def build_unused(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the lead: whether the subject has a known use, or how many declarations have none."""
    if answer_input.analysis.get("about_unused") == "list":
        return _build_report(_find_report(answer_input))
    related = answer_input.related_declarations
    if related is None or related.declared is None:
        return None
    if related.groups:
        lead = build_relation(answer_input, sections)
        if lead is None:
            return None
        verdict = "**Only tests use it.** " if set(related.groups) == {"tested"} else "**It is used.** "
        first, *further = lead.statements
        return build_lead("unused", DraftStatement([verdict, *first.parts], first.relation), *further)
    lead = build_lines_lead(answer_input, related)
    if lead is None:
        return None
    reasons = list(dict.fromkeys(answer_input.reader.unused.explain(related.declared.node)))
    caution = " ".join([*(f"It may still be reached: {format_prose(reason)}." for reason in reasons), _CAUTION])
    return build_lead("unused", *lead.statements, DraftStatement([caution], is_claim=False), missing=lead.missing)


def build_candidates(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the list of declarations without a known use, the likeliest first."""
    del sections
    if answer_input.analysis.get("about_unused") != "list":
        return None
    report = _find_report(answer_input)
    statements = []
    for unused in report.results:
        line = answer_input.reader.read_line(unused.path, unused.start_line)
        parts: list[Part] = [f"{format_code(unused.qualified_name)} ({format_kind(unused.kind)}, {unused.certainty})"]
        parts.append(f": {format_prose('; '.join(unused.reasons))}")
        if line:
            parts += [" — ", line]
        statements.append(DraftStatement(parts, is_claim=False))
    if (more := report.total - len(report.results)) > 0:
        statements.append(DraftStatement([f"and {more:,} more: {format_command('unused', report.path or '.')}"]))
    return DraftSection("candidates", statements, "Without a known use") if statements else None


def _build_report(report: UnusedReport) -> DraftSection:
    where = f" of {format_code(report.path)}" if report.path else ""
    have = "has" if report.total == 1 else "have"
    sentence = f"**{format_count(report.total, 'declaration')}{where} {have} no known use.**"
    notes = " ".join(format_prose(note) for note in list_unused_notes(report))
    return build_lead("unused", DraftStatement([f"{sentence} {notes}"], is_claim=False))


def _find_report(answer_input: AnswerInput) -> UnusedReport:
    """Find what is unused below the first path that a question names; of the whole repository if it names none."""
    unused = answer_input.reader.unused
    for entity in answer_input.analysis["entities"]:
        try:
            return unused.find(entity["text"], limit=_MAX_LISTED)
        except InvalidQueryError:
            continue
    return unused.find(limit=_MAX_LISTED)
