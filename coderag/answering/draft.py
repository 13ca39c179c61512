"""What a writer of answers hands over: the text, and the lines that each of its statements rests on."""

from collections.abc import Sequence
from dataclasses import dataclass

from coderag.schema.chunks import location_of
from coderag.schema.vocabulary import AnswerShape


@dataclass(frozen=True, slots=True)
class CitedLines:
    """Lines of a file that a statement rests on, as the index has them."""

    path: str
    start_line: int
    end_line: int
    text: str

    @property
    def location(self) -> str:
        """The place as ``path:10-42``, of one line as ``path:10``."""
        return location_of(self.path, self.start_line, self.end_line)


@dataclass(frozen=True, slots=True)
class DraftClaim:
    """A statement, and the lines that it cites."""

    text: str
    cited_lines: Sequence[CitedLines]


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer in Markdown whose citations are not checked yet.

    Attributes:
        shape: In which it is written.
        missing: What was asked for and not found, a sentence each.
    """

    text: str
    claims: Sequence[DraftClaim]
    shape: AnswerShape
    missing: Sequence[str] = ()
