"""What of a conversation a prompt carries, in a number of tokens: the newest turns whole, of the others what they cited."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from coderag.answering.chat.state import Exchange
from coderag.answering.injection import fence, inspect
from coderag.config.sections import LEAST_TOKENS
from coderag.text.token_counts import count_tokens

_CITED_SHARE: Final = 0.2  # of the tokens, at most, for what the dropped turns cited
_RULES: Final = 1_500  # tokens of a prompt besides evidence, history and question
_REPLY_SHARE: Final = 0.25  # of the model's window, at most, for its reply
_HISTORY_SHARE: Final = 0.25  # of what is left of a small window
_CUT: Final = "… (cut)"


@dataclass(frozen=True, slots=True)
class PromptShares:
    """Tokens of a prompt, at most."""

    evidence: int
    history: int


def share_window(window: int, question_tokens: int, *, evidence: int, history: int, reply: int) -> PromptShares:
    """Return what evidence and history may have of a model's window: all that the settings give them, if it has the room.

    Args:
        window: Tokens of the prompt and its reply together.
        question_tokens: Of the question.
        evidence: ``search.token_budget``.
        history: ``chat.history_tokens``.
        reply: ``llm.max_output_tokens``.
    """
    room = window - min(reply, int(window * _REPLY_SHARE)) - _RULES - question_tokens
    kept = min(history, max(0, room - evidence, int(room * _HISTORY_SHARE)))
    return PromptShares(max(LEAST_TOKENS, min(evidence, room - kept)), kept)


def history_text(exchanges: Sequence[Exchange], limit: int) -> str:
    """Return a conversation for a prompt, in at most `limit` tokens; empty if nothing fits.

    The oldest turns are dropped first, each as a whole; a line tells what they cited. Of a newest turn that is too long alone,
    the end of the answer is cut off.
    """
    newest = _newest(exchanges, limit)
    for_cited = int(limit * _CITED_SHARE)
    left = limit - (for_cited if sum(size for _, size in newest) > limit else 0)
    kept: list[str] = []
    for block, size in newest:
        if size > left:
            break
        kept.insert(0, block)
        left -= size
    dropped = len(exchanges) - len(kept)
    if not kept and exchanges:
        dropped = len(exchanges) - 1
        kept = [cut] if (cut := _cut_to(exchanges[-1], left)) else []
    cited = _cited_line(exchanges[:dropped], for_cited)
    text = "\n\n".join([*([cited] if cited else []), *kept])
    return text if count_tokens(text) <= limit else "\n\n".join(kept)


def _newest(exchanges: Sequence[Exchange], limit: int) -> list[tuple[str, int]]:
    """Return the exchanges for a prompt with their tokens, the newest first, up to the one that is beyond the limit."""
    blocks: list[tuple[str, int]] = []
    left = limit
    for exchange in reversed(exchanges):
        block = _block(exchange)
        blocks.append((block, count_tokens(f"{block}\n\n")))
        left -= blocks[-1][1]
        if left < 0:
            break
    return blocks


def _block(exchange: Exchange, lines: int | None = None) -> str:
    """Return an exchange, of its answer the first lines. Answers quote the repository, so they are data like evidence."""
    answer = inspect(exchange["answer"].strip()).text
    if lines is not None:
        answer = "\n".join([*answer.split("\n")[:lines], _CUT])
    return f"Question: {exchange['question'] or exchange['text']}\nAnswer:\n{fence(answer, 'markdown')}"


def _cited_line(exchanges: Sequence[Exchange], limit: int) -> str:
    """Return what some turns cited, the newest first, in one line of at most `limit` tokens."""
    named = {
        place["place"]: f"{place['name']} ({place['place']})" if place["name"] else place["place"]
        for exchange in reversed(exchanges)
        for place in exchange["cited"]
    }
    line = ""
    for shown in named.values():
        longer = f"{line}, {shown}" if line else f"Cited earlier: {shown}"
        if count_tokens(longer) > limit:
            break
        line = longer
    return line


def _cut_to(exchange: Exchange, limit: int) -> str:
    """Return an exchange with as many lines of its answer as fit into some tokens; empty if none does."""
    low, high = 0, exchange["answer"].count("\n") + 1
    while low < high:
        middle = (low + high + 1) // 2
        fits = count_tokens(_block(exchange, middle)) <= limit
        low, high = (middle, high) if fits else (low, middle - 1)
    return _block(exchange, low) if low else ""
