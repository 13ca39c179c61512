"""Lines of a file that an answer cites."""

from dataclasses import dataclass

from coderag.schema.answers import CitationKind, format_cited_location
from coderag.stores.snippets import Snippet


@dataclass(frozen=True, slots=True)
class CitedLines:
    """Cited lines of a file, as indexed, or of a file in a commit.

    Attributes:
        kind, revision, url: As in `Citation`.
    """

    path: str
    start_line: int
    end_line: int
    text: str
    kind: CitationKind = "file"
    revision: str = ""
    url: str = ""

    @property
    def location(self) -> str:
        """Location as `Citation.location`."""
        return format_cited_location(self.path, self.start_line, self.end_line, self.kind, self.revision)


def to_cited_lines(snippet: Snippet) -> CitedLines:
    """Return the lines of a snippet."""
    return CitedLines(snippet.path, snippet.start_line, snippet.end_line, snippet.text)
