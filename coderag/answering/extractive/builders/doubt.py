"""Doubt about a lead: words of the question that no indexed file has, and a verdict below found."""

from dataclasses import replace
from typing import Final

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.extractive.sections import DraftSection
from coderag.answering.extractive.wording import format_code, join_words
from coderag.schema.vocabulary import AnswerSectionKind

_MAX_WORDS: Final = 4
_MIN_UNKNOWN_SHARE: Final = 0.75  # of the question, by IDF: then it is about what no file has
_MIN_NOTED_SHARE: Final = 0.15  # of plain words; fewer, such as "cut" in a long question, decide nothing
_MIN_DOUBTFUL_SHARE: Final = 0.4  # likewise, if nothing clearly answers
_FOUND_BY_WORDS: Final = frozenset[AnswerSectionKind]({"place", "flow", "failure", "setting"})
"""Leads that were found by the words of the question, so that a missing one counts."""


def qualify_lead(answer_input: AnswerInput, lead: DraftSection) -> DraftSection:
    """Put before a lead what speaks against it: words that no file has, else that the verdict is below found."""
    unknown, evidence = answer_input.unknown_words, answer_input.state["evidence"]
    missing = list(lead.missing)
    if lead.kind not in _FOUND_BY_WORDS:
        return lead
    if unknown.names or (unknown.share >= _MIN_NOTED_SHARE and evidence != "found"):
        prefix = f"{describe_unknown_words(answer_input)}; nearest: "
        missing.append(f"{describe_unknown_words(answer_input)}.")
    elif lead.kind == "place" and evidence == "not_found":
        prefix = "Nothing here clearly answers this; nearest: "
    elif evidence != "found" and _has_declaration(lead):
        prefix = "Probably "
    else:
        return lead
    first, *further = lead.statements
    return replace(lead, statements=[replace(first, parts=[prefix, *first.parts]), *further], missing=missing)


def _has_declaration(lead: DraftSection) -> bool:
    """Return whether a lead begins with a declaration, which may be the wrong one."""
    first = lead.statements[0].parts[0]
    return isinstance(first, str) and first.startswith("**")


def has_unknown_subject(answer_input: AnswerInput) -> bool:
    """Return whether no indexed file has the words that decide a question, so that nothing found can answer it."""
    unknown = answer_input.unknown_words
    is_doubtful = answer_input.state["evidence"] == "not_found" and bool(answer_input.results)
    return bool(unknown.words) and (
        not answer_input.results or unknown.share >= (_MIN_DOUBTFUL_SHARE if is_doubtful else _MIN_UNKNOWN_SHARE)
    )


def describe_unknown_words(answer_input: AnswerInput) -> str:
    """Describe which words of the question no indexed file has, without a full stop; empty if it has none."""
    unknown = answer_input.unknown_words
    words = [*unknown.names, *(word for word in unknown.words if word not in unknown.names)][:_MAX_WORDS]
    named = join_words([format_code(word) for word in words], "or")
    return f"No indexed file has the {'word' if len(words) == 1 else 'words'} {named}" if words else ""
