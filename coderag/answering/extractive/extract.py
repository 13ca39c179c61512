"""An answer without a language model: the sections of its plan, each built from the evidence and the index."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.extractive.builders.absent import build_absent, build_nearest, build_unindexed
from coderag.answering.extractive.builders.comparison import build_common, build_comparison, build_difference
from coderag.answering.extractive.builders.definition import build_definition, build_members, build_users
from coderag.answering.extractive.builders.detail import build_detail, build_lines
from coderag.answering.extractive.builders.doubt import qualify_lead
from coderag.answering.extractive.builders.failure import build_failure, build_handling
from coderag.answering.extractive.builders.flow import build_flow, build_steps
from coderag.answering.extractive.builders.history import build_commits, build_history, build_origin
from coderag.answering.extractive.builders.items import build_items
from coderag.answering.extractive.builders.mentions import build_mentions
from coderag.answering.extractive.builders.messages import build_message, build_writers
from coderag.answering.extractive.builders.overview import build_central, build_documents, build_layout, build_overview
from coderag.answering.extractive.builders.place import build_code, build_next, build_place
from coderag.answering.extractive.builders.relations import build_further, build_related, build_relation, build_tests
from coderag.answering.extractive.builders.setting import build_documentation, build_readers, build_setting
from coderag.answering.extractive.builders.unused import build_candidates, build_unused
from coderag.answering.extractive.coordination import merge_sections, split_subjects
from coderag.answering.extractive.sections import Draft, DraftSection
from coderag.answering.extractive.topic_choice import choose_supported_topic
from coderag.answering.plan import PLANS, SHAPES, AnswerPlan
from coderag.schema.vocabulary import AnswerSectionKind, AnswerTopic

SectionBuilder = Callable[[AnswerInput, Sequence[DraftSection]], DraftSection | None]
"""Builds a section from the input and the sections before it; None if it has nothing to say."""

BUILDERS: Final[Mapping[AnswerSectionKind, SectionBuilder]] = MappingProxyType(
    {
        "absent": build_absent,
        "candidates": build_candidates,
        "central": build_central,
        "code": build_code,
        "commits": build_commits,
        "common": build_common,
        "comparison": build_comparison,
        "definition": build_definition,
        "detail": build_detail,
        "difference": build_difference,
        "documentation": build_documentation,
        "documents": build_documents,
        "failure": build_failure,
        "flow": build_flow,
        "further": build_further,
        "history": build_history,
        "handling": build_handling,
        "items": build_items,
        "layout": build_layout,
        "lines": build_lines,
        "members": build_members,
        "mentions": build_mentions,
        "message": build_message,
        "nearest": build_nearest,
        "next": build_next,
        "origin": build_origin,
        "overview": build_overview,
        "place": build_place,
        "readers": build_readers,
        "related": build_related,
        "relation": build_relation,
        "setting": build_setting,
        "steps": build_steps,
        "tests": build_tests,
        "unindexed": build_unindexed,
        "unused": build_unused,
        "users": build_users,
        "writers": build_writers,
    }
)


_ABSENT_KINDS: Final = frozenset[AnswerSectionKind]({"absent", "nearest", "unindexed"})
_MIRROR_TITLE: Final = "Documentation and backlog"
_REPOSITORY_TITLE: Final = "In the repository"

_PLANS_OF_LEADS: Final[Mapping[AnswerSectionKind, AnswerPlan]] = MappingProxyType(
    {"message": PLANS["message"], "place": PLANS["place"], "absent": PLANS["absent"]}
)
"""Plans that go on after the lead of another topic, if a plan's own lead has nothing to say."""


def extract(answer_input: AnswerInput) -> Draft:
    """Build the sections of the answer that the question asks for.

    What the question needs beyond the results (all callers, the calls between two places) is read from the index.
    """
    topic = choose_supported_topic(answer_input)
    if inputs := split_subjects(answer_input, topic):
        parts = [(subject, _build_sections(part, topic)) for subject, part in inputs.items()]
        sections = merge_sections(parts, topic)
    else:
        sections = _build_sections(answer_input, topic)
    sections[:1] = [qualify_lead(answer_input, section) for section in sections[:1]]
    sections = _place_items(answer_input, sections)
    return Draft(sections, SHAPES.get(sections[0].kind, "explanation") if sections else "not_found")


def _build_sections(answer_input: AnswerInput, topic: AnswerTopic) -> list[DraftSection]:
    """Build the sections of a topic's plan that have something to say."""
    lead, *plan = PLANS[topic]
    sections = _build_first(answer_input, (), lead)
    if sections and sections[0].kind != lead[0]:  # the lead of another topic goes on as that does
        plan = list(_PLANS_OF_LEADS.get(sections[0].kind, PLANS[topic])[1:])
    for alternatives in plan:
        sections += _build_first(answer_input, sections, alternatives)
    return sections


def _place_items(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> list[DraftSection]:
    """Put mirrored items first if they answer as well as the repository: what that lacks is then not the answer."""
    results = answer_input.state.get("items")
    items = build_items(answer_input, sections)
    if results is None or items is None:
        return list(sections)
    has_claims = any(statement.is_claim for statement in items.statements)
    is_answered = (
        results.get("repository_verdict") == "found" and bool(sections) and sections[0].kind not in _ABSENT_KINDS
    )
    if not has_claims or (is_answered and results["verdict"] != "found"):
        return [*sections, replace(items, title=_MIRROR_TITLE)]
    if not is_answered:
        return [items]
    return [items, replace(sections[0], title=_REPOSITORY_TITLE), *sections[1:]]


def _build_first(
    answer_input: AnswerInput, sections: Sequence[DraftSection], alternatives: Sequence[AnswerSectionKind]
) -> list[DraftSection]:
    """Build the first of some sections that has something to say; an empty list if none has."""
    built = (BUILDERS[kind](answer_input, sections) for kind in alternatives)
    section = next(filter(None, built), None)
    return [section] if section else []
