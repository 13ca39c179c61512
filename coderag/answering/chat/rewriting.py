"""Make a follow-up a question that stands alone with a language model; what it writes is used only if it is such a question."""

import re
from collections.abc import Sequence
from typing import Final

from coderag.answering.chat.state import Exchange
from coderag.retrieval.query_context import QueryContext
from coderag.schema.prompts import ModelPrompt

HISTORY_TOKENS: Final = 1_000
"""What of the conversation the model is shown to rewrite a question."""

_MAX_ADDED_CHARS: Final = 400  # characters, beyond the length of what was typed
_WRAPPED: Final = re.compile(
    r"\A(?:(?:the\s+)?(?:standalone|rewritten)\s+question(?:\s+is)?\s*:|question\s*:|[-*>#]+\s)\s*", re.IGNORECASE
)
_QUOTES: Final = (('"', '"'), ("“", "”"), ("«", "»"), ("'", "'"), ("**", "**"))
_ANSWER: Final = re.compile(
    r"\[\d+\]|```|^(?:i\s|i'm|sorry|sure|yes\b|no\b|certainly|here is|here's|it is\b|it's\b|the answer|as an ai|based on|"
    r"according to)",
    re.IGNORECASE | re.MULTILINE,
)
_SENTENCE_END: Final = re.compile(r"[.!。！]\s+\S")
_NAME: Final = re.compile(
    r"`([^`\n]+)`|\b([A-Za-z_]\w*(?:(?:\.|::)\w+)+|\w*[a-z0-9]_\w+|[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*)"
)


def render_rewriting_prompt(context: QueryContext, question: str, history: str) -> ModelPrompt:
    """Render the prompt to rewrite a follow-up, with masked paths where they are masked."""
    if context.masked_paths:
        question, history = context.masked_paths.mask_text(question), context.masked_paths.mask_text(history)
    return context.prompts.load("standalone").render(question=question, history=history)


def extract_question(reply: str, typed: str, exchanges: Sequence[Exchange]) -> str:
    """Return the question in a model's reply; empty if it is none: too long, an answer, or about names that nobody said.

    Args:
        reply: As the model wrote it, with real paths.
        typed: The follow-up as it was typed.
        exchanges: The conversation.
    """
    lines = [line.strip() for line in reply.strip().split("\n") if line.strip()]
    if len(lines) != 1:
        return ""
    question = _WRAPPED.sub("", lines[0]).strip()
    for first, last in _QUOTES:
        if len(question) > len(first + last) and question.startswith(first) and question.endswith(last):
            question = question[len(first) : -len(last)].strip()
    if (
        not question
        or len(question) > len(typed) + _MAX_ADDED_CHARS
        or _ANSWER.search(question)
        or _SENTENCE_END.search(question)
    ):
        return ""
    conversation = "\n".join(
        [
            typed,
            *(
                f"{exchange['text']}\n{exchange['question']}\n{exchange['answer']}\n{exchange['cited']}"
                for exchange in exchanges
            ),
        ]
    )
    if any(name not in conversation for name in _list_names(question)) or any(
        name not in question for name in _list_names(typed)
    ):
        return ""
    return question


def _list_names(text: str) -> list[str]:
    """List the texts in a question that look like code."""
    return [(match[1] or match[2]).removesuffix("()") for match in _NAME.finditer(text)]
