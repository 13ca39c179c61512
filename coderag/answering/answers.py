"""Answers by a language model, or extracted from the evidence."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.evidence.citation_checker import CitationChecker
from coderag.answering.extractive.extract import extract
from coderag.answering.extractive.sections import Draft
from coderag.answering.generated.generator import EmitText, generate_text
from coderag.answering.generated.numbered_evidence import NumberedEvidence, build_planned_snippets, number_evidence
from coderag.answering.plan import choose_shape
from coderag.answering.rendering.checked_lines import CheckedLines
from coderag.answering.rendering.markdown import render_markdown
from coderag.answering.rendering.records import build_claims, build_sections
from coderag.models.protocols import LanguageModel
from coderag.retrieval.context.context_snippets import gather_snippets
from coderag.retrieval.query_context import QueryContext
from coderag.schema.answers import Answer, AnswerClaim, Citation
from coderag.schema.query import QueryState
from coderag.schema.vocabulary import AnswerShape
from coderag.stores.snippets import build_related_snippets, build_result_snippets


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
    checker = CitationChecker(Path(context.root), corpus.snapshot.read_files())
    results, related = build_result_snippets(corpus, state["results"]), build_related_snippets(corpus, state["related"])
    draft = extract(AnswerInput(context, state, results, related))
    if context.language_model is not None and not state["analysis"].get("about_unused"):  # lines cannot show absence
        cited = list(dict.fromkeys(chain.from_iterable(section.cited for section in draft.sections)))
        snippets = list(chain.from_iterable(gather_snippets(corpus, state)))
        planned = build_planned_snippets(corpus, cited)
        evidence = number_evidence(state, snippets, context.masked_paths, planned)
        if evidence:  # without evidence every claim would be dropped
            return await _generate_answer(context.language_model, context, state, draft, evidence, checker, emit)
    answer = _render_draft(state, draft, checker)
    emit("text", answer.text)
    return answer


async def _generate_answer(
    model: LanguageModel,
    context: QueryContext,
    state: QueryState,
    draft: Draft,
    evidence: Sequence[NumberedEvidence],
    checker: CitationChecker,
    emit: EmitText,
) -> Answer:
    shape = choose_shape(state)
    generated = await generate_text(model, context, state, shape, evidence, checker, emit)
    flagged = [f"{claim.cited_lines.location}: {', '.join(claim.findings)}" for claim in evidence if claim.findings]
    if generated.has_claims and not generated.is_held:
        answer = _build_answer(
            state,
            "explanation" if shape == "not_found" else shape,
            generated.text,
            generated.claims,
            generated.citations,
            generated.missing,
        )
        return replace(answer, generator=model.name, flagged=flagged, redacted=generated.redacted)
    refusal = "" if generated.is_held else generated.text  # or what is missing; neither is a claim
    note = _describe_fallback(model, generated.claims)
    extracted = _render_draft(state, draft, checker)
    added = "\n\n".join(filter(None, [note, extracted.text]))
    added = f"\n\n{added}" if refusal else added
    emit("text", added)
    offset = len(extracted.citations)
    unshown = [
        replace(claim, citations=[position + offset for position in claim.citations], shown=False)
        for claim in generated.claims
    ]
    return replace(
        extracted,
        text=refusal + added,
        claims=[*extracted.claims, *unshown],
        citations=[*extracted.citations, *generated.citations],
        missing=[*generated.missing, *extracted.missing],
        flagged=flagged,
        redacted=generated.redacted,
    )


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


def _describe_fallback(model: LanguageModel, claims: Sequence[AnswerClaim]) -> str:
    """Describe why the answer is not the model's; empty if it made no claim."""
    if not claims:
        return ""
    subject = "What" if len(claims) == 1 else "Most of what"
    return f"*{subject} {model.name} wrote could not be verified; this answer is without it.*"
