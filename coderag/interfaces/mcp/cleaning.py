"""Text of a repository as a model may see it: nothing hidden in it, no secrets, nothing that ends its fence."""

from coderag.answering.hidden_text import reveal_hidden
from coderag.text.code_fences import fence_for

_LONGEST_LINE = 300


class Cleaner:
    """Prepares texts of one repository for one reply.

    Args:
        redact: Whether keys, tokens and passwords are removed.

    Attributes:
        secrets: Number of those that were removed.
    """

    def __init__(self, *, redact: bool) -> None:
        self._redact = redact
        self.secrets = 0

    def code(self, text: str) -> str:
        """Return some lines of a file."""
        shown, _ = reveal_hidden(text)
        if not self._redact:
            return shown
        from coderag.models.redaction import redactor  # noqa: PLC0415  # its patterns take a moment

        redacted = redactor().redact(shown)
        self.secrets += redacted.secrets
        return redacted.text

    def line(self, text: str) -> str:
        """Return a text as one line, of a few hundred characters at most."""
        line = " ".join(self.code(text).split())
        return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…"


def fenced(code: str, language: str = "") -> str:
    """Return a block of Markdown that nothing in the code can close."""
    fence = fence_for(code)
    return f"{fence}{language}\n{code}\n{fence}"


def span(text: str) -> str:
    """Return a text between backticks that nothing in it can close."""
    fence = fence_for(text, 1)
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`"
