"""Answers by a language model, or extracted from the evidence."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.evidence.citation_checker import CitationChecker
from coderag.answering.extractive.extract import extract
from coderag.answering.generated.generator import EmitText, generate_text
from coderag.answering.generated.numbered_evidence import NumberedEvidence, number_evidence
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
    checker = CitationChecker(Path(context.root), context.corpus.snapshot.read_files())
    if context.language_model is not None and not state["analysis"].get("about_unused"):  # lines cannot show absence
        snippets = list(chain.from_iterable(gather_snippets(context.corpus, state)))
        evidence = number_evidence(state, snippets, context.masked_paths)
        if evidence:  # without evidence every claim would be dropped
            return await _generate_answer(context.language_model, context, state, evidence, checker, emit)
    answer = _extract_answer(context, state, checker)
    emit("text", answer.text)
    return answer


async def _generate_answer(
    model: LanguageModel,
    context: QueryContext,
    state: QueryState,
    evidence: Sequence[NumberedEvidence],
    checker: CitationChecker,
    emit: EmitText,
) -> Answer:
    shape: AnswerShape = choose_shape(state)
    generated = await generate_text(model, context, state, shape, evidence, checker, emit)
    text, missing, citations, claims = generated.text, generated.missing, generated.citations, generated.claims
    if generated.has_claims:
        shape = "explanation" if shape == "not_found" else shape
    else:
        shape = "not_found"
        extracted = _extract_answer(context, {**state, "evidence": "not_found"}, checker)
        fallback = "\n\n".join(filter(None, [_format_none_verified(model, len(claims)), extracted.text]))
        fallback = f"\n\n{fallback}" if text else fallback
        missing, citations = [*missing, *extracted.missing], [*extracted.citations, *citations]
        offset = len(extracted.citations)
        claims = [replace(claim, citations=[position + offset for position in claim.citations]) for claim in claims]
        emit("text", fallback)
        text += fallback
    return replace(
        _build_answer(state, shape, text, claims, citations, missing),
        generator=model.name,
        flagged=[f"{claim.cited_lines.location}: {', '.join(claim.findings)}" for claim in evidence if claim.findings],
        redacted=generated.redacted,
    )


def _extract_answer(context: QueryContext, state: QueryState, checker: CitationChecker) -> Answer:
    """Extract the answer from the evidence; moved lines are cited at their new location, changed ones marked."""
    corpus = context.corpus
    draft = extract(
        AnswerInput(
            context,
            state,
            build_result_snippets(corpus, state["results"]),
            build_related_snippets(corpus, state["related"]),
        )
    )
    checked = CheckedLines(chain.from_iterable(section.cited for section in draft.sections), checker)
    claims = build_claims(draft.sections, checked)
    is_found = state["evidence"] == "found" and draft.shape != "not_found"
    return replace(
        _build_answer(
            state,
            draft.shape,
            render_markdown(draft.sections, checked),
            claims,
            checked.citations,
            draft.missing,
        ),
        verified=sum(citation.verified for citation in checked.citations) if is_found else 0,
        total=len(checked.citations) if is_found else 0,
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


def _format_none_verified(model: LanguageModel, claim_count: int) -> str:
    """Format the note that no claim of the model was verified."""
    if not claim_count:
        return ""
    if claim_count == 1:
        return f"*The one statement that {model.name} made could not be verified, so it is left out.*"
    return f"*None of the {claim_count} statements that {model.name} made could be verified, so they are left out.*"
