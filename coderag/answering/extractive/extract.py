"""An answer without a language model: the sections of its plan, each built from the evidence and the index."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.extractive.builders.absent import build_absent, build_nearest, build_unindexed
from coderag.answering.extractive.builders.definition import build_definition, build_members, build_users
from coderag.answering.extractive.builders.detail import build_detail, build_lines
from coderag.answering.extractive.builders.messages import build_message, build_writers
from coderag.answering.extractive.builders.overview import build_central, build_documents, build_layout, build_overview
from coderag.answering.extractive.builders.place import build_code, build_next, build_place
from coderag.answering.extractive.builders.setting import build_documentation, build_readers, build_setting
from coderag.answering.extractive.sections import Draft, Section
from coderag.answering.plan import PLANS, SHAPES, choose_topic
from coderag.schema.vocabulary import AnswerSectionKind

SectionBuilder = Callable[[AnswerInput, Sequence[Section]], Section | None]
"""Builds a section from the input and the sections before it; None if it has nothing to say."""

BUILDERS: Final[Mapping[AnswerSectionKind, SectionBuilder]] = MappingProxyType(
    {
        "absent": build_absent,
        "central": build_central,
        "code": build_code,
        "definition": build_definition,
        "detail": build_detail,
        "documentation": build_documentation,
        "documents": build_documents,
        "layout": build_layout,
        "lines": build_lines,
        "members": build_members,
        "message": build_message,
        "nearest": build_nearest,
        "next": build_next,
        "overview": build_overview,
        "place": build_place,
        "readers": build_readers,
        "setting": build_setting,
        "unindexed": build_unindexed,
        "users": build_users,
        "writers": build_writers,
    }
)


def extract(answer_input: AnswerInput) -> Draft:
    """Build the sections of the answer that the question asks for.

    What the question needs beyond the results (all callers, the calls between two places) is read from the index.
    """
    sections: list[Section] = []
    for alternatives in PLANS[choose_topic(answer_input.state)]:
        built = (BUILDERS[kind](answer_input, sections) for kind in alternatives if kind in BUILDERS)
        if section := next(filter(None, built), None):
            sections.append(section)
    return Draft(sections, SHAPES.get(sections[0].kind, "explanation") if sections else "not_found")
