"""An answer without a language model: the sections of its plan, each built from the evidence and the index."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.extractive.builders.absent import build_absent, build_nearest, build_unindexed
from coderag.answering.extractive.builders.failure import build_failure, build_handling
from coderag.answering.extractive.builders.flow import build_flow, build_steps
from coderag.answering.extractive.builders.messages import build_message, build_writers
from coderag.answering.extractive.builders.place import build_code, build_next, build_place
from coderag.answering.extractive.sections import Draft, Section
from coderag.answering.plan import PLANS, SHAPES, choose_topic
from coderag.schema.vocabulary import AnswerSectionKind

SectionBuilder = Callable[[AnswerInput, Sequence[Section]], Section | None]
"""Builds a section from the input and the sections before it; None if it has nothing to say."""

BUILDERS: Final[Mapping[AnswerSectionKind, SectionBuilder]] = MappingProxyType(
    {
        "absent": build_absent,
        "code": build_code,
        "failure": build_failure,
        "flow": build_flow,
        "handling": build_handling,
        "message": build_message,
        "nearest": build_nearest,
        "next": build_next,
        "place": build_place,
        "steps": build_steps,
        "unindexed": build_unindexed,
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
