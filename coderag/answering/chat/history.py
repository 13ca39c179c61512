"""Conversation history within a token limit: the newest turns in full, citations of the others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from coderag.answering.chat.state import Exchange
from coderag.answering.injection import fence_data, inspect_text
from coderag.config.sections import MIN_TOKENS
from coderag.text.token_counts import count_tokens

_MAX_CITED_SHARE: Final = 0.2  # of the tokens, for citations of dropped turns
_INSTRUCTION_TOKENS: Final = 1_500  # tokens of a prompt besides evidence, history and question
_MAX_REPLY_SHARE: Final = 0.25  # of the model's window
_MIN_HISTORY_SHARE: Final = 0.25  # of the rest of a small window
_CUT_NOTE: Final = "… (cut)"


@dataclass(frozen=True, slots=True)
class PromptShares:
    """Maximum tokens of a prompt's parts."""

    evidence: int
    history: int


def share_window(window: int, question_tokens: int, *, evidence: int, history: int, reply: int) -> PromptShares:
    """Share a model's window between evidence and history, up to the settings' limits.

    Args:
        window: Tokens of the prompt and its reply together.
        question_tokens: Tokens of the question.
        evidence: ``search.token_budget``.
        history: ``chat.history_tokens``.
        reply: ``llm.max_output_tokens``.
    """
    available = window - min(reply, int(window * _MAX_REPLY_SHARE)) - _INSTRUCTION_TOKENS - question_tokens
    history_tokens = min(history, max(0, available - evidence, int(available * _MIN_HISTORY_SHARE)))
    return PromptShares(max(MIN_TOKENS, min(evidence, available - history_tokens)), history_tokens)


def format_history(exchanges: Sequence[Exchange], limit: int) -> str:
    """Format a conversation for a prompt in at most `limit` tokens; empty if nothing fits.

    The oldest turns are dropped first, each as a whole; one line lists their citations. If the newest turn alone is
    too long, the end of its answer is truncated.
    """
    newest = _collect_newest(exchanges, limit)
    cited_tokens = int(limit * _MAX_CITED_SHARE)
    remaining = limit - (cited_tokens if sum(size for _, size in newest) > limit else 0)
    blocks: list[str] = []
    for block, size in newest:
        if size > remaining:
            break
        blocks.insert(0, block)
        remaining -= size
    dropped = len(exchanges) - len(blocks)
    if not blocks and exchanges:
        dropped = len(exchanges) - 1
        blocks = [cut] if (cut := _truncate_exchange(exchanges[-1], remaining)) else []
    cited = _format_cited_line(exchanges[:dropped], cited_tokens)
    text = "\n\n".join([*([cited] if cited else []), *blocks])
    return text if count_tokens(text) <= limit else "\n\n".join(blocks)


def _collect_newest(exchanges: Sequence[Exchange], limit: int) -> list[tuple[str, int]]:
    """Format exchanges and count their tokens, the newest first, up to the first one beyond the limit."""
    blocks: list[tuple[str, int]] = []
    remaining = limit
    for exchange in reversed(exchanges):
        block = _format_exchange(exchange)
        blocks.append((block, count_tokens(f"{block}\n\n")))
        remaining -= blocks[-1][1]
        if remaining < 0:
            break
    return blocks


def _format_exchange(exchange: Exchange, lines: int | None = None) -> str:
    """Format an exchange, with the first lines of its answer.

    Answers quote the repository, so they are fenced as data.
    """
    answer = inspect_text(exchange["answer"].strip()).text
    if lines is not None:
        answer = "\n".join([*answer.split("\n")[:lines], _CUT_NOTE])
    return f"Question: {exchange['question'] or exchange['text']}\nAnswer:\n{fence_data(answer, 'markdown')}"


def _format_cited_line(exchanges: Sequence[Exchange], limit: int) -> str:
    """Format the citations of some turns, the newest first, in one line of at most `limit` tokens."""
    cited_places = {
        place["place"]: f"{place['name']} ({place['place']})" if place["name"] else place["place"]
        for exchange in reversed(exchanges)
        for place in exchange["cited"]
    }
    line = ""
    for cited_place in cited_places.values():
        longer = f"{line}, {cited_place}" if line else f"Cited earlier: {cited_place}"
        if count_tokens(longer) > limit:
            break
        line = longer
    return line


def _truncate_exchange(exchange: Exchange, limit: int) -> str:
    """Format an exchange with as many answer lines as fit; empty if none does."""
    low, high = 0, exchange["answer"].count("\n") + 1
    while low < high:
        middle = (low + high + 1) // 2
        fits = count_tokens(_format_exchange(exchange, middle)) <= limit
        low, high = (middle, high) if fits else (low, middle - 1)
    return _format_exchange(exchange, low) if low else ""
