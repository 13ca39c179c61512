"""Scripted language model with prepared replies, for tests and for examples without a key."""

import re
from collections.abc import AsyncIterator, Callable, Iterator

from coderag.errors import ModelError
from coderag.schema.prompts import Completion, ModelPrompt
from coderag.text.token_counts import count_tokens

ScriptedReply = str | Exception | Callable[[ModelPrompt], str]

_PIECE = re.compile(r"\s*\S+\s*?(?=\s|$)|\s+$")


class ScriptedModel:
    """Returns its replies in turn, word by word, and records the prompts; an exception as a reply is raised.

    A function as a reply receives the prompt. If the last reply is a function, it is used repeatedly.

    Attributes:
        prompts: Prompts so far, in order.
    """

    def __init__(self, *replies: ScriptedReply, name: str = "scripted/1", context_window: int = 32_768) -> None:
        self.name = name
        self.context_window = context_window
        self.max_output_tokens = 0
        self.prompts: list[ModelPrompt] = []
        self._replies = replies

    async def stream(self, prompt: ModelPrompt) -> AsyncIterator[str]:
        """Stream the next reply, word by word."""
        for piece in self._split_words(self._take_reply(prompt)):
            yield piece

    async def complete(self, prompt: ModelPrompt) -> Completion:
        """Return the next reply."""
        reply = self._take_reply(prompt)
        return Completion(reply, count_tokens(prompt.text), count_tokens(reply))

    def _take_reply(self, prompt: ModelPrompt) -> str:
        n_prompts = len(self.prompts)
        self.prompts.append(prompt)
        reply = self._replies[min(n_prompts, len(self._replies) - 1)] if self._replies else None
        if reply is None or (n_prompts >= len(self._replies) and not callable(reply)):
            raise ModelError(f"{self.name} has no reply for prompt {n_prompts + 1}")
        if isinstance(reply, Exception):
            raise reply
        return reply(prompt) if callable(reply) else reply

    @staticmethod
    def _split_words(reply: str) -> Iterator[str]:
        yield from _PIECE.findall(reply)
