"""Prompts to language models and their completions."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelPrompt:
    """Prompt of a language model.

    Attributes:
        system: Rules in the role ``system``; empty for none.
        user: Task with its data.
    """

    user: str
    system: str = ""

    @property
    def text(self) -> str:
        """The whole text, for counting or comparing."""
        return f"{self.system}\n\n{self.user}" if self.system else self.user


@dataclass(frozen=True, slots=True)
class Completion:
    """Complete reply of a language model.

    Attributes:
        input_tokens, output_tokens: As counted by the server, else by CodeRAG.
        cut: Whether the reply was cut off at its length limit.
    """

    text: str
    input_tokens: int
    output_tokens: int
    cut: bool = False


class CutOff(str):
    """Empty last part of a streamed reply that was cut off at its length limit."""

    __slots__ = ()
