"""Lines of a file that an answer cites."""

from dataclasses import dataclass

from coderag.schema.chunks import format_location
from coderag.stores.snippets import Snippet


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


def to_cited_lines(snippet: Snippet) -> CitedLines:
    """Return the lines of a snippet."""
    return CitedLines(snippet.path, snippet.start_line, snippet.end_line, snippet.text)
