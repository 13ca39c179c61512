"""Text of a repository as a model may see it: nothing hidden in it, no secrets, nothing that ends its fence."""

from coderag.answering.hidden_text import reveal_hidden
from coderag.text.code_fences import fence_for

_MAX_LINE_CHARS = 300


class Cleaner:
    """Prepares texts of one repository for one reply.

    Args:
        redact: Whether keys, tokens and passwords are removed.

    Attributes:
        secrets: Number of those that were removed.
    """

    def __init__(self, *, redact: bool) -> None:
        self._redact = redact
        self.secret_count = 0

    def clean_code(self, text: str) -> str:
        """Return some lines of a file."""
        visible, _ = reveal_hidden(text)
        if not self._redact:
            return visible
        from coderag.models.redaction import redactor  # noqa: PLC0415  # its patterns take a moment

        redacted = redactor().redact(visible)
        self.secret_count += redacted.secrets
        return redacted.text

    def clean_line(self, text: str) -> str:
        """Return a text as one line, of a few hundred characters at most."""
        line = " ".join(self.clean_code(text).split())
        return line if len(line) <= _MAX_LINE_CHARS else f"{line[: _MAX_LINE_CHARS - 1]}…"


def fence_code(code: str, language: str = "") -> str:
    """Return a block of Markdown that nothing in the code can close."""
    fence = fence_for(code)
    return f"{fence}{language}\n{code}\n{fence}"


def format_code_span(text: str) -> str:
    """Return a text between backticks that nothing in it can close."""
    fence = fence_for(text, 1)
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`"
