"""Prompts to language models and their completions."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelPrompt:
    """What a language model is asked.

    Attributes:
        system: Rules, in the role ``system``; empty if there are none.
        user: The task with its data.
    """

    user: str
    system: str = ""

    @property
    def text(self) -> str:
        """All of it, to count or compare."""
        return f"{self.system}\n\n{self.user}" if self.system else self.user


@dataclass(frozen=True, slots=True)
class Completion:
    """The whole reply of a language model.

    Attributes:
        input_tokens, output_tokens: As the server counted them, else as CodeRAG does.
        cut: Whether the reply reached the limit of its length and just ends there.
    """

    text: str
    input_tokens: int
    output_tokens: int
    cut: bool = False


class CutOff(str):
    """The last piece of a streamed reply that reached the limit of its length; it has no text."""

    __slots__ = ()
