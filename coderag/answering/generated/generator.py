"""Generation of an answer from numbered evidence; each claim is checked as soon as it is written."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from coderag.answering.evidence.call_flow import draw_mermaid
from coderag.answering.evidence.citation_checker import CitationChecker
from coderag.answering.generated.claim_checker import ClaimChecker
from coderag.answering.generated.masked_stream import unmask_stream
from coderag.answering.generated.numbered_evidence import NumberedEvidence, fit_evidence
from coderag.answering.generated.prompt_echoes import PromptEchoes
from coderag.answering.generated.reply_checker import ReplyChecker
from coderag.models.protocols import LanguageModel
from coderag.models.redaction.redacting_llm import RedactingModel
from coderag.retrieval.query_context import QueryContext
from coderag.schema.answers import AnswerClaim, Citation
from coderag.schema.prompts import CutOff, ModelPrompt
from coderag.schema.query import QueryState
from coderag.schema.vocabulary import AnswerShape
from coderag.text.token_counts import count_tokens

_CUT_OFF_NOTE = "*The model's reply reached the limit of its length, `llm.max_output_tokens`, and ends here.*"

_MARGIN_TOKENS = 64  # our counts and a model's differ; the special tokens of its chat format

EmitText = Callable[[Literal["draft", "text"], str], None]
"""Receives text as in `coderag.schema.answers.AnswerEvent`; the emitted texts joined are the answer."""


@dataclass(frozen=True, slots=True)
class GeneratedText:
    """Checked answer of a language model.

    Attributes:
        is_held: Whether nothing was emitted, since fewer than half of the claims hold, or there are none.
        redacted: Number of secrets hidden from the model.
    """

    text: str
    claims: Sequence[AnswerClaim]
    citations: Sequence[Citation]
    missing: Sequence[str]
    is_held: bool
    redacted: int


def fit_evidence_to_window(
    model: LanguageModel,
    context: QueryContext,
    state: QueryState,
    shape: AnswerShape,
    evidence: Sequence[NumberedEvidence],
) -> Sequence[NumberedEvidence]:
    """Keep the first evidence that fits beside the rest of the prompt and the reply; none if these fill the window."""
    frame = count_tokens(_build_prompt(context, state, shape, "").text)
    return fit_evidence(
        evidence, model.context_window - getattr(model, "max_output_tokens", 0) - frame - _MARGIN_TOKENS
    )


async def generate_text(
    model: LanguageModel,
    context: QueryContext,
    state: QueryState,
    shape: AnswerShape,
    evidence: Sequence[NumberedEvidence],
    checker: CitationChecker,
    emit: EmitText,
) -> GeneratedText:
    """Generate the answer; checked text is emitted as text, unchecked words as drafts.

    Text is held back until half of the claims before it hold: a reply that mostly does not is never emitted.

    Args:
        model: The language model.
        context: Query context.
        state: Query state.
        shape: Shape of the answer.
        evidence: Evidence that fits into the model's window, not empty.
        checker: Checker of citations.
        emit: Receives the text.

    Raises:
        ModelError: The model failed.
    """
    evidence_text = "\n\n".join(entry.block for entry in evidence)
    prompt = _build_prompt(context, state, shape, evidence_text)
    redacted = model.redact_prompt(prompt)[1] if isinstance(model, RedactingModel) else 0

    @cache
    def build_diagram() -> str:
        flow_chart = draw_mermaid(context, state) if shape == "flow" else ""
        return f"```mermaid\n{flow_chart}\n```" if flow_chart else ""

    rules = _build_prompt(context, {**state, "query": "", "history": ""}, shape, "")
    restore = context.masked_paths.unmask_text if context.masked_paths else str
    echoes = PromptEchoes(rules.text, [restore(entry.heading) for entry in evidence])
    claim_checker = ClaimChecker(evidence, checker, context.corpus.paths)
    reply = ReplyChecker(claim_checker, evidence_text, build_diagram, echoes)
    is_cut_off, is_held, held = False, True, ""
    async for delta in _stream_reply(model, prompt, context):
        if isinstance(delta, CutOff):
            is_cut_off = True
            break
        added = reply.feed(delta)
        held += added or ""
        if added is None or (is_held and not reply.is_mostly_verified):
            emit("draft", delta)
            continue
        is_held = False
        emit("text", held)
        emit("draft", reply.pending)
        held = ""
    held += reply.close()
    if not (is_held := is_held and not reply.is_mostly_verified):
        held += reply.append_diagram()
        held += reply.append(_CUT_OFF_NOTE if is_cut_off else "")
        held += reply.append(reply.numbering.source_list)
        emit("text", held)
    return GeneratedText(
        text=reply.text,
        claims=reply.claims,
        citations=reply.numbering.list_citations(),
        missing=reply.missing,
        is_held=is_held,
        redacted=redacted,
    )


def _build_prompt(context: QueryContext, state: QueryState, shape: AnswerShape, evidence: str) -> ModelPrompt:
    hide = context.masked_paths.mask_text if context.masked_paths else str
    load, history = context.prompts.load, state.get("history", "")
    return load("answer").render(
        shape=load(f"answer_{shape}").render().user.strip(),
        history=load("answer_history").render(history=hide(history)).user.strip() if history else "",
        question=hide(state["query"]),
        evidence=evidence,
    )


async def _stream_reply(model: LanguageModel, prompt: ModelPrompt, context: QueryContext) -> AsyncIterator[str]:
    """Yield the reply's non-empty parts, with masked paths restored, and a `CutOff` if it was cut off."""
    deltas = model.stream(prompt)
    async for delta in unmask_stream(deltas, context.masked_paths) if context.masked_paths else deltas:
        if delta or isinstance(delta, CutOff):
            yield delta
