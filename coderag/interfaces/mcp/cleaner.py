"""Sanitised repository text: hidden characters shown, secrets removed, fences that the text cannot close."""

from collections.abc import Sequence
from typing import Final

from coderag.answering.hidden_text import reveal_hidden
from coderag.text.code_fences import make_fence

_MAX_LINE_CHARS: Final = 300
_MAX_ROW_CHARS: Final = 140


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

    def clean_rows(self, code: Sequence[str], indexes: Sequence[int], first_line: int) -> list[str]:
        """Return some lines of code, each behind its number, without their common indentation and without blank ones.

        Args:
            code: Lines of a declaration.
            indexes: Indexes of the lines to return.
            first_line: Number of the first line of `code`.
        """
        # As one text, since a secret may have several lines; a removed one makes the lines fewer.
        cleaned = self.clean_code("\n".join(code)).split("\n")
        if len(cleaned) != len(code):
            cleaned = [self.clean_code(line) for line in code]
        shown = {index: _to_row(cleaned[index]) for index in indexes if code[index].strip()}
        margin = min((len(row) - len(row.lstrip()) for row in shown.values()), default=0)
        return [f"  {first_line + index}: {row[margin:]}" for index, row in shown.items()]


def _to_row(line: str) -> str:
    """Return a line without characters that could break it, truncated."""
    row = "".join(char if char.isprintable() else " " for char in line.expandtabs(4)).rstrip()
    return row if len(row) <= _MAX_ROW_CHARS else f"{row[: _MAX_ROW_CHARS - 1]}…"


def fence_code(code: str, language: str = "") -> str:
    """Format code as a Markdown block with a fence that the code cannot close."""
    fence = make_fence(code)
    return f"{fence}{language}\n{code}\n{fence}"
