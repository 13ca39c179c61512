"""Answers by a language model, or extracted from the evidence."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.evidence.citation_checker import CitationChecker
from coderag.answering.evidence.found_items import get_found_items
from coderag.answering.extractive.extract import extract
from coderag.answering.extractive.sections import Draft, DraftSection, DraftStatement
from coderag.answering.generated.generator import EmitText, fit_evidence_to_window, generate_text
from coderag.answering.generated.numbered_evidence import gather_evidence, number_evidence
from coderag.answering.plan import choose_shape
from coderag.answering.rendering.checked_lines import CheckedLines
from coderag.answering.rendering.markdown import render_markdown
from coderag.answering.rendering.records import build_claims, build_sections
from coderag.models.protocols import LanguageModel
from coderag.retrieval.query_context import QueryContext
from coderag.schema.answers import Answer, AnswerClaim, Citation
from coderag.schema.query import QueryState
from coderag.schema.vocabulary import AnswerShape
from coderag.stores.snippets import build_result_snippets


async def write_answer(context: QueryContext, state: QueryState, emit: EmitText) -> Answer:
    """Write the answer to the state's question, with every claim checked.

    Args:
        context: Query context.
        state: State with the packed context.
        emit: Receives the text while it is written.

    Raises:
        ModelError: The configured language model failed.
    """
    corpus = context.corpus
    items = {item["path"]: item for item in get_found_items(state)}
    checker = CitationChecker(Path(context.root), corpus.snapshot.read_files(), items)
    draft = extract(AnswerInput(context, state, build_result_snippets(corpus, state["results"])))
    model = context.language_model
    if model is not None and not state["analysis"].get("about_unused"):  # lines cannot show absence
        return await _generate_answer(model, context, state, draft, checker, emit)
    return _emit_draft(state, draft, checker, emit)


async def _generate_answer(
    model: LanguageModel,
    context: QueryContext,
    state: QueryState,
    draft: Draft,
    checker: CitationChecker,
    emit: EmitText,
) -> Answer:
    shape = choose_shape(state)
    planned = list(dict.fromkeys(chain.from_iterable(section.cited for section in draft.sections)))
    gathered = number_evidence(gather_evidence(context.corpus, state, planned), context.masked_paths)
    evidence = fit_evidence_to_window(model, context, state, shape, gathered)
    if not evidence:  # every claim would be dropped
        note = _describe_full_window(model) if gathered else ""
        return _emit_draft(state, _add_remark(draft, note), checker, emit)
    generated = await generate_text(model, context, state, shape, evidence, checker, emit)
    flagged = [f"{entry.cited_lines.location}: {', '.join(entry.findings)}" for entry in evidence if entry.findings]
    if not generated.is_held:
        answer = _build_answer(
            state,
            "explanation" if shape == "not_found" else shape,
            generated.text,
            generated.claims,
            generated.citations,
            generated.missing,
        )
        return replace(answer, generator=model.name, flagged=flagged, redacted=generated.redacted)
    is_refused = not generated.claims  # what is missing, or that it will not answer
    remark = generated.text.strip() if is_refused else ""
    remark = remark or _describe_failed_claims(model, generated.claims)
    extracted = _emit_draft(state, _add_remark(draft, remark), checker, emit)
    offset = len(extracted.citations)
    unshown = [
        replace(claim, citations=[position + offset for position in claim.citations], shown=False)
        for claim in generated.claims
    ]
    return replace(
        extracted,
        claims=[*extracted.claims, *unshown],
        citations=[*extracted.citations, *generated.citations],
        missing=[*(generated.missing if is_refused else ()), *extracted.missing],
        flagged=flagged,
        redacted=generated.redacted,
    )


def _add_remark(draft: Draft, remark: str) -> Draft:
    """Add why a configured model has not written the answer."""
    if not remark.strip():
        return draft
    section = DraftSection("remark", [DraftStatement([remark.strip()], is_claim=False)], style="text")
    return replace(draft, sections=[section, *draft.sections])


def _emit_draft(state: QueryState, draft: Draft, checker: CitationChecker, emit: EmitText) -> Answer:
    answer = _render_draft(state, draft, checker)
    emit("text", answer.text)
    return answer


def _render_draft(state: QueryState, draft: Draft, checker: CitationChecker) -> Answer:
    """Render an answer without a model; moved lines are cited at their new location, changed ones marked."""
    checked = CheckedLines(chain.from_iterable(section.cited for section in draft.sections), checker)
    answer = _build_answer(
        state,
        draft.shape,
        render_markdown(draft.sections, checked),
        build_claims(draft.sections, checked),
        checked.citations,
        draft.missing,
    )
    is_counted = state["evidence"] == "found" and draft.shape != "not_found"
    return replace(
        answer,
        verified=sum(citation.verified for citation in checked.citations) if is_counted else 0,
        total=len(checked.citations) if is_counted else 0,
        sections=build_sections(draft.sections, checked),
    )


def _build_answer(
    state: QueryState,
    shape: AnswerShape,
    text: str,
    claims: Sequence[AnswerClaim],
    citations: Sequence[Citation],
    missing: Sequence[str],
) -> Answer:
    return Answer(
        query=state["query"],
        intent=state["analysis"]["intent"],
        text=text,
        citations=citations,
        verified=sum(claim.status == "verified" for claim in claims),
        total=len(claims),
        evidence=state["evidence"],
        hits=[],
        shape=shape,
        claims=claims,
        missing=missing,
    )


def _describe_failed_claims(model: LanguageModel, claims: Sequence[AnswerClaim]) -> str:
    if not claims:
        return f"*{model.name} states nothing that could be checked. This answer is built without it.*"
    verified = sum(claim.status == "verified" for claim in claims)
    statements = f"{len(claims)} statement{'' if len(claims) == 1 else 's'} by {model.name}"
    return f"*{verified} of {statements} agree with the lines they cite. This answer is built without it.*"


def _describe_full_window(model: LanguageModel) -> str:
    return (
        f"*The window of {model.name}, `llm.context_window`, has no room for evidence beside the question and the reply. "
        "This answer is built without it.*"
    )
