"""Draft of an answer: its text, and the lines that each claim cites."""

from collections.abc import Sequence
from dataclasses import dataclass

from coderag.schema.chunks import format_location
from coderag.schema.vocabulary import AnswerShape


@dataclass(frozen=True, slots=True)
class CitedLines:
    """Cited lines of a file, as indexed."""

    path: str
    start_line: int
    end_line: int
    text: str

    @property
    def location(self) -> str:
        """Location as ``path:10-42``, or ``path:10`` for one line."""
        return format_location(self.path, self.start_line, self.end_line)


@dataclass(frozen=True, slots=True)
class DraftClaim:
    """Claim with the lines that it cites."""

    text: str
    cited_lines: Sequence[CitedLines]


@dataclass(frozen=True, slots=True)
class Draft:
    """Answer in Markdown with unchecked citations.

    Attributes:
        shape: Shape of the answer.
        missing: What was not found, one sentence each.
        references: Lines whose place the text gives without a claim that rests on them.
    """

    text: str
    claims: Sequence[DraftClaim]
    shape: AnswerShape
    missing: Sequence[str] = ()
    references: Sequence[CitedLines] = ()
