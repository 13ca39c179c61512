"""A language model with prepared replies."""

from collections.abc import Sequence


class ScriptedWriter:
    """An `AnswerWriter` that gives its replies in turn and remembers the prompts."""

    name = "scripted/1"

    def __init__(self, *replies: str | Exception) -> None:
        self._replies: Sequence[str | Exception] = replies
        self.prompts: list[str] = []

    async def write(self, prompt: str) -> str:
        reply = self._replies[len(self.prompts)]
        self.prompts.append(prompt)
        if isinstance(reply, Exception):
            raise reply
        return reply
