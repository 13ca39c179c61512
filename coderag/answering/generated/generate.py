"""An answer by a language model from numbered evidence: each claim is checked as soon as it is written."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from coderag.answering.citations import CitationChecker
from coderag.answering.flow import mermaid
from coderag.answering.generated.evidence_text import Evidence
from coderag.answering.generated.masked_stream import unmasked
from coderag.answering.generated.reply import ReplyChecker
from coderag.answering.generated.verification import ClaimChecker
from coderag.models.protocols import LanguageModel
from coderag.models.redaction import RedactingModel
from coderag.retrieval.query_context import QueryContext
from coderag.schema.answers import AnswerClaim, Citation
from coderag.schema.prompts import CutOff, ModelPrompt
from coderag.schema.query import QueryState
from coderag.schema.vocabulary import AnswerShape

_CUT = "*The model's reply reached the limit of its length, `llm.max_output_tokens`, and ends here.*"

Emit = Callable[[Literal["draft", "text"], str], None]
"""Takes what is written, as `coderag.schema.answers.AnswerEvent` has it; all that it gets as text, joined, is the answer's."""


@dataclass(frozen=True, slots=True)
class Written:
    """A checked answer of a language model.

    Attributes:
        answers: Whether any of its claims is in the text.
        redacted: Number of secrets that the model was not shown.
    """

    text: str
    claims: Sequence[AnswerClaim]
    citations: Sequence[Citation]
    missing: Sequence[str]
    answers: bool
    redacted: int


async def generate(
    model: LanguageModel,
    context: QueryContext,
    state: QueryState,
    shape: AnswerShape,
    evidence: Sequence[Evidence],
    checker: CitationChecker,
    emit: Emit,
) -> Written:
    """Return the answer; what was checked is emitted as text, the words under way as drafts.

    Args:
        model: The language model.
        context: Of the query.
        state: Of the query.
        shape: Of the answer.
        evidence: At least one piece.
        checker: Reads the cited lines from disk.
        emit: Takes what is written.

    Raises:
        ModelError: The model failed.
    """
    pieces = [one.piece for one in evidence]
    shown = "\n\n".join(one.block for one in evidence)
    prompt = _prompt(context, state, shape, shown)
    redacted = model.redact_prompt(prompt)[1] if isinstance(model, RedactingModel) else 0

    @cache
    def diagram() -> str:
        drawn = mermaid(context, state, pieces) if shape == "flow" else ""
        return f"```mermaid\n{drawn}\n```" if drawn else ""

    reply = ReplyChecker(ClaimChecker(evidence, checker, context.corpus.paths), shown, diagram)
    cut = False
    async for piece in _words(model, prompt, context):
        if isinstance(piece, CutOff):
            cut = True
            break
        added = reply.feed(piece)
        if added is None:
            emit("draft", piece)
        else:
            emit("text", added)
            emit("draft", reply.pending)
    emit("text", reply.close())
    if reply.shows_claims:
        emit("text", reply.draw())
        emit("text", reply.append(_CUT if cut else ""))
        emit("text", reply.append(reply.numbering.sources))
    return Written(
        text=reply.text,
        claims=reply.claims,
        citations=reply.numbering.citations(),
        missing=reply.missing,
        answers=reply.shows_claims,
        redacted=redacted,
    )


def _prompt(context: QueryContext, state: QueryState, shape: AnswerShape, evidence: str) -> ModelPrompt:
    hide = context.masked_paths.hide if context.masked_paths else str
    load, said = context.prompts.load, state.get("history", "")
    return load("answer").render(
        shape=load(f"answer_{shape}").render().user.strip(),
        history=load("answer_history").render(history=hide(said)).user.strip() if said else "",
        question=hide(state["query"]),
        evidence=evidence,
    )


async def _words(model: LanguageModel, prompt: ModelPrompt, context: QueryContext) -> AsyncIterator[str]:
    """Yield the reply in pieces, none of them empty but a `CutOff`, with the real names of masked paths."""
    pieces = model.stream(prompt)
    async for piece in unmasked(pieces, context.masked_paths) if context.masked_paths else pieces:
        if piece or isinstance(piece, CutOff):
            yield piece
