"""Write an answer: by a language model if one is configured, else from the evidence itself."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Final

from coderag.answering.citations import CitationChecker
from coderag.answering.draft import Lines
from coderag.answering.extractive.extract import extract
from coderag.answering.generated.evidence_text import Evidence, numbered_evidence
from coderag.answering.generated.generate import Emit, generate
from coderag.answering.generated.statements import with_places
from coderag.answering.shapes import shape_of
from coderag.models.protocols import LanguageModel
from coderag.retrieval.query_context import QueryContext
from coderag.schema.answers import Answer, AnswerClaim, Citation
from coderag.schema.query import QueryState
from coderag.schema.vocabulary import AnswerShape
from coderag.stores.pieces import context_pieces, related_pieces, result_pieces

_CHANGED: Final = " *(not verified: changed since it was indexed)*"


async def write_answer(context: QueryContext, state: QueryState, emit: Emit) -> Answer:
    """Return the answer to the state's question, every claim of it checked.

    Args:
        context: Of the query.
        state: With the packed context.
        emit: Takes the text while it is written.

    Raises:
        ModelError: The configured language model failed.
    """
    checker = CitationChecker(Path(context.root), context.corpus.snapshot.files())
    if context.language_model is not None:
        pieces = list(chain.from_iterable(context_pieces(context.corpus, state)))
        evidence = numbered_evidence(state, pieces, context.masked_paths)
        if evidence:  # else there is nothing to cite, and whatever a model says of it would be dropped
            return await _generated(context.language_model, context, state, evidence, checker, emit)
    extracted = _extract(context, state, checker)
    emit("text", extracted.text)
    return extracted


async def _generated(
    model: LanguageModel,
    context: QueryContext,
    state: QueryState,
    evidence: Sequence[Evidence],
    checker: CitationChecker,
    emit: Emit,
) -> Answer:
    shape: AnswerShape = shape_of(state)
    written = await generate(model, context, state, shape, evidence, checker, emit)
    text, missing, citations, claims = written.text, written.missing, written.citations, written.claims
    if written.answers:
        shape = "explanation" if shape == "not_found" else shape
    else:
        shape = "not_found"
        extracted = _extract(context, {**state, "evidence": "not_found"}, checker)
        rest = "\n\n".join(filter(None, [_none_held(model, len(claims)), extracted.text]))
        rest = f"\n\n{rest}" if text else rest
        missing, citations = [*missing, *extracted.missing], [*extracted.citations, *citations]
        behind = len(extracted.citations)
        claims = [replace(one, citations=[position + behind for position in one.citations]) for one in claims]
        emit("text", rest)
        text += rest
    return replace(
        _answer(state, shape, text, claims, citations, missing),
        generator=model.name,
        flagged=[f"{one.lines.location}: {', '.join(one.findings)}" for one in evidence if one.findings],
        redacted=written.redacted,
    )


def _extract(context: QueryContext, state: QueryState, checker: CitationChecker) -> Answer:
    """Return the answer from the evidence; lines that moved are cited where they are, what has changed is marked."""
    corpus = context.corpus
    draft = extract(context, state, result_pieces(corpus, state["results"]), related_pieces(corpus, state["related"]))
    lines = list(dict.fromkeys(one for claim in draft.claims for one in claim.cited))
    citations = [checker.check(one) for one in lines]
    moved = {old.location: new.location for old, new in zip(lines, citations, strict=True) if new.moved_from}
    text = with_places(draft.text, moved)
    for citation in citations:
        if not citation.verified:
            text = text.replace(f"`{citation.location}`", f"`{citation.location}`{_CHANGED}")
    claims = [_checked(claim.text, claim.cited, lines, citations) for claim in draft.claims]
    return _answer(state, draft.shape, text, claims, citations, draft.missing)


def _answer(
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


def _checked(text: str, cited: Sequence[Lines], lines: Sequence[Lines], citations: Sequence[Citation]) -> AnswerClaim:
    positions = [lines.index(one) for one in cited]
    reason = next((f"{one.location}: {one.reason}" for one in map(citations.__getitem__, positions) if one.reason), "")
    if not positions:
        return AnswerClaim(text, [], "uncited", "it cites nothing")
    return AnswerClaim(text, positions, "unsupported" if reason else "verified", reason)


def _none_held(model: LanguageModel, claims: int) -> str:
    """Return what is said of claims none of which is in the answer."""
    if not claims:
        return ""
    if claims == 1:
        return f"*The one statement that {model.name} made could not be verified, so it is left out.*"
    return f"*None of the {claims} statements that {model.name} made could be verified, so they are left out.*"
