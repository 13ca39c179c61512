"""Sanitised repository text: hidden characters shown, secrets removed, fences that the text cannot close."""

from coderag.answering.hidden_text import reveal_hidden
from coderag.text.code_fences import make_fence

_MAX_LINE_CHARS = 300


class Cleaner:
    """Sanitiser of one repository's texts for one reply.

    Args:
        redact: Whether to remove keys, tokens and passwords.

    Attributes:
        secrets: Number of removed secrets.
    """

    def __init__(self, *, redact: bool) -> None:
        self._redact = redact
        self.secret_count = 0

    def clean_code(self, text: str) -> str:
        """Return lines of a file without hidden characters and, if set, without secrets."""
        visible, _ = reveal_hidden(text)
        if not self._redact:
            return visible
        from coderag.models.redaction.redactor import get_redactor  # noqa: PLC0415  # importing its patterns is slow

        redacted = get_redactor().redact(visible)
        self.secret_count += redacted.secrets
        return redacted.text

    def clean_line(self, text: str) -> str:
        """Return a sanitised text as one line, truncated to a few hundred characters."""
        line = " ".join(self.clean_code(text).split())
        return line if len(line) <= _MAX_LINE_CHARS else f"{line[: _MAX_LINE_CHARS - 1]}…"


def fence_code(code: str, language: str = "") -> str:
    """Format code as a Markdown block with a fence that the code cannot close."""
    fence = make_fence(code)
    return f"{fence}{language}\n{code}\n{fence}"
