"""Answers to a question about several subjects: one for each, the leads together at first."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import Final

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.extractive.sections import DraftSection, DraftStatement
from coderag.answering.extractive.wording import format_code
from coderag.schema.vocabulary import AnswerSectionKind, AnswerTopic

_MAX_SUBJECTS: Final = 4
_KINDS: Final[Mapping[AnswerTopic, AnswerSectionKind]] = MappingProxyType(
    {"relation": "relation", "setting": "setting"}
)
"""Topics whose answer is about one subject, with the kinds of their leads."""


def split_subjects(answer_input: AnswerInput, topic: AnswerTopic) -> dict[str, AnswerInput]:
    """Split the input by the subjects that are asked about alike; empty if one answer is about all of them."""
    subjects = answer_input.reading.get("coordinated", []) if topic in _KINDS else []
    return {subject: answer_input.restrict_to(subject) for subject in subjects[:_MAX_SUBJECTS]}


def merge_sections(parts: Sequence[tuple[str, Sequence[DraftSection]]], topic: AnswerTopic) -> list[DraftSection]:
    """Merge the sections of several subjects: the first sentences in one lead, then the lists with their subjects."""
    leads = [_get_lead(subject, sections, _KINDS[topic]) for subject, sections in parts]
    lead = replace(
        leads[0],
        statements=list(chain.from_iterable(section.statements for section in leads)),
        missing=list(chain.from_iterable(section.missing for section in leads)),
    )
    further = [
        replace(section, title=f"{section.title} ({format_code(subject)})") if section.title else section
        for subject, sections in parts
        for section in sections[1:]
        if sections[0].kind == _KINDS[topic]
    ]
    return [lead, *further]


def _get_lead(subject: str, sections: Sequence[DraftSection], kind: AnswerSectionKind) -> DraftSection:
    """Return the lead about a subject; one that says so if nothing is known of it, as the lead is about code beside it."""
    if sections and sections[0].kind in (kind, "absent"):
        return sections[0]
    sentence = f"Nothing that the index knows answers this for {format_code(subject)}."
    return DraftSection(kind, [DraftStatement([sentence], is_claim=False)], style="text", missing=[sentence])
